"""Retrieval and curation in memory for tests of the assembler, and the assembler's real server."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from support.assembler.values import AS_OF, WORDS, entry, options, retrieved

from hilvan.assembler.v1 import assembler_service_pb2_grpc as rpc
from hilvan_assembler.adapters.contradiction import evidence_judge
from hilvan_assembler.composition import compose, served
from hilvan_assembler.core.recall import BundleBudget
from hilvan_assembler.errors import ServiceTimeout
from hilvan_assembler.model.candidate import Candidate, CandidateRequest, RetrievalAnswer
from hilvan_assembler.model.contradiction import FoundContradiction
from hilvan_assembler.model.curation import (
    Curated,
    CurationAnswer,
    Element,
    IdentityBlock,
    PinnedNote,
)
from hilvan_assembler.model.entry import Entry
from hilvan_assembler.model.kind import ElementKind, Layer, Reason, View
from hilvan_assembler.model.options import Options
from hilvan_assembler.model.session import Brief, Project, SessionOpening
from hilvan_assembler.model.turn import Caller, Wanted
from hilvan_assembler.ports import Ports
from hilvan_assembler.ports.contradiction import ContradictionJudge
from hilvan_assembler.settings import AssemblerSettings
from hilvan_assembler.usecases import UseCases
from hilvan_assembler.usecases.assembly import Assembled
from hilvan_assembler.usecases.recall import Recalled
from hilvan_assembler.usecases.turn import Turn
from hilvan_kit.auth import ApiKey, AuthSettings, Role, build_authenticator, generate
from hilvan_kit.deadlines import Deadline
from hilvan_kit.failures import DETAILS_KEY
from hilvan_kit.guards import standard_guards
from hilvan_kit.server import Server
from hilvan_kit.tokens import Tokenizers

ANA = Caller("acme", "ana", (("authorization", "Bearer x"),))


@dataclass(slots=True)
class Behaviour:
    """How a double behaves, and what it saw.

    It answers when ``open`` is set, or fails late at its deadline; ``error`` is raised instead.
    """

    service: str
    open: asyncio.Event = field(default_factory=asyncio.Event)
    called: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None
    callers: list[Caller] = field(default_factory=list)
    deadlines: list[Deadline] = field(default_factory=list)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.open.set()

    async def serve(self, caller: Caller, deadline: Deadline) -> None:
        """Note the call, and wait or fail as told. Raises ServiceTimeout at the deadline."""
        self.callers.append(caller)
        self.deadlines.append(deadline)
        self.called.set()
        try:
            async with asyncio.timeout(deadline.remaining()):
                await self.open.wait()
        except TimeoutError:
            raise ServiceTimeout(self.service) from None
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        if self.error is not None:
            raise self.error


class MemoryRetrieval:
    """`Retrieval` with an answer that tests set."""

    def __init__(self) -> None:
        """Answer with three entries at once."""
        self.behaviour = Behaviour("retrieval")
        self.answer = found_rows(*ENTRIES, timings={"vector": 0.001})
        self.requests: list[CandidateRequest] = []
        self.entries: list[Entry] = []
        self.recorded: list[tuple[str, ...]] = []
        self.contradictions: list[tuple[FoundContradiction, ...]] = []
        self.recording = Behaviour("retrieval")

    async def candidates(
        self, caller: Caller, request: CandidateRequest, deadline: Deadline
    ) -> RetrievalAnswer:
        """The answer that was set."""
        self.requests.append(request)
        await self.behaviour.serve(caller, deadline)
        return self.answer

    async def project_entries(
        self, caller: Caller, project_id: str, deadline: Deadline
    ) -> Sequence[Entry]:
        """The entries that were set."""
        del project_id
        await self.behaviour.serve(caller, deadline)
        return self.entries

    async def record_accesses(self, caller: Caller, ids: Sequence[str]) -> None:
        """Note the ids."""
        await self.recording.serve(caller, Deadline.after(30))
        self.recorded.append(tuple(ids))

    async def record_contradictions(
        self, caller: Caller, contradictions: Sequence[FoundContradiction]
    ) -> None:
        """Note the pairs."""
        await self.recording.serve(caller, Deadline.after(30))
        self.contradictions.append(tuple(contradictions))


class MemoryCuration:
    """`Curation` with answers that tests set."""

    def __init__(self) -> None:
        """Answer with one pin, one block, and one project at once."""
        self.behaviour = Behaviour("curation")
        self.answer = CURATION
        self.scopes: dict[str, CurationAnswer] = {}
        self.briefs: dict[str, Brief] = {}
        self.since: datetime | None = None
        self.opened: list[tuple[str, bool]] = []
        self.tokenizers: list[str] = []

    async def resolve(
        self, caller: Caller, project_id: str, tokenizer: str, deadline: Deadline
    ) -> CurationAnswer:
        """The answer that was set for the scope, or the common one."""
        self.tokenizers.append(tokenizer)
        await self.behaviour.serve(caller, deadline)
        return self.scopes.get(project_id, self.answer)

    async def open_session(
        self, caller: Caller, project_id: str, *, preview: bool, deadline: Deadline
    ) -> SessionOpening:
        """A session that is only kept when it is no preview."""
        self.opened.append((project_id, preview))
        await self.behaviour.serve(caller, deadline)
        return SessionOpening("session-1", self.since, note_count=2, folders=("adr",), tags=("db",))

    async def brief(self, caller: Caller, project_id: str, deadline: Deadline) -> Brief:
        """The brief that was set for the scope, or one with a project and no category."""
        await self.behaviour.serve(caller, deadline)
        projects = (Project(id="p1", name="Despacho"),)
        return self.briefs.get(project_id, Brief(projects, ()))


def found_rows(*rows: Candidate, age: float | None = 1.0, **fields: Any) -> RetrievalAnswer:
    """An answer with these candidates; ``age`` in seconds is that of its mutes."""
    pairs = fields.pop("pairs", None)
    return RetrievalAnswer(retrieved(*rows, pairs=pairs), mutes_age_seconds=age, **fields)


def element(note_id: str, kind: ElementKind = ElementKind.PIN) -> Element:
    """An element of a scope with a body."""
    return Element(note_id, kind, title=note_id, text="the body")


ENTRIES = (
    entry("m1", "Ana drinks tea", similarity=0.9, bm25=4.0),
    entry("m2", "Luis lives in Madrid", similarity=0.7),
    entry("e1", "The team met on Friday", similarity=0.6, layer=Layer.EPISODE),
)
CURATION = CurationAnswer(
    Curated(
        pins=(
            PinnedNote("pin", "Plan", "the plan"),
            PinnedNote("gone", "Gone", "", loaded=False, reason=Reason.MISSING),
        ),
        identity=(IdentityBlock("block", "soul", "identity", "be kind"),),
    ),
    (element("pin"),),
)


def key(user: str = "ana", **fields: Any) -> tuple[str, ApiKey]:
    """A member's credential of the tenant acme, and its record."""
    return generate("acme", user, Role.MEMBER, **fields)


