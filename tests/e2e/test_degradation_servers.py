"""The product on real servers, of which some are lost: what still comes, and what is said of it."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from support.engines.degradation import BACK_S, FAULTS
from support.engines.fault_proxy import Mode
from support.product.processes import Product
from support.retrieval.calls import read

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.assembler.v1 import assembler_service_pb2_grpc as rpc
from hilvan.common.v1 import entry_pb2
from hilvan.curation.v1 import curation_service_pb2 as curation_pb
from hilvan.curation.v1 import curation_service_pb2_grpc as curation_rpc
from hilvan.retrieval.v1 import retrieval_service_pb2 as retrieval_pb
from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as retrieval_rpc
from hilvan_client.health import check
from hilvan_client.service_config import Service
from hilvan_kit.auth import USER_KEY

pytestmark = pytest.mark.timeout(300)
"""Three services start, and a busy machine takes its time."""

DEADLINE_S = 2.0
LATE_S = 0.5
"""By how much a busy machine may be late to hand over an answer that came in time."""

PATIENCE_S = 20.0
QUERY = "Which database does Despacho use, and how do I deploy?"
AS_ANA = ((USER_KEY, "ana"),)
ANA = entry_pb2.Owner(axis=entry_pb2.AXIS_USER, id="ana")

SECTIONS = {"identity", "pinned", "facts"}
UNASKED = {"identity", "pinned"}
"""What needs no search."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Servers that are lost at once: what the answer says is missing, and what it still has."""

    rigs: tuple[str, ...]
    missing: frozenset[str]
    sections: frozenset[str]


LOSSES = {
    "engine of meaning": Loss(("vector",), frozenset({"vector"}), frozenset(SECTIONS)),
    "engine of words": Loss(("keyword",), frozenset({"keyword"}), frozenset(SECTIONS)),
    "both engines": Loss(
        ("vector", "keyword"), frozenset({"vector", "keyword"}), frozenset(UNASKED)
    ),
    "record": Loss(("record",), frozenset({"retrieval"}), frozenset(UNASKED)),
}
ROWS = [
    *((loss, fault) for loss in ("engine of meaning", "engine of words") for fault in ("refuse",)),
    *((loss, fault) for loss in ("both engines", "record") for fault in FAULTS),
]
"""Each engine alone has its faults in the integration tests."""

GONE = (grpc.StatusCode.UNAVAILABLE, "STORAGE_UNAVAILABLE")
LATE = {(grpc.StatusCode.DEADLINE_EXCEEDED, told) for told in ("", "DEADLINE_EXCEEDED")}
OF_RECORD = {"hang": {GONE, *LATE}, "drip": {GONE, *LATE}}
"""What calls that need the record end with; of a server that says nothing, only time tells."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Ana's calls without the client's own patience: nothing is tried twice."""

    product: Product
    retrieval: Any
    curation: Any
    assembler: Any

    async def assemble(self, *, require_all_sources: bool = False) -> pb.AssembleResponse:
        """One turn, in time; a busy machine may stop any single one just before its answer."""
        overrides = pb.Overrides(require_all_sources=require_all_sources)
        request = pb.AssembleRequest(query=QUERY, overrides=overrides)
        for is_last in (False, False, True):
            call = self.assembler.Assemble(request, timeout=DEADLINE_S, metadata=AS_ANA)
            try:
                return await in_time(call)  # type: ignore[no-any-return]  # the stub's
            except grpc.aio.AioRpcError as error:
                if is_last or error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                    raise
        raise AssertionError("unreachable")

    async def until_whole(self) -> None:
        """Assemble until nothing is missing."""
        async with asyncio.timeout(2 * BACK_S):  # a busy machine is given twice the target
            while sections(await self.assemble()) != SECTIONS or await self.missing():  # noqa: ASYNC110 - asking is the point
                await asyncio.sleep(0.01)

    async def missing(self) -> set[str]:
        """What an answer says is missing."""
        return {each.part for each in (await self.assemble()).degraded}

    async def until_ready(self, service: Service, wanted: str) -> None:
        """Wait until a service says this of itself."""
        address = str(self.product.processes[service.value]["address"])
        async with asyncio.timeout(PATIENCE_S):
            while await asyncio.to_thread(check, service, address) != wanted:  # noqa: ASYNC110 - the state is another process's
                await asyncio.sleep(0.05)


