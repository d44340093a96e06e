"""The client over the wire: a real server, a real channel, port 0."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2 as details
from grpc import aio
from support.client.script import Refusal, Script
from support.client.server import serve

from hilvan.common.v1.entry_pb2 import Entry
from hilvan.retrieval.v1.retrieval_service_pb2 import (
    ExportEntriesRequest,
    GetEntryRequest,
    GetIndexStateRequest,
    UpsertEntryRequest,
)
from hilvan_client import errors
from hilvan_client.client import Hilvan

StatusCode = grpc.StatusCode


@pytest.fixture
def script() -> Script:
    """What the server of a test does."""
    return Script()


@pytest.fixture
async def address(script: Script) -> AsyncIterator[str]:
    """Where it listens."""
    async with serve(script) as at:
        yield at


@pytest.fixture
async def hilvan(address: str) -> AsyncIterator[Hilvan]:
    """A client of it."""
    async with Hilvan.connect(address, address, address) as client:
        yield client


def info(reason: str, **metadata: str) -> details.ErrorInfo:
    """The detail that every error of ours has."""
    return details.ErrorInfo(reason=reason, domain="retrieval.hilvan", metadata=metadata)


BAD = details.BadRequest(
    field_violations=[
        details.BadRequest.FieldViolation(field="entry.text", description="is missing"),
        details.BadRequest.FieldViolation(field="entry.importance", description="from 0 to 1"),
    ]
)
LATER = details.RetryInfo(retry_delay=Duration(nanos=200_000_000))
GONE = details.ResourceInfo(resource_type="hilvan.Entry", resource_name="mem-1")


@pytest.mark.parametrize(
    ("code", "packed", "expected", "attribute", "value"),
    [
        (
            StatusCode.INVALID_ARGUMENT,
            (info("INVALID_FIELD"), BAD),
            errors.InvalidRequest,
            "violations",
            (
                errors.Violation("entry.text", "is missing"),
                errors.Violation("entry.importance", "from 0 to 1"),
            ),
        ),
        (
            StatusCode.NOT_FOUND,
            (info("ENTRY_NOT_FOUND"), GONE),
            errors.NotFound,
            "resource",
            "mem-1",
        ),
        (
            StatusCode.ABORTED,
            (info("ETAG_MISMATCH", current_etag="3"),),
            errors.Conflict,
            "current_etag",
            "3",
        ),
        (
            StatusCode.ALREADY_EXISTS,
            (info("REQUEST_ID_REUSED"),),
            errors.Conflict,
            "current_etag",
            None,
        ),
        (
            StatusCode.FAILED_PRECONDITION,
            (info("NOT_PINNABLE"),),
            errors.FailedPrecondition,
            "reason",
            "NOT_PINNABLE",
        ),
        (
            StatusCode.UNAUTHENTICATED,
            (info("CREDENTIAL_MISSING"),),
            errors.Unauthenticated,
            "reason",
            "CREDENTIAL_MISSING",
        ),
        (
            StatusCode.PERMISSION_DENIED,
            (info("PERMISSION_DENIED"),),
            errors.PermissionDenied,
            "reason",
            "PERMISSION_DENIED",
        ),
        (
            StatusCode.RESOURCE_EXHAUSTED,
            (info("OVERLOADED"), LATER),
            errors.Overloaded,
            "retry_after",
            0.2,
        ),
        (
            StatusCode.UNAVAILABLE,
            (info("ALL_SOURCES_FAILED"), LATER),
            errors.Unavailable,
            "retry_after",
            0.2,
        ),
        (StatusCode.CANCELLED, (), errors.Unavailable, "reason", ""),
        (
            StatusCode.DEADLINE_EXCEEDED,
            (info("NOT_YET_SEARCHABLE", entry_id="mem-1"),),
            errors.DeadlineExceeded,
            "reason",
            "NOT_YET_SEARCHABLE",
        ),
        (
            StatusCode.UNIMPLEMENTED,
            (info("NOT_BUILT_YET", method="Consolidate"),),
            errors.NotBuilt,
            "reason",
            "NOT_BUILT_YET",
        ),
        (
            StatusCode.INTERNAL,
            (info("INTERNAL", incident="0f8c"),),
            errors.InternalError,
            "incident",
            "0f8c",
        ),
        (StatusCode.UNKNOWN, (), errors.InternalError, "incident", None),
        # The size cap of gRPC itself: no wait would help, so it is not Overloaded.
        (StatusCode.RESOURCE_EXHAUSTED, (), errors.HilvanError, "reason", ""),
    ],
)
async def test_status_becomes_typed_error(
    script: Script,
    hilvan: Hilvan,
    code: StatusCode,
    packed: tuple[Any, ...],
    expected: type[errors.HilvanError],
    attribute: str,
    value: object,
) -> None:
    """Each status code with its details becomes one error class, raised from gRPC's own."""
    script.refusals = [Refusal(code, "words", packed)]
    with pytest.raises(errors.HilvanError) as caught:
        await hilvan.retrieval.UpsertEntry(UpsertEntryRequest())
    assert type(caught.value) is expected
    assert getattr(caught.value, attribute) == value
    assert caught.value.failure.code == code.name
    assert caught.value.failure.message == "words"
    assert isinstance(caught.value.__cause__, aio.AioRpcError)


