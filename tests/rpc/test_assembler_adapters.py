"""The assembler's clients of retrieval and curation, against servers that answer as told."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from support.assembler.doubles import ANA
from support.assembler.values import AS_OF

from hilvan.common.v1 import entry_pb2
from hilvan.curation.v1 import curation_service_pb2 as curation_pb
from hilvan.curation.v1 import curation_service_pb2_grpc as curation_rpc
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as rpc
from hilvan_assembler.adapters.services import curation as curation_adapter
from hilvan_assembler.adapters.services.curation import GrpcCuration
from hilvan_assembler.adapters.services.retrieval import GrpcRetrieval
from hilvan_assembler.errors import (
    ProjectNotFound,
    ServiceTimeout,
    ServiceUnavailable,
    SourcesFailed,
)
from hilvan_assembler.model.candidate import CandidateRequest
from hilvan_assembler.model.contradiction import FoundContradiction
from hilvan_assembler.model.kind import ElementKind, ElementVerdict, Layer, Reason
from hilvan_assembler.model.session import Category
from hilvan_kit.deadlines import Deadline
from hilvan_kit.failures import Failure, abort
from hilvan_kit.guards import TIMEOUT_KEY

ASKED = CandidateRequest("tea", (Layer.MEMORY,), ("user:ana", "project:p1"), 7, as_of=AS_OF)
SOON = 20.0


class Scripted:
    """Answers every method with what is set for it, and keeps what it was asked."""

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.answers: dict[str, Any] = {}
        self.asked: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}

    def method(self, name: str, empty: Any) -> Any:
        """A handler of one method."""

        async def handle(request: Any, context: Any) -> Any:
            self.asked[name] = request
            self.metadata = dict(context.invocation_metadata())
            answer = self.answers.get(name, empty())
            if isinstance(answer, Failure):
                await abort(context, answer, self.domain)
            return answer

        return handle


@asynccontextmanager
async def scripted(
    servicer: Any, add: Any, module: Any, domain: str
) -> AsyncIterator[tuple[Scripted, str]]:
    """A server whose every method is scripted; its errors are of that domain."""
    script = Scripted(domain)
    service = module.DESCRIPTOR.services_by_name[servicer.__name__.removesuffix("Servicer")]
    handlers = {
        method.name: script.method(method.name, getattr(module, method.output_type.name))
        for method in service.methods
        if hasattr(module, method.output_type.name)
    }
    server = grpc.aio.server()
    add(type("Servicer", (servicer,), {n: staticmethod(h) for n, h in handlers.items()})(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield script, f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


@pytest.fixture
async def retrieval() -> AsyncIterator[tuple[Scripted, GrpcRetrieval]]:
    """Retrieval's client and the script behind it."""
    add = rpc.add_RetrievalServiceServicer_to_server
    async with scripted(rpc.RetrievalServiceServicer, add, pb, "retrieval.hilvan") as (
        script,
        address,
    ):
        client = GrpcRetrieval(grpc.aio.insecure_channel(address))
        yield script, client
        await client.close()


@pytest.fixture
async def curation() -> AsyncIterator[tuple[Scripted, GrpcCuration]]:
    """Curation's client and the script behind it."""
    add = curation_rpc.add_CurationServiceServicer_to_server
    servicer = curation_rpc.CurationServiceServicer
    async with scripted(servicer, add, curation_pb, "curation.hilvan") as (script, address):
        client = GrpcCuration(grpc.aio.insecure_channel(address))
        yield script, client
        await client.close()


def failing(code: grpc.StatusCode, reason: str = "") -> Failure:
    """A refusal."""
    return Failure(code, reason, "why")


async def test_a_request_carries_scope_moment_credential_and_deadline(
    retrieval: tuple[Scripted, GrpcRetrieval],
) -> None:
    """Owners by axis, the moment, and what is left of the caller's time."""
    script, client = retrieval
    await client.candidates(ANA, ASKED, Deadline.after(SOON))
    asked = script.asked["RetrieveCandidates"]
    assert [(each.axis, each.id) for each in asked.owners] == [
        (entry_pb2.AXIS_USER, "ana"),
        (entry_pb2.AXIS_PROJECT, "p1"),
    ]
    assert (asked.candidate_limit, asked.as_of_time.ToDatetime(UTC)) == (7, AS_OF)
    assert not asked.HasField("pair_similarity_floor")
    assert script.metadata["authorization"] == "Bearer x"
    assert 0 < int(script.metadata[TIMEOUT_KEY]) < SOON * 1000


