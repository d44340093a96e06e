"""How calls of the assembler fail: every reason, and every method's guard."""

from collections.abc import AsyncIterator

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from support.assembler.doubles import Failed, Running, failure, serving

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.assembler.v1 import error_reason_pb2
from hilvan_assembler.errors import (
    ProjectNotFound,
    ServiceTimeout,
    ServiceUnavailable,
    SourcesFailed,
)
from hilvan_kit.guards import TIMEOUT_KEY, NotBuilt

Code = grpc.StatusCode
SERVICE = pb.DESCRIPTOR.services_by_name["AssemblerService"]
METHODS = [method.name for method in SERVICE.methods]
GOOD: dict[str, Message] = {
    "Assemble": pb.AssembleRequest(query="tea"),
    "StartSession": pb.StartSessionRequest(),
    "Recall": pb.RecallRequest(query="tea"),
    "Search": pb.SearchRequest(query="tea"),
    "Preview": pb.PreviewRequest(recall=pb.RecallRequest(query="tea")),
}


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    """A server over doubles that answer at once."""
    async with serving() as running:
        yield running


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("proof", "code", "reason"),
    [
        (None, Code.UNAUTHENTICATED, "CREDENTIAL_MISSING"),
        ("Bearer hv_nobody_" + "x" * 43, Code.UNAUTHENTICATED, "CREDENTIAL_INVALID"),
        ("Basic x", Code.UNAUTHENTICATED, "CREDENTIAL_INVALID"),
        ("expired", Code.UNAUTHENTICATED, "CREDENTIAL_EXPIRED"),
        ("another tenant", Code.PERMISSION_DENIED, "PERMISSION_DENIED"),
    ],
)
async def test_every_method_wants_a_credential(
    running: Running, method: str, proof: str | None, code: Code, reason: str
) -> None:
    """None, unknown, expired, or one that names another tenant: nothing is asked of anybody."""
    metadata: tuple[tuple[str, str], ...] = ()
    if proof == "another tenant":
        metadata = (*running.metadata, ("hilvan-tenant", "rival"))
    elif proof is not None:
        metadata = (
            ("authorization", f"Bearer {running.expired}" if proof == "expired" else proof),
        )
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await getattr(running.stub, method)(GOOD[method], metadata=metadata, timeout=20)
    failed = Failed(caught.value)
    assert (failed.code, failed.reason) == (code, reason)
    assert not running.retrieval.behaviour.called.is_set()
    assert not running.curation.behaviour.called.is_set()
    await running.call(method, GOOD[method])


def _break(running: Running, error: Exception) -> None:
    running.retrieval.behaviour.error = running.curation.behaviour.error = error


RAISED: list[tuple[str, Code, str, Exception | None]] = [
    ("PROJECT_NOT_FOUND", Code.NOT_FOUND, "Assemble", ProjectNotFound()),
    ("PROJECT_NOT_FOUND", Code.NOT_FOUND, "StartSession", ProjectNotFound()),
    ("RETRIEVAL_UNAVAILABLE", Code.UNAVAILABLE, "Recall", ServiceUnavailable("retrieval")),
    ("RETRIEVAL_UNAVAILABLE", Code.UNAVAILABLE, "Search", ServiceUnavailable("retrieval")),
    ("CURATION_UNAVAILABLE", Code.UNAVAILABLE, "StartSession", ServiceUnavailable("curation")),
    ("ALL_SOURCES_FAILED", Code.UNAVAILABLE, "Search", SourcesFailed("vector, keyword")),
    ("ALL_SOURCES_FAILED", Code.UNAVAILABLE, "Preview", SourcesFailed("vector, keyword")),
    ("DEADLINE_EXCEEDED", Code.DEADLINE_EXCEEDED, "Recall", ServiceTimeout("retrieval")),
    ("DEADLINE_EXCEEDED", Code.DEADLINE_EXCEEDED, "StartSession", ServiceTimeout("curation")),
    ("INTERNAL", Code.INTERNAL, "Search", RuntimeError("secret host db-3")),
    # No method of the assembler waits to be built; the kit's answer is the contract's all the same.
    ("NOT_BUILT_YET", Code.UNIMPLEMENTED, "Search", NotBuilt("Search", "later")),
]


@pytest.mark.parametrize(("reason", "code", "method", "error"), RAISED)
async def test_what_goes_wrong_has_its_reason(
    running: Running, reason: str, code: Code, method: str, error: Exception
) -> None:
    """Each exception is one code and one reason; who may come again is told when."""
    _break(running, error)
    failed = await failure(running, method, GOOD[method])
    assert (failed.code, failed.reason) == (code, reason)
    retry = failed.details.get(error_details_pb2.RetryInfo)
    assert (retry is not None) is (code is Code.UNAVAILABLE)


async def test_a_fault_of_ours_tells_a_number_and_nothing_else(running: Running) -> None:
    """The exception's text stays in the log."""
    _break(running, RuntimeError("secret host db-3"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.call("Search", GOOD["Search"])
    assert "secret" not in str(caught.value)
    assert Failed(caught.value).details[error_details_pb2.ErrorInfo].metadata["incident"]


async def test_a_source_that_is_required_and_lost_is_a_failure(running: Running) -> None:
    """Assemble fails only for a caller that requires all sources."""
    running.retrieval.behaviour.error = ServiceUnavailable("retrieval")
    assert (await running.call("Assemble", GOOD["Assemble"])).degraded
    overrides = pb.Overrides(require_all_sources=True)
    request = pb.AssembleRequest(query="tea", overrides=overrides)
    assert (await failure(running, "Assemble", request)).reason == "ALL_SOURCES_FAILED"


async def test_a_call_that_waited_too_long_is_shed(running: Running) -> None:
    """Most of its stated deadline is gone: it is told when to come again."""
    failed = await failure(running, "Assemble", GOOD["Assemble"], {TIMEOUT_KEY: "600000"})
    assert (failed.code, failed.reason) == (Code.RESOURCE_EXHAUSTED, "OVERLOADED")
    assert error_details_pb2.RetryInfo in failed.details


@pytest.mark.parametrize("method", [each for each in METHODS if each != "Assemble"])
async def test_work_stops_when_the_deadline_passes(running: Running, method: str) -> None:
    """The caller is answered at its deadline, and no call to another service outlives it."""
    for double in (running.retrieval, running.curation):
        double.behaviour.open.clear()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.call(method, GOOD[method], within=0.15)
    assert caught.value.code() is Code.DEADLINE_EXCEEDED
    for double in (running.retrieval, running.curation):
        assert all(each.remaining() < 0.05 for each in double.behaviour.deadlines)


def test_every_reason_of_the_contract_is_raised_by_a_test_here() -> None:
    """A reason that nobody raises is a promise that nobody keeps."""
    others = {
        "INVALID_FIELD",
        "CREDENTIAL_MISSING",
        "CREDENTIAL_INVALID",
        "CREDENTIAL_EXPIRED",
        "PERMISSION_DENIED",
        "OVERLOADED",
    }
    values = error_reason_pb2.DESCRIPTOR.enum_types_by_name["ErrorReason"].values
    declared = {value.name.removeprefix("ERROR_REASON_") for value in values}
    assert declared - {"UNSPECIFIED"} == others | {reason for reason, *_ in RAISED}


def test_every_method_of_the_contract_is_in_the_matrix() -> None:
    """A new method can't be forgotten."""
    assert set(METHODS) == set(GOOD)
