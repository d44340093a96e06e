"""Curation in process: its use cases and its server, over real files and a port that remembers."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from support.paths import TEAM

from hilvan.curation.v1 import curation_service_pb2 as pb
from hilvan.curation.v1 import curation_service_pb2_grpc as rpc
from hilvan_curation.adapters.metadata import SqlMetadata
from hilvan_curation.adapters.notes import FileNoteSource
from hilvan_curation.errors import RetrievalUnavailable
from hilvan_curation.model.passage import NoteEntry
from hilvan_curation.model.policy import SpacePolicy
from hilvan_curation.ports.metadata import MetadataStore
from hilvan_curation.ports.note import NoteSource
from hilvan_curation.ports.retrieval import Retrieval
from hilvan_curation.rpc.errors import TABLE
from hilvan_curation.rpc.servicer import CurationServicer
from hilvan_curation.usecases.curating import Curator
from hilvan_curation.usecases.publication import Publisher
from hilvan_curation.usecases.vault import Catalogue
from hilvan_kit.auth import (
    ANY_TENANT,
    TENANT_KEY,
    USER_KEY,
    ApiKey,
    ApiKeyVerifier,
    CredentialAuthenticator,
    Role,
    generate,
)
from hilvan_kit.calls import Guarded
from hilvan_kit.guards import standard_guards
from hilvan_kit.tokens import Tokenizers

EXAMPLE = TEAM / "vault"
DEADLINE = 20.0
NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)
TENANT = "norte"


class MemoryRetrieval:
    """`Retrieval` that keeps what it is told, and remembers the order of the telling."""

    def __init__(self) -> None:
        """Start empty and up."""
        self.down = False
        self.entries: dict[tuple[str, str], NoteEntry] = {}
        self.policies: dict[tuple[str, str], SpacePolicy] = {}
        self.told: list[tuple[str, str]] = []
        self.confirmed: list[str] = []

    async def put_policy(self, tenant: str, policy: SpacePolicy) -> None:
        """Keep it."""
        self._hear("put_policy", policy.space_id)
        self.policies[tenant, policy.space_id] = policy

    async def delete_policy(self, tenant: str, space_id: str) -> None:
        """Forget it."""
        self._hear("delete_policy", space_id)
        self.policies.pop((tenant, space_id), None)

    async def confirm_policies(self, tenant: str) -> None:
        """Note the tenant."""
        if self.down:
            raise RetrievalUnavailable("down, as told")
        self.confirmed.append(tenant)

    async def note_entries(self, tenant: str, owners: Sequence[str]) -> dict[str, str]:
        """Look the owners' entries up."""
        self._hear("note_entries", " ".join(owners))
        return {
            name: each.fingerprint
            for (of, name), each in self.entries.items()
            if of == tenant and each.owner in owners
        }

    async def put_notes(self, tenant: str, entries: Sequence[NoteEntry]) -> None:
        """Keep them; as in the real one, an entry never changes hands."""
        self._hear("put_notes", " ".join(each.id for each in entries))
        for each in entries:
            old = self.entries.get((tenant, each.id), each)
            if old.owner == each.owner:
                self.entries[tenant, each.id] = each

    async def delete_notes(self, tenant: str, ids: Sequence[str]) -> None:
        """Forget them."""
        self._hear("delete_notes", " ".join(ids))
        for entry_id in ids:
            self.entries.pop((tenant, entry_id), None)

    async def close(self) -> None:
        """Nothing is open."""

    def texts(self, owner: str) -> set[str]:
        """The texts that an owner has, of every tenant."""
        return {each.text for each in self.entries.values() if each.owner == owner}

    def methods(self) -> list[str]:
        """What was called, in order."""
        return [method for method, _ in self.told]

    def _hear(self, method: str, what: str) -> None:
        if self.down:
            raise RetrievalUnavailable("down, as told")
        self.told.append((method, what))


@dataclass(slots=True)
class Clock:
    """A clock that goes as told."""

    time: datetime = NOW

    def __call__(self) -> datetime:
        """The time."""
        return self.time


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition; fails at a deadline."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "it did not come true in time"
        await asyncio.sleep(0.01)


def copy_of_example(folder: Path) -> Path:
    """A copy of the sample team's vault."""
    return Path(shutil.copytree(EXAMPLE, folder / "vault")).resolve()


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files of a vault."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    return folder.resolve()


def poll_files(paths: Sequence[Path]) -> NoteSource:
    """Files whose changes are also looked for ten times a second."""
    return FileNoteSource(paths, poll_interval=0.1)


@dataclass(slots=True)
class UseCases:
    """The use cases of curation, joined as `main` joins them."""

    catalogue: Catalogue
    curator: Curator
    publisher: Publisher
    clock: Clock = field(default_factory=Clock)


@asynccontextmanager
async def use_cases(
    metadata: MetadataStore,
    retrieval: Retrieval,
    *,
    roots: Sequence[Path] = (),
    open_source: Callable[[Sequence[Path]], NoteSource] = poll_files,
) -> AsyncIterator[UseCases]:
    """Open the catalogue and run the publisher."""
    clock = Clock()
    publisher = Publisher(retrieval)
    catalogue = Catalogue(metadata, open_source, publisher, roots)
    await catalogue.open()
    worker = asyncio.create_task(publisher.run())
    try:
        yield UseCases(catalogue, Curator(catalogue, metadata, clock), publisher, clock)
    finally:
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
        await catalogue.close()
        await retrieval.close()
        await metadata.close()