@dataclass(slots=True)
class Composed:
    """The use cases of production over doubles."""

    retrieval: MemoryRetrieval
    curation: MemoryCuration
    use_cases: UseCases

    @staticmethod
    def over(
        retrieval: MemoryRetrieval | None = None,
        curation: MemoryCuration | None = None,
        judge: ContradictionJudge = evidence_judge,
        folder: Path | None = None,
    ) -> "Composed":
        """Doubles that answer at once, unless others are given; it is `AS_OF`."""
        retrieval, curation = retrieval or MemoryRetrieval(), curation or MemoryCuration()
        ports = Ports(retrieval, curation, judge, Tokenizers(folder=folder))
        return Composed(retrieval, curation, compose(ports, lambda: AS_OF))

    async def assemble(self, turn: Turn) -> Assembled:
        """A prompt."""
        return await self.use_cases.assembler.assemble(turn)

    async def recall(self, turn: Turn, tokens: int = 500) -> Recalled:
        """A bundle, of which one source may have all."""
        return await self.use_cases.recaller.recall(turn, BundleBudget(tokens, tokens))


def turn(
    query: str = "tea",
    project_id: str = "",
    *,
    wish: Options | None = None,
    seconds: float = 20,
    deadline: Deadline | None = None,
    view: View = View.BASIC,
    preview: bool = False,
    caller: Caller = ANA,
    **wanted: Any,
) -> Turn:
    """A call of ana's that ends after so many seconds."""
    return Turn(
        caller=caller,
        wanted=Wanted(query, project_id, 100, **{"as_of_given": False, **wanted}),
        options=wish or options(),
        tokenizer=WORDS,
        deadline=deadline or Deadline.after(seconds),
        view=view,
        preview=preview,
    )