async def test_broken_details_leave_the_code(script: Script, hilvan: Hilvan) -> None:
    """Details that do not parse are ignored; the code still decides."""

    class Broken(Refusal):
        async def send(self, context: Any) -> None:
            await context.abort(self.code, "x", (("grpc-status-details-bin", b"\xff\xff"),))

    script.refusals = [Broken(StatusCode.NOT_FOUND)]
    with pytest.raises(errors.NotFound) as caught:
        await hilvan.retrieval.UpsertEntry(UpsertEntryRequest())
    assert caught.value.reason == ""


async def test_every_call_has_the_deadline_of_its_config(script: Script, hilvan: Hilvan) -> None:
    """Reads get 10 s and writes 30 s, as the service config says."""
    await hilvan.retrieval.GetEntry(GetEntryRequest(id="a"))
    await hilvan.retrieval.UpsertEntry(UpsertEntryRequest())
    async for _ in hilvan.retrieval.ExportEntries(ExportEntriesRequest()):
        pass
    read, write, stream = script.remaining
    assert read is not None
    assert 5 < read < 11
    assert write is not None
    assert 20 < write < 31
    assert stream is not None
    assert 20 < stream < 31


async def test_a_caller_may_lengthen_a_deadline(script: Script, hilvan: Hilvan) -> None:
    """A timeout given with a call counts, also above the one of the service config."""
    await hilvan.retrieval.GetEntry(GetEntryRequest(id="a"), timeout=300)
    assert script.remaining[0] is not None
    assert script.remaining[0] > 200


async def test_a_client_has_its_own_default_deadline(script: Script, address: str) -> None:
    """The timeout of the client replaces those of the service config."""
    async with Hilvan.connect(address, timeout=77) as hilvan:
        await hilvan.retrieval.GetEntry(GetEntryRequest(id="a"))
    assert script.remaining[0] is not None
    assert 60 < script.remaining[0] < 78


async def test_passed_deadline_is_an_error_of_ours(script: Script, hilvan: Hilvan) -> None:
    """A server that does not answer makes DeadlineExceeded."""
    script.hang = True
    with pytest.raises(errors.DeadlineExceeded):
        await hilvan.retrieval.UpsertEntry(UpsertEntryRequest(), timeout=0.05)


async def test_calls_carry_credential_tenant_and_user(script: Script, address: str) -> None:
    """Metadata names who calls, and a call may name somebody else."""
    async with Hilvan.connect(address, credential="k", tenant="t", user="u") as hilvan:
        await hilvan.retrieval.GetEntry(GetEntryRequest(id="a"))
        await hilvan.retrieval.GetEntry(GetEntryRequest(id="a"), metadata=(("hilvan-user", "v"),))
    first, second = script.metadata
    assert first["authorization"] == "Bearer k"
    assert (first["hilvan-tenant"], first["hilvan-user"]) == ("t", "u")
    assert (second["hilvan-tenant"], second["hilvan-user"]) == ("t", "v")