@dataclass(slots=True)
class Keys:
    """API keys of a tenant's people, by name: `root` is admin, `svc` a service of every tenant."""

    headers: dict[str, str] = field(default_factory=dict)
    records: dict[str, ApiKey] = field(default_factory=dict)

    def add(self, user: str, role: Role, tenant: str = TENANT, **more: Any) -> None:
        """Make a key."""
        text, record = generate(tenant, user, role, **more)
        self.headers[user] = f"Bearer {text}"
        self.records[record.key_id] = record

    @staticmethod
    def of_the_team() -> "Keys":
        """Keys for everybody whom the tests call as."""
        keys = Keys()
        for user in ("ana", "ines", "tom", "inigo", "eve"):
            keys.add(user, Role.MEMBER)
        keys.add("root", Role.ADMIN)
        keys.add("svc", Role.SERVICE, ANY_TENANT)
        keys.add("other", Role.ADMIN, "sur")
        keys.add("late", Role.MEMBER, expires=NOW)
        return keys

    def metadata(self, who: str, **named: str) -> tuple[tuple[str, str], ...]:
        """The metadata of a call; ``tenant`` and ``user`` name whom a service acts for."""
        pairs = [("authorization", self.headers[who])] if who else []
        pairs += [(TENANT_KEY, named["tenant"])] if "tenant" in named else []
        pairs += [(USER_KEY, named["user"])] if "user" in named else []
        return tuple(pairs)


@dataclass(frozen=True, slots=True)
class Refused:
    """How a call failed, as the caller sees it."""

    code: grpc.StatusCode
    reason: str
    domain: str
    fields: tuple[str, ...]
    metadata: dict[str, str]
    resource: str
    retry: bool
    message: str

    def without(self, name: str) -> str:
        """All of it as text, with a name that the caller gave taken out."""
        return repr(self).replace(name, "…")


@dataclass(slots=True)
class Server:
    """A running server; `call` answers the message or how the call failed."""

    channel: grpc.aio.Channel
    keys: Keys
    uses: UseCases
    address: str

    async def call(
        self, method: str, request: Message | None = None, who: str = "ana", **named: str
    ) -> Any:
        """Call a method as somebody."""
        return await call(self.channel, method, request, self.keys.metadata(who, **named))


async def call(
    channel: grpc.aio.Channel,
    method: str,
    request: Message | None,
    metadata: tuple[tuple[str, str], ...],
) -> Any:
    """Answer the message, or how the call failed."""
    stub: Any = rpc.CurationServiceStub(channel)
    request = getattr(pb, f"{method}Request")() if request is None else request
    try:
        return await getattr(stub, method)(request, timeout=DEADLINE, metadata=metadata)
    except grpc.aio.AioRpcError as error:
        return refused(error)


def refused(error: grpc.aio.AioRpcError) -> Refused:
    """Read the rich error; fails for one without details."""
    trailing = dict(error.trailing_metadata() or ())
    status = status_pb2.Status.FromString(trailing["grpc-status-details-bin"])
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    resource, retry = error_details_pb2.ResourceInfo(), error_details_pb2.RetryInfo()
    found = [d for each in status.details for d in (info, bad, resource, retry) if each.Unpack(d)]
    return Refused(
        code=error.code(),
        reason=info.reason,
        domain=info.domain,
        fields=tuple(each.field for each in bad.field_violations),
        metadata=dict(info.metadata),
        resource=resource.resource_name,
        retry=retry in found,
        message=error.details() or "",
    )


@asynccontextmanager
async def serve_servicer(
    servicer: CurationServicer,
) -> AsyncIterator[tuple[grpc.aio.Channel, Keys, str]]:
    """A real server and channel for a servicer, with the guards of production; its address."""
    keys = Keys.of_the_team()
    authenticator = CredentialAuthenticator(
        ApiKeyVerifier(lambda: keys.records, NOW.timestamp), None
    )
    server = grpc.aio.server(interceptors=[Guarded(standard_guards(authenticator, TABLE))])
    rpc.add_CurationServiceServicer_to_server(servicer, server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    async with grpc.aio.insecure_channel(address) as channel:
        yield channel, keys, address
    await server.stop(0)


@asynccontextmanager
async def serve(
    metadata: MetadataStore,
    retrieval: Retrieval,
    *,
    roots: Sequence[Path] = (),
    open_source: Callable[[Sequence[Path]], NoteSource] = poll_files,
) -> AsyncIterator[Server]:
    """Curation with a real server and channel."""
    async with (
        use_cases(metadata, retrieval, roots=roots, open_source=open_source) as uses,
        serve_servicer(CurationServicer(uses.curator, tokenizers())) as (channel, keys, address),
    ):
        yield Server(channel, keys, uses, address)


@asynccontextmanager
async def serve_example(folder: Path, retrieval: Retrieval | None = None) -> AsyncIterator[Server]:
    """Curation over a copy of the sample team's vault in ``folder``, with a database."""
    vault = copy_of_example(folder)
    store = await SqlMetadata.open_sqlite(folder / "metadata.sqlite")
    await store.add_vault(TENANT, vault)
    async with serve(store, retrieval or MemoryRetrieval(), roots=[vault.parent]) as server:
        yield server


@cache
def tokenizers() -> Tokenizers:
    """Loaded once for all tests."""
    return Tokenizers()