async def test_project_entries_and_accesses(retrieval: tuple[Scripted, GrpcRetrieval]) -> None:
    """A project's entries with what a session needs of them; accesses by id."""
    script, client = retrieval
    owner = entry_pb2.Owner(axis=entry_pb2.AXIS_PROJECT, id="p1")
    note = entry_pb2.Entry(id="n", layer=entry_pb2.LAYER_NOTE, category="c", owner=owner)
    script.answers["ListEntries"] = pb.ListEntriesResponse(entries=[note])
    (entry,) = await client.project_entries(ANA, "p1", Deadline.after(SOON))
    assert (entry.category, entry.owner, entry.layer) == ("c", "project:p1", Layer.NOTE)
    await client.record_accesses(ANA, ["a", "b"])
    assert list(script.asked["RecordAccesses"].ids) == ["a", "b"]


async def test_the_age_of_the_mutes_crosses_the_wire(
    retrieval: tuple[Scripted, GrpcRetrieval],
) -> None:
    """In seconds; absent is never, which is not the same as just now."""
    script, client = retrieval
    ages = []
    for age in (None, Duration(), Duration(seconds=30, nanos=500_000_000)):
        answer = pb.RetrieveCandidatesResponse(mutes_age_duration=age)
        script.answers["RetrieveCandidates"] = answer
        ages.append((await client.candidates(ANA, ASKED, Deadline.after(SOON))).mutes_age_seconds)
    assert ages == [None, 0.0, 30.5]


async def test_contradictions_cross_the_wire(retrieval: tuple[Scripted, GrpcRetrieval]) -> None:
    """With as much of the evidence as retrieval takes, and the caller's credential."""
    script, client = retrieval
    found = [FoundContradiction("a", "b", "why"), FoundContradiction("c", "d", "x" * 600)]
    await client.record_contradictions(ANA, found)
    asked = script.asked["RecordConflicts"].conflicts
    assert [(each.older_id, each.newer_id, each.evidence) for each in asked] == [
        ("a", "b", "why"),
        ("c", "d", "x" * 512),
    ]
    assert script.metadata["authorization"] == "Bearer x"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failing(grpc.StatusCode.UNAVAILABLE, "ALL_SOURCES_FAILED"), SourcesFailed),
        (failing(grpc.StatusCode.UNAVAILABLE), ServiceUnavailable),
        (failing(grpc.StatusCode.INTERNAL, "INTERNAL"), ServiceUnavailable),
        (failing(grpc.StatusCode.DEADLINE_EXCEEDED), ServiceTimeout),
    ],
)
async def test_what_retrieval_refuses_with(
    retrieval: tuple[Scripted, GrpcRetrieval], answer: Failure, error: type[Exception]
) -> None:
    """Each refusal is one exception of the port."""
    script, client = retrieval
    script.answers["RetrieveCandidates"] = answer
    with pytest.raises(error):
        await client.candidates(ANA, ASKED, Deadline.after(SOON))


async def test_without_time_left_nobody_is_asked(
    retrieval: tuple[Scripted, GrpcRetrieval],
) -> None:
    """A passed deadline is late at once."""
    script, client = retrieval
    with pytest.raises(ServiceTimeout):
        await client.candidates(ANA, ASKED, Deadline.after(0))
    assert not script.asked


async def test_a_scope_crosses_the_wire(curation: tuple[Scripted, GrpcCuration]) -> None:
    """Pins with their verdicts, identity, mutes; memory categories are no pins."""
    script, client = curation
    script.answers["ResolveScope"] = curation_pb.ResolveScopeResponse(
        elements=[
            curation_pb.Element(
                kind=curation_pb.ELEMENT_KIND_SET_ITEM, note_id="n", title="T", text="body",
                verdict=curation_pb.VERDICT_LOADED,
            ),
            curation_pb.Element(
                kind=curation_pb.ELEMENT_KIND_PIN, note_id="o",
                verdict=curation_pb.VERDICT_AFTER_CUT,
            ),
            curation_pb.Element(
                kind=curation_pb.ELEMENT_KIND_MEMORY_CATEGORY, note_id="m",
                verdict=curation_pb.VERDICT_MUTED,
            ),
        ],
        identity=[
            curation_pb.IdentityBlock(
                id="b", group=curation_pb.IDENTITY_GROUP_STYLE, kind="k", text="x", active=True
            )
        ],
    )  # fmt: skip
    owner = entry_pb2.Owner(axis=entry_pb2.AXIS_USER, id="ana")
    script.answers["ResolveScope"].muted.add(owner=owner, category="c")
    answer = await client.resolve(ANA, "p1", "o200k_base", Deadline.after(SOON))
    pins = answer.curated.pins
    assert [(each.id, each.loaded, each.reason) for each in pins] == [
        ("n", True, Reason.RENDERED),
        ("o", False, Reason.AFTER_CUT),
    ]
    assert answer.curated.identity[0].group == "style"
    assert answer.curated.muted == {("user:ana", "c")}
    assert [(each.note_id, each.kind, each.verdict) for each in answer.elements] == [
        ("n", ElementKind.SET_ITEM, ElementVerdict.LOADED),
        ("o", ElementKind.PIN, ElementVerdict.AFTER_CUT),
        ("m", ElementKind.MEMORY_CATEGORY, ElementVerdict.MUTED),
    ]
    asked = script.asked["ResolveScope"]
    assert (asked.scope.project_id, asked.tokenizer, asked.include_bodies) == (
        "p1",
        "o200k_base",
        True,
    )