async def test_cancelling_the_task_is_no_error_of_ours(script: Script, hilvan: Hilvan) -> None:
    """A call that its own task cancels raises CancelledError."""
    script.hang = True
    task = asyncio.ensure_future(_upsert(hilvan))
    await script.called.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _upsert(hilvan: Hilvan) -> None:
    await hilvan.retrieval.UpsertEntry(UpsertEntryRequest())


@pytest.mark.parametrize("code", [StatusCode.UNAVAILABLE, StatusCode.CANCELLED])
async def test_reads_are_retried(script: Script, hilvan: Hilvan, code: StatusCode) -> None:
    """A read that a stopping server breaks off is tried again, three times in all."""
    script.refusals = [Refusal(code), Refusal(code)]
    answer = await hilvan.retrieval.GetEntry(GetEntryRequest(id="a"))
    assert answer.entry.id == "a"
    assert script.calls == ["GetEntry"] * 3


async def test_writes_are_not_retried(script: Script, hilvan: Hilvan) -> None:
    """A write is tried once: its caller decides, with a request id."""
    script.refusals = [Refusal(StatusCode.UNAVAILABLE)]
    with pytest.raises(errors.Unavailable):
        await hilvan.retrieval.UpsertEntry(UpsertEntryRequest())
    assert script.calls == ["UpsertEntry"]


async def test_calls_go_to_servers_that_serve() -> None:
    """Of two replicas, the one whose health says NOT_SERVING gets nothing."""
    well, ill = Script(), Script()
    async with (
        serve(well) as one,
        serve(ill, serving=False) as other,
        Hilvan.connect(f"ipv4:{other},{one}") as hilvan,
    ):
        for _ in range(20):
            await hilvan.retrieval.GetEntry(GetEntryRequest(id="a"))
    assert (len(well.calls), len(ill.calls)) == (20, 0)


async def test_calls_are_spread_over_servers() -> None:
    """Two replicas that serve share the calls."""
    left, right = Script(), Script()
    async with (
        serve(left) as one,
        serve(right) as other,
        Hilvan.connect(f"ipv4:{other},{one}") as hilvan,
    ):
        while not (left.calls and right.calls):
            await hilvan.retrieval.GetEntry(GetEntryRequest(id="a"))


async def test_answers_above_four_mebibytes_arrive(script: Script, hilvan: Hilvan) -> None:
    """The receive cap is 16 MiB, above gRPC's default."""
    script.entries["big"] = Entry(id="big", text="x" * (6 * 1024 * 1024))
    answer = await hilvan.retrieval.GetEntry(GetEntryRequest(id="big"))
    assert len(answer.entry.text) == 6 * 1024 * 1024


async def test_stream_errors_are_ours(script: Script, hilvan: Hilvan) -> None:
    """A stream that breaks after its first message raises a HilvanError."""
    script.refusals = [Refusal(StatusCode.PERMISSION_DENIED)]
    answers = aiter(hilvan.retrieval.ExportEntries(ExportEntriesRequest()))
    await anext(answers)
    with pytest.raises(errors.PermissionDenied):
        await anext(answers)


async def test_reading_a_stream_by_hand_raises_ours(script: Script, hilvan: Hilvan) -> None:
    """`read` translates errors as iteration does."""
    script.refusals = [Refusal(StatusCode.PERMISSION_DENIED)]
    call = hilvan.retrieval.ExportEntries(ExportEntriesRequest())
    await call.read()
    with pytest.raises(errors.PermissionDenied):
        await call.read()


async def test_a_service_without_address_is_a_mistake_of_the_caller(address: str) -> None:
    """Using a service that connect got no address of says so."""
    async with Hilvan.connect(retrieval=address) as hilvan:
        with pytest.raises(ValueError, match="assembler"):
            _ = hilvan.assembler


async def test_every_call_states_its_deadline(script: Script, hilvan: Hilvan) -> None:
    """The deadline travels as metadata too, so that a server can tell how long a call waited."""
    await hilvan.retrieval.GetIndexState(GetIndexStateRequest(), timeout=1.5)
    assert script.metadata[0]["hilvan-timeout-ms"] == "1500"