async def in_time(call: Awaitable[Any]) -> Any:
    """Await a call's answer or its error, which comes by the deadline."""
    started = time.monotonic()
    try:
        return await call
    finally:
        assert time.monotonic() - started < DEADLINE_S + LATE_S


async def failure(call: Awaitable[Any]) -> tuple[grpc.StatusCode, str]:
    """What a call failed with, in time: its code and reason."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await in_time(call)
    fault = read(caught.value)
    return fault.code, fault.reason


def sections(answer: pb.AssembleResponse) -> set[str]:
    """Which of the sections a prompt has."""
    return {name for name in SECTIONS if f"<{name}" in answer.prompt}


@pytest.fixture
async def turn(on_servers: Product) -> AsyncIterator[Turn]:
    """Calls to the product on servers, all of which work."""
    async with calls(on_servers) as turn:
        await turn.until_whole()
        yield turn
        for rig in on_servers.rigs.values():
            rig.begin(Mode.PASS)
        await turn.until_whole()


@asynccontextmanager
async def calls(product: Product) -> AsyncIterator[Turn]:
    """Open a channel to each service."""
    at = {name: str(each["address"]) for name, each in product.processes.items()}
    async with (
        grpc.aio.insecure_channel(at["retrieval"]) as first,
        grpc.aio.insecure_channel(at["curation"]) as second,
        grpc.aio.insecure_channel(at["assembler"]) as third,
    ):
        yield Turn(
            product,
            retrieval_rpc.RetrievalServiceStub(first),
            curation_rpc.CurationServiceStub(second),
            rpc.AssemblerServiceStub(third),
        )


@pytest.mark.parametrize(("loss", "fault"), ROWS)
async def test_what_is_lost_is_named_and_the_rest_comes(turn: Turn, loss: str, fault: str) -> None:
    """Inside the deadline; with all sources required there is an error; whole again soon after."""
    row, how = LOSSES[loss], FAULTS[fault]
    with ExitStack() as faults:
        for each in row.rigs:
            rig = turn.product.rigs[each]
            faults.enter_context(rig.faulty(how.mode, after_bytes=how.after_bytes))
        for _ in range(2):
            answer = await turn.assemble()
            assert {each.part for each in answer.degraded} == row.missing
            assert sections(answer) == row.sections
        if loss != "record":
            code, reason = await failure(turn.assemble(require_all_sources=True))
            assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "ALL_SOURCES_FAILED")
    await turn.until_whole()


async def test_retrieval_without_engines_says_so(turn: Turn) -> None:
    """Candidates are an error, while reads of the record answer and writes are taken."""
    with (
        turn.product.rigs["vector"].faulty(Mode.REFUSE),
        turn.product.rigs["keyword"].faulty(Mode.HANG),
    ):
        assert await failure(candidates(turn)) == (
            grpc.StatusCode.UNAVAILABLE,
            "ALL_SOURCES_FAILED",
        )
        written = f"written-{uuid.uuid4().hex}"
        await upsert(turn, written, uuid.uuid4().hex, DEADLINE_S)
        assert (await get(turn, written, DEADLINE_S)).id == written


@pytest.mark.parametrize("fault", FAULTS)
async def test_without_the_record_retrieval_fails_in_time_and_writes_nothing_half(
    turn: Turn, fault: str
) -> None:
    """It says that it is not ready; a write that failed is done once when it is repeated."""
    how, rig = FAULTS[fault], turn.product.rigs["record"]
    written, request_id = f"written-{uuid.uuid4().hex}", str(uuid.uuid4())
    with rig.faulty(how.mode, after_bytes=how.after_bytes):
        failures = await asyncio.gather(
            failure(get(turn, written, DEADLINE_S)),
            failure(candidates(turn)),
            failure(upsert(turn, written, request_id, DEADLINE_S)),
        )
        assert set(failures) <= OF_RECORD.get(fault, {GONE})
        await turn.until_ready(Service.RETRIEVAL, "NOT_SERVING")
        answer = await turn.assemble()
        assert {each.part for each in answer.degraded} == {"retrieval"}
        assert sections(answer) == UNASKED
    await turn.until_whole()
    await turn.until_ready(Service.RETRIEVAL, "SERVING")
    stored = await upsert(turn, written, request_id, PATIENCE_S)
    assert (await get(turn, written, PATIENCE_S)) == stored
    # One write made it, however often it was sent.
    assert stored.etag == "1"
    await until_found(turn, stored)


async def test_without_metadata_memory_comes_and_curation_is_not_ready(turn: Turn) -> None:
    """Pins come while curation says that it is ready, and are named when it is not."""
    with turn.product.rigs["metadata"].faulty(Mode.RESET):
        request = curation_pb.OpenSessionRequest(scope=curation_pb.Scope())
        call = turn.curation.OpenSession(request, timeout=DEADLINE_S, metadata=AS_ANA)
        assert await failure(call) == (grpc.StatusCode.UNAVAILABLE, "STORAGE_UNAVAILABLE")
        await turn.until_ready(Service.CURATION, "NOT_SERVING")
        async with asyncio.timeout(2 * BACK_S):
            while not (answer := await turn.assemble()).degraded:
                assert sections(answer) == SECTIONS
        assert {each.part for each in answer.degraded} == {"curation"}
        assert sections(answer) == {"facts"}
    await turn.until_whole()
    await turn.until_ready(Service.CURATION, "SERVING")


def candidates(turn: Turn) -> Any:
    """Ask for candidates."""
    request = retrieval_pb.RetrieveCandidatesRequest(query=QUERY, layers=[entry_pb2.LAYER_MEMORY])
    return turn.retrieval.RetrieveCandidates(request, timeout=DEADLINE_S, metadata=AS_ANA)


async def upsert(turn: Turn, entry_id: str, request_id: str, seconds: float) -> entry_pb2.Entry:
    """Write an entry of Ana's, whose one word is its id."""
    entry = entry_pb2.Entry(
        id=entry_id, layer=entry_pb2.LAYER_EPISODE, owner=ANA, text=entry_id.replace("-", "")
    )
    request = retrieval_pb.UpsertEntryRequest(entry=entry, request_id=request_id)
    call = turn.retrieval.UpsertEntry(request, timeout=seconds, metadata=AS_ANA)
    return (await call).entry  # type: ignore[no-any-return]  # the stub's


async def get(turn: Turn, entry_id: str, seconds: float) -> entry_pb2.Entry:
    """Read an entry."""
    request = retrieval_pb.GetEntryRequest(id=entry_id)
    call = turn.retrieval.GetEntry(request, timeout=seconds, metadata=AS_ANA)
    return (await call).entry  # type: ignore[no-any-return]  # the stub's


async def until_found(turn: Turn, stored: entry_pb2.Entry) -> None:
    """Wait until the word finds the entry, and it alone."""
    request = retrieval_pb.SearchEntriesRequest(
        query=stored.text, source=entry_pb2.SOURCE_KEYWORD, layers=[entry_pb2.LAYER_EPISODE]
    )
    async with asyncio.timeout(PATIENCE_S):
        while True:
            answer = await turn.retrieval.SearchEntries(
                request, timeout=PATIENCE_S, metadata=AS_ANA
            )
            if found := [each.entry.id for each in answer.candidates]:
                assert found == [stored.id]
                return
            await asyncio.sleep(0.05)