@dataclass(slots=True)
class Running:
    """A running server with its doubles; ``metadata`` proves that ana calls."""

    stub: Any
    metadata: tuple[tuple[str, str], ...]
    retrieval: MemoryRetrieval
    curation: MemoryCuration
    use_cases: UseCases
    expired: str
    channel: grpc.aio.Channel

    async def call(
        self,
        method: str,
        request: Message,
        metadata: Mapping[str, str] | None = None,
        *,
        within: float = 20,
    ) -> Any:
        """Call a method as ana, with so many seconds to answer in and perhaps more metadata."""
        proof = (*self.metadata, *(metadata or {}).items())
        return await getattr(self.stub, method)(request, timeout=within, metadata=proof)


@asynccontextmanager
async def serving(
    retrieval: MemoryRetrieval | None = None,
    curation: MemoryCuration | None = None,
    folder: Path | None = None,
) -> AsyncIterator[Running]:
    """The real server in this process over doubles, on a free port."""
    composed = Composed.over(retrieval, curation, folder=folder)
    token, record = key()
    old, expired = key("old", expires=datetime(2020, 1, 1, tzinfo=UTC))
    lines = f"{record.to_line()}\n{expired.to_line()}\n"
    settings = AssemblerSettings(listen="127.0.0.1:0", drain_seconds=0, stop_grace_seconds=1)
    authenticator = build_authenticator(
        AuthSettings(api_keys_inline=lines), settings.listen, AS_OF.timestamp
    )
    use_cases = composed.use_cases
    service = served(use_cases, default_deadline_seconds=20)
    guards = standard_guards(authenticator, service.errors)
    server = Server(settings, service.servicers, guards, service.ping)
    await server.start()
    proof = (("authorization", f"Bearer {token}"),)
    try:
        async with grpc.aio.insecure_channel(server.address) as channel:
            stub = rpc.AssemblerServiceStub(channel)
            yield Running(
                stub, proof, composed.retrieval, composed.curation, use_cases, old, channel
            )
    finally:
        await use_cases.close()
        await server.stop()


class Failed:
    """A call's rich error."""

    def __init__(self, error: grpc.aio.AioRpcError) -> None:
        self.code = error.code()
        self.details: dict[type[Message], Any] = {}
        for name, value in error.trailing_metadata() or ():
            if name == DETAILS_KEY and isinstance(value, bytes):
                for packed in status_pb2.Status.FromString(value).details:
                    self._unpack(packed)

    def _unpack(self, packed: Any) -> None:
        for kind in (
            error_details_pb2.ErrorInfo,
            error_details_pb2.BadRequest,
            error_details_pb2.RetryInfo,
        ):
            if packed.Is(kind.DESCRIPTOR):
                self.details[kind] = message = kind()
                packed.Unpack(message)

    @property
    def reason(self) -> str:
        """The reason, of our own domain."""
        info = self.details[error_details_pb2.ErrorInfo]
        assert info.domain == "assembler.hilvan"
        return str(info.reason)

    @property
    def paths(self) -> set[str]:
        """The fields at fault."""
        return {each.field for each in self.details[error_details_pb2.BadRequest].field_violations}


async def failure(
    running: Running, method: str, request: Message, metadata: Mapping[str, str] | None = None
) -> Failed:
    """The error that a call ends with."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.call(method, request, metadata)
    return Failed(caught.value)