async def test_sessions_and_briefs_cross_the_wire(
    curation: tuple[Scripted, GrpcCuration],
) -> None:
    """The session with since when, the projects, and the categories with their mutes."""
    script, client = curation
    opened = curation_pb.OpenSessionResponse(session_id="s")
    owner = entry_pb2.Owner(axis=entry_pb2.AXIS_USER, id="ana")
    script.answers["OpenSession"] = opened
    script.answers["ListCategories"] = curation_pb.ListCategoriesResponse(
        categories=[curation_pb.Category(category="c", muted=True, owner=owner)]
    )
    deadline = Deadline.after(SOON)
    session = await client.open_session(ANA, "p1", preview=True, deadline=deadline)
    assert (session.session_id, session.since) == ("s", None)
    assert script.asked["OpenSession"].preview
    opened.since_time.FromDatetime(AS_OF)
    session = await client.open_session(ANA, "p1", preview=False, deadline=deadline)
    assert session.since == AS_OF
    brief = await client.brief(ANA, "p1", deadline)
    assert brief.categories == (Category("c", "user:ana", muted=True),)
    assert brief.projects == ()


@pytest.mark.parametrize("method", ["ResolveScope", "OpenSession", "ListCategories"])
async def test_an_unknown_project_is_not_a_failure_of_curation(
    curation: tuple[Scripted, GrpcCuration], method: str
) -> None:
    """PROJECT_NOT_FOUND means just that; anything else that curation can't help."""
    script, client = curation
    deadline = Deadline.after(SOON)
    calls: dict[str, Callable[[], Any]] = {
        "ResolveScope": lambda: client.resolve(ANA, "p", "", deadline),
        "OpenSession": lambda: client.open_session(ANA, "p", preview=True, deadline=deadline),
        "ListCategories": lambda: client.brief(ANA, "p", deadline),
    }
    script.answers[method] = failing(grpc.StatusCode.NOT_FOUND, "PROJECT_NOT_FOUND")
    with pytest.raises(ProjectNotFound):
        await calls[method]()
    for code, reason in (
        (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED"),
        (grpc.StatusCode.NOT_FOUND, "NOTE_NOT_FOUND"),
        (grpc.StatusCode.NOT_FOUND, ""),
    ):
        script.answers[method] = failing(code, reason)
        with pytest.raises(ServiceUnavailable):
            await calls[method]()


@pytest.mark.parametrize("domain", ["curation.hilvan", "mesh.example"])
async def test_a_reason_of_another_domain_says_nothing(
    retrieval: tuple[Scripted, GrpcRetrieval], domain: str
) -> None:
    """A proxy between the services may have words of its own."""
    script, client = retrieval
    script.domain = domain
    script.answers["RetrieveCandidates"] = failing(
        grpc.StatusCode.UNAVAILABLE, "ALL_SOURCES_FAILED"
    )
    with pytest.raises(ServiceUnavailable):
        await client.candidates(ANA, ASKED, Deadline.after(SOON))


@pytest.mark.parametrize(
    ("enum", "table"),
    [
        ("Verdict", curation_adapter._REASONS),
        ("Verdict", curation_adapter._VERDICTS),
        ("ElementKind", curation_adapter._KINDS),
        ("NoteChange", curation_adapter._CHANGES),
        ("IdentityGroup", curation_adapter._GROUPS),
    ],
)
def test_every_word_of_curation_is_known(enum: str, table: dict[int, Any]) -> None:
    """A verdict or group that is added to the contract can't be forgotten here."""
    values = curation_pb.DESCRIPTOR.enum_types_by_name[enum].values
    assert set(table) == {value.number for value in values if value.number}
