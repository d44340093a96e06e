"""Every reason for which curation refuses a call, and that bad requests name all their fields."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from support.curation.service import (
    MemoryRetrieval,
    Refused,
    Server,
    call,
    copy_of_example,
    poll_files,
    serve,
    serve_example,
)

from hilvan.curation.v1 import curation_service_pb2 as pb
from hilvan.curation.v1 import error_reason_pb2
from hilvan_curation.adapters.metadata import NoMetadata
from hilvan_curation.adapters.notes import FileNoteSource
from hilvan_curation.errors import SourceUnavailable
from hilvan_curation.ports.note import NoteSource
from hilvan_kit.paging import page_token

DOMAIN = "curation.hilvan"
PERSONAL = pb.Scope()
PIN = pb.PinNoteRequest(note_id="nota-ana-salud")

# They belong to methods that are not built yet (sets, order, request ids).
NOT_YET = {"ETAG_MISMATCH", "REQUEST_ID_REUSED"}


class Failing(FileNoteSource):
    """Files that can be read and whose writes fail as told."""

    failure: Exception

    async def write(self, *_: object, **__: object) -> None:
        """Fail."""
        raise self.failure


def failing(failure: Exception) -> Callable[[Sequence[Path]], NoteSource]:
    """Open files whose writes fail."""

    def open_source(paths: Sequence[Path]) -> NoteSource:
        source = Failing(paths)
        source.failure = failure
        return source

    return open_source


class Edited(FileNoteSource):
    """Files that somebody edits between the reading and the writing."""

    async def write(self, space_id: str, path: str, data: bytes, *, expected: bytes | None) -> None:
        """Expect what is not there any more."""
        await super().write(space_id, path, data, expected=(expected or b"") + b"edited")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """Curation over the sample vault."""
    async with serve_example(tmp_path) as running:
        yield running


async def asked(server: Server, method: str, request: Any, who: str = "ana") -> Refused:
    """How a call failed."""
    answer = await server.call(method, request, who)
    assert isinstance(answer, Refused)
    return answer


async def over(
    tmp_path: Path,
    method: str,
    request: Any,
    open_source: Callable[[Sequence[Path]], NoteSource] = poll_files,
) -> Refused:
    """How a call fails without a database, over files of another kind."""
    store = NoMetadata({"norte": (copy_of_example(tmp_path / "other"),)})
    async with serve(store, MemoryRetrieval(), open_source=open_source) as server:
        return await asked(server, method, request)


async def overloaded(server: Server, _: Path) -> Refused:
    """Call with a deadline that is mostly gone."""
    late = ("hilvan-timeout-ms", "900000")
    metadata = (*server.keys.metadata("ana"), late)
    answer = await call(server.channel, "ListSpaces", None, metadata)
    assert isinstance(answer, Refused)
    return answer


Scenario = Callable[[Server, Path], Awaitable[Refused]]
CODES = grpc.StatusCode

SCENARIOS: dict[str, tuple[grpc.StatusCode, Scenario]] = {
    "INVALID_FIELD": (
        CODES.INVALID_ARGUMENT,
        lambda s, _: asked(s, "GetNote", pb.GetNoteRequest()),
    ),
    "NOTE_NOT_FOUND": (
        CODES.NOT_FOUND,
        lambda s, _: asked(s, "GetNote", pb.GetNoteRequest(id="made-up")),
    ),
    "SPACE_NOT_FOUND": (
        CODES.NOT_FOUND,
        lambda s, _: asked(s, "StampNotes", pb.StampNotesRequest(space_id="made-up")),
    ),
    "PROJECT_NOT_FOUND": (
        CODES.NOT_FOUND,
        lambda s, _: asked(
            s, "ResolveScope", pb.ResolveScopeRequest(scope=pb.Scope(project_id="made-up"))
        ),
    ),
    "CATEGORY_NOT_FOUND": (
        CODES.NOT_FOUND,
        lambda s, _: asked(
            s, "SetCategoryMute", pb.SetCategoryMuteRequest(scope=PERSONAL, category="made-up")
        ),
    ),
    "SESSION_NOT_FOUND": (
        CODES.NOT_FOUND,
        lambda s, _: asked(
            s, "AcknowledgeSession", pb.AcknowledgeSessionRequest(session_id="made-up")
        ),
    ),
    "NOTE_CHANGED": (CODES.ABORTED, lambda _, path: over(path, "PinNote", PIN, Edited)),
    "NOT_PINNABLE": (
        CODES.FAILED_PRECONDITION,
        lambda s, _: asked(s, "PinNote", pb.PinNoteRequest(note_id=_outside(s))),
    ),
    "BROKEN_FRONTMATTER": (
        CODES.FAILED_PRECONDITION,
        lambda s, _: asked(s, "PinNote", pb.PinNoteRequest(note_id=_broken(s))),
    ),
    "METADATA_REQUIRED": (
        CODES.FAILED_PRECONDITION,
        lambda _, path: over(
            path, "AcknowledgeSession", pb.AcknowledgeSessionRequest(session_id="s")
        ),
    ),
    "CREDENTIAL_MISSING": (
        CODES.UNAUTHENTICATED,
        lambda s, _: asked(s, "ListSpaces", None, ""),
    ),
    "CREDENTIAL_INVALID": (
        CODES.UNAUTHENTICATED,
        lambda s, _: call(s.channel, "ListSpaces", None, (("authorization", "Bearer no"),)),
    ),
    "CREDENTIAL_EXPIRED": (
        CODES.UNAUTHENTICATED,
        lambda s, _: asked(s, "ListSpaces", None, "late"),
    ),
    "PERMISSION_DENIED": (
        CODES.PERMISSION_DENIED,
        lambda s, _: asked(s, "AddVault", pb.AddVaultRequest(path="/")),
    ),
    "OVERLOADED": (CODES.RESOURCE_EXHAUSTED, overloaded),
    "NOT_BUILT_YET": (
        CODES.UNIMPLEMENTED,
        lambda s, _: asked(s, "CreateContextSet", None),
    ),
    "INTERNAL": (
        CODES.INTERNAL,
        lambda _, path: over(path, "PinNote", PIN, failing(RuntimeError("secret detail"))),
    ),
    "DEADLINE_EXCEEDED": (
        CODES.DEADLINE_EXCEEDED,
        lambda _, path: over(path, "PinNote", PIN, failing(TimeoutError())),
    ),
    "STORAGE_UNAVAILABLE": (
        CODES.UNAVAILABLE,
        lambda _, path: over(path, "PinNote", PIN, failing(SourceUnavailable("away"))),
    ),
}


def _outside(server: Server) -> str:
    return _note_id(server, "guia-de-codigo.md")


def _broken(server: Server) -> str:
    return _note_id(server, "despacho/ideas-sueltas.md")


def _note_id(server: Server, path: str) -> str:
    vaults = server.uses.catalogue.vaults("norte")
    return next(n.id for each in vaults.snapshots for n in each.notes if n.path == path)


@pytest.mark.parametrize("reason", SCENARIOS)
async def test_each_reason_has_its_code_and_domain(
    reason: str, server: Server, tmp_path: Path
) -> None:
    """What a caller can act on is in the details, and no class, path or engine in the message."""
    code, scenario = SCENARIOS[reason]
    failed = await scenario(server, tmp_path)
    assert (failed.code, failed.reason, failed.domain) == (code, reason, DOMAIN)
    for secret in ("Error", "secret", str(tmp_path), "sqlite"):
        assert secret not in failed.message
    assert failed.retry == (reason in {"OVERLOADED", "STORAGE_UNAVAILABLE"})


def test_every_reason_of_the_proto_is_raised() -> None:
    """A new reason needs a scenario here."""
    names = {each.removeprefix("ERROR_REASON_") for each in error_reason_pb2.ErrorReason.keys()}  # noqa: SIM118 (an enum wrapper)
    assert names - {"UNSPECIFIED"} - NOT_YET == set(SCENARIOS)


async def test_details_name_what_was_asked(server: Server, tmp_path: Path) -> None:
    """The note that was not found, the method that needs a database or is not built."""
    found = await SCENARIOS["NOTE_NOT_FOUND"][1](server, tmp_path)
    assert found.resource == "made-up"
    needs = await SCENARIOS["METADATA_REQUIRED"][1](server, tmp_path)
    assert needs.metadata == {"method": "AcknowledgeSession"}
    unbuilt = await SCENARIOS["NOT_BUILT_YET"][1](server, tmp_path)
    assert unbuilt.metadata == {"method": "CreateContextSet"}


async def test_a_lost_database_is_said_so(server: Server, tmp_path: Path) -> None:
    """STORAGE_UNAVAILABLE with a time to retry, and no word of the engine."""
    await server.uses.curator._metadata.close()
    for each in await asyncio.to_thread(lambda: list(tmp_path.glob("metadata.sqlite*"))):
        await asyncio.to_thread(each.unlink)
    await asyncio.to_thread((tmp_path / "metadata.sqlite").write_bytes, b"none" * 4_096)
    failed = await asked(server, "OpenSession", pb.OpenSessionRequest(scope=PERSONAL))
    assert (failed.reason, failed.retry) == ("STORAGE_UNAVAILABLE", True)
    assert "sqlite" not in failed.message.lower()


BAD: list[tuple[str, Any, set[str]]] = [
    (
        "ResolveScope",
        pb.ResolveScopeRequest(token_budget=-1, tokenizer="abacus"),
        {"scope", "token_budget", "tokenizer"},
    ),
    (
        "ResolveScope",
        pb.ResolveScopeRequest(scope=pb.Scope(project_id="p" * 257), token_budget=1_000_001),
        {"scope.project_id", "token_budget"},
    ),
    ("ListNotes", pb.ListNotesRequest(page_size=-1, space_id="\0"), {"page_size", "space_id"}),
    ("ListNotes", pb.ListNotesRequest(page_size=1_001), {"page_size"}),
    ("ListNotes", pb.ListNotesRequest(page_token="no token"), {"page_token"}),
    (
        "SetSpaceMembers",
        pb.SetSpaceMembersRequest(readers=["ana", ""], writers=["a b"]),
        {"space_id", "readers", "writers"},
    ),
    (
        "SetSpaceMembers",
        pb.SetSpaceMembersRequest(space_id="operaciones", readers=["u"] * 1_001),
        {"readers"},
    ),
    (
        "SetCategoryMute",
        pb.SetCategoryMuteRequest(until_time=Timestamp(nanos=-1)),
        {"scope", "category", "until_time"},
    ),
    ("GetNote", pb.GetNoteRequest(id="n" * 100_000), {"id"}),
    ("AddVault", pb.AddVaultRequest(path="/" + "x" * 5_000), {"path"}),
    ("AddVault", pb.AddVaultRequest(path="/elsewhere"), {"path"}),
]


@pytest.mark.parametrize(("method", "request_", "fields"), BAD)
async def test_a_bad_request_names_every_bad_field(
    method: str, request_: Any, fields: set[str], server: Server
) -> None:
    """All at once, each with its full path; what is too long comes back in no error."""
    failed = await asked(server, method, request_, "root")
    assert (failed.code, failed.reason) == (CODES.INVALID_ARGUMENT, "INVALID_FIELD")
    assert set(failed.fields) == fields


async def test_a_page_token_belongs_to_its_request(server: Server) -> None:
    """With other fields, or made up with care, it is refused and never a fault of ours."""
    first = await server.call("ListNotes", pb.ListNotesRequest(page_size=1))
    other = pb.ListNotesRequest(space_id="ana", page_token=first.next_page_token)
    forged = page_token([1, {}], pb.ListNotesRequest().SerializeToString())
    for request in (other, pb.ListNotesRequest(page_token=forged)):
        failed = await asked(server, "ListNotes", request)
        assert failed.fields == ("page_token",)
    larger = pb.ListNotesRequest(page_size=5, page_token=first.next_page_token)
    assert len((await server.call("ListNotes", larger)).notes) == 5
