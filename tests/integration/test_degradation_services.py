"""The assembler with a service behind the fault rig: what is missing is said, the rest comes."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from support.assembler.doubles import turn as call
from support.assembler.values import AS_OF
from support.engines.degradation import BACK_S, FAULTS
from support.engines.fault_proxy import FaultProxy, Mode

from hilvan.common.v1 import entry_pb2
from hilvan.curation.v1 import curation_service_pb2 as curation_pb
from hilvan.curation.v1 import curation_service_pb2_grpc as curation_rpc
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as rpc
from hilvan_assembler.adapters.contradiction import evidence_judge
from hilvan_assembler.adapters.services.curation import GrpcCuration
from hilvan_assembler.adapters.services.retrieval import GrpcRetrieval
from hilvan_assembler.composition import compose
from hilvan_assembler.errors import SourcesFailed
from hilvan_assembler.ports import Ports
from hilvan_assembler.usecases import UseCases
from hilvan_assembler.usecases.assembly import Assembled
from hilvan_kit.breaker import FAILURES_IN_A_ROW
from hilvan_kit.channels import open_channel
from hilvan_kit.deadlines import Deadline
from hilvan_kit.failures import Failure, abort
from hilvan_kit.tokens import Tokenizers

DEADLINE_S = 0.4
HEALTHY_S = 20.0
CALLS = 8
SERVICES = {"retrieval": {"block", "pin"}, "curation": {"m1"}}
"""What a prompt still has without each of them."""

ALL = {"block", "pin", "m1"}
NAN = float("nan")


class Retrieval:
    """Has one memory, until its engines are gone."""

    def __init__(self) -> None:
        self.has_engines = True

    async def candidates(self, request: Any, context: Any) -> Any:
        """The memory, or the error of a fan-out without any source."""
        del request
        if not self.has_engines:
            why = Failure(grpc.StatusCode.UNAVAILABLE, "ALL_SOURCES_FAILED", "no source")
            await abort(context, why, "retrieval.hilvan")
        owner = entry_pb2.Owner(axis=entry_pb2.AXIS_USER, id="ana")
        columns = pb.CandidateColumns(
            id=["m1"], layer=[entry_pb2.LAYER_MEMORY], owners=[owner], owner_index=[0],
            category=[""], title=[""], text=["Ana drinks tea"], importance=[NAN],
            confidence=[NAN], access_count=[0], reinforcement_count=[0], create_micros=[0],
            update_micros=[0], last_access_micros=[-1], superseded_by=[""], content_hash=["h"],
            version=[1], origin_kind=[""], origin_uri=[""], origin_thread=[""],
            origin_position=[-1], cosine=[0.9], similarity=[0.9], vector_rank=[1], bm25=[NAN],
            keyword_rank=[0], muted=[False],
        )  # fmt: skip
        age = Duration(seconds=1)  # curation confirmed the mutes just now
        return pb.RetrieveCandidatesResponse(columns=columns, mutes_age_duration=age)


class Curation:
    """Has one pin and one block."""

    async def resolve(self, request: Any, context: Any) -> Any:
        """Both."""
        del request, context
        pin = curation_pb.Element(
            kind=curation_pb.ELEMENT_KIND_PIN,
            note_id="pin",
            text="the plan",
            verdict=curation_pb.VERDICT_LOADED,
        )
        soul = curation_pb.IDENTITY_GROUP_SOUL
        block = curation_pb.IdentityBlock(id="block", group=soul, text="be kind", active=True)
        return curation_pb.ResolveScopeResponse(elements=[pin], identity=[block])


@dataclass(frozen=True, slots=True)
class Turn:
    """An assembler whose two services are each behind a rig."""

    use_cases: UseCases
    retrieval: Retrieval
    rigs: dict[str, FaultProxy]

    async def assemble(
        self, seconds: float = DEADLINE_S, *, require_all_sources: bool = False
    ) -> Assembled:
        """One turn for ana."""
        return await self.use_cases.assembler.assemble(
            call(seconds=seconds, preview=True, require_all_sources=require_all_sources)
        )

    async def until_whole(self) -> None:
        """Assemble until nothing is missing."""
        while (await self.assemble()).degraded:  # noqa: ASYNC110 - asking is the point
            await asyncio.sleep(0.01)


@asynccontextmanager
async def behind(add: Any, servicer: type, **methods: Any) -> AsyncIterator[FaultProxy]:
    """Serve these methods behind a rig."""
    server = grpc.aio.server()
    add(type("Servicer", (servicer,), methods)(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with FaultProxy(f"127.0.0.1:{port}") as proxy:
            yield proxy
    finally:
        await server.stop(0)


@pytest.fixture
async def turn() -> AsyncIterator[Turn]:
    """An assembler over real channels, with nothing missing."""
    known, scope = Retrieval(), Curation()
    async with (
        behind(
            rpc.add_RetrievalServiceServicer_to_server,
            rpc.RetrievalServiceServicer,
            RetrieveCandidates=known.candidates,
        ) as first,
        behind(
            curation_rpc.add_CurationServiceServicer_to_server,
            curation_rpc.CurationServiceServicer,
            ResolveScope=scope.resolve,
        ) as second,
    ):
        retrieval = GrpcRetrieval(open_channel(first.address))
        curation = GrpcCuration(open_channel(second.address))
        ports = Ports(retrieval, curation, evidence_judge, Tokenizers())
        use_cases = compose(ports, lambda: AS_OF)
        turn = Turn(use_cases, known, {"retrieval": first, "curation": second})
        await turn.until_whole()
        yield turn
        await use_cases.close()
        await retrieval.close()
        await curation.close()


def ids(found: Assembled) -> set[str]:
    """What is in the prompt."""
    return {each.id for each in found.assembly.items}


def missing(found: Assembled) -> dict[str, str]:
    """What is not, and why."""
    return {each.part: each.status.value for each in found.degraded}


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_lost_service_is_named_and_the_rest_comes(
    turn: Turn, service: str, fault: str
) -> None:
    """In time while it is asked; as before, without asking, once it is not; whole soon after."""
    rig = turn.rigs[service]
    rig.after_bytes = FAULTS[fault].after_bytes
    rig.mode = FAULTS[fault].mode
    statuses, left = [], []
    for _ in range(CALLS):
        deadline = Deadline.after(DEADLINE_S)
        found = await turn.assemble()
        assert (ids(found), set(missing(found))) == (SERVICES[service], {service})
        statuses.append(missing(found)[service])
        left.append(deadline.remaining())
    assert set(statuses) <= {"timeout", "unavailable"}
    # One of them may have been the call that tries it again.
    assert max(left[FAILURES_IN_A_ROW:]) > DEADLINE_S / 2
    if fault in {"hang", "refuse"}:
        assert set(statuses) == {"timeout" if fault == "hang" else "unavailable"}
    rig.mode = Mode.PASS
    async with asyncio.timeout(2 * BACK_S):  # a busy machine is given twice the target
        await turn.until_whole()
    assert ids(await turn.assemble(HEALTHY_S)) == ALL


async def test_without_engines_identity_and_pins_come(turn: Turn) -> None:
    """Both sources are named; retrieval itself answers, so it is asked again and again."""
    turn.retrieval.has_engines = False
    for _ in range(CALLS):
        found = await turn.assemble(HEALTHY_S)
        assert ids(found) == {"block", "pin"}
        assert missing(found) == {"vector": "unavailable", "keyword": "unavailable"}
    turn.retrieval.has_engines = True
    assert ids(await turn.assemble(HEALTHY_S)) == ALL


async def test_without_both_services_there_is_an_empty_prompt(turn: Turn) -> None:
    """It says so of both."""
    for rig in turn.rigs.values():
        rig.mode = Mode.REFUSE
    for _ in range(CALLS):
        found = await turn.assemble(HEALTHY_S)
        assert ids(found) == set()
        assert missing(found) == {"retrieval": "unavailable", "curation": "unavailable"}


async def test_all_sources_can_be_required_while_retrieval_is_not_asked(turn: Turn) -> None:
    """The error comes long before the deadline."""
    turn.rigs["retrieval"].mode = Mode.HANG
    for _ in range(CALLS):
        await turn.assemble()
    started = time.monotonic()
    with pytest.raises(SourcesFailed):
        await turn.assemble(HEALTHY_S, require_all_sources=True)
    assert time.monotonic() - started < HEALTHY_S / 2
