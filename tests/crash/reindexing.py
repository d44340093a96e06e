"""A lane of reindex steps: begin, switch, roll back, drop, for either index or both."""

import asyncio
from collections.abc import Iterable

import grpc
from crash.lanes import Lost, Session, generator
from crash.model import Violation, World

from hilvan.common.v1 import entry_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb

SOURCES = (entry_pb2.SOURCE_VECTOR, entry_pb2.SOURCE_KEYWORD)
CAUGHT_UP = 200
STEPS = {
    "begin": pb.REINDEX_STEP_BEGIN,
    "switch": pb.REINDEX_STEP_SWITCH,
    "roll back": pb.REINDEX_STEP_ROLL_BACK,
    "drop": pb.REINDEX_STEP_DROP,
}
States = dict[tuple[int, int], int]


class Reindexer:
    """Takes random steps that the indexes allow, and knows what each left."""

    def __init__(self, world: World, tenant: str, seed: str) -> None:
        """Nothing is known of the indexes yet."""
        self.world = world
        self.tenant = tenant
        self._rng = generator(seed, "reindexer")
        self._known: States | None = None

    async def run(self, session: Session) -> None:
        """Step until the service is dead."""
        while not session.dead.is_set():
            await asyncio.sleep(self._rng.uniform(0.01, 0.2))
            try:
                await self._step(session)
            except Lost:
                continue

    async def finish(self, session: Session) -> None:
        """Nothing is owed: a step that was not answered is asked for again, or not."""

    async def verify(self, session: Session) -> None:
        """After a start, one index of each source answers, and answered steps are not lost."""
        answer = await session.stub(self.tenant).call("GetIndexState", pb.GetIndexStateRequest())
        found = states(answer.indexes)
        for source in SOURCES:
            live = [key for key, state in found.items() if key[0] == source and is_live(state)]
            if len(live) != 1:
                raise Violation(f"not one live index of source {source}: {found}")
        if self._known is not None and found != self._known:
            raise Violation(f"an answered reindex step is lost: {self._known} became {found}")
        self._known = found

    async def _step(self, session: Session) -> None:
        calls = session.stub(self.tenant)
        answer = await calls.call("GetIndexState", pb.GetIndexStateRequest())
        indexes = answer.indexes
        self._known = states(indexes)
        if all(each.filled_share == 1 and not each.pending_count for each in indexes):
            self.world.rebuilding = False
        is_filling = any(each.filled_share < 1 for each in indexes)
        session.active["filling"] = int(is_filling)
        sources = self._rng.choice((SOURCES[:1], SOURCES[1:], SOURCES))
        name = self._choose([each for each in indexes if each.source in sources])
        if not name:
            return
        self._known = None
        if name in ("switch", "roll back"):
            self.world.rebuilding = True
        request = pb.ReindexRequest(step=STEPS[name], sources=sources)
        with session.doing(name):
            try:
                answer = await calls.call("Reindex", request)
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.FAILED_PRECONDITION:
                    raise
                self.world.counts["refused reindex steps"] += 1
                return
        self._known = states(answer.indexes)
        self.world.counts[f"reindex: {name}"] += 1

    def _choose(self, indexes: Iterable[pb.IndexState]) -> str:
        """A step that makes sense, most of the time."""
        building = [each for each in indexes if each.state == pb.GENERATION_STATE_BUILDING]
        retired = [each for each in indexes if each.state == pb.GENERATION_STATE_RETIRED]
        chance = self._rng.random()
        if building:
            if all(e.filled_share == 1 and e.pending_count < CAUGHT_UP for e in building):
                return "switch" if chance < 0.6 else ""
            return "drop" if chance < 0.03 else ""
        if retired:
            for name, share in (("drop", 0.3), ("roll back", 0.4), ("begin", 0.5)):
                if chance < share:
                    return name
            return ""
        return "begin" if chance < 0.4 else ""


def states(indexes: Iterable[pb.IndexState]) -> States:
    """Whether each index answers, is built or kept, by source and number."""
    return {(each.source, each.generation): each.state for each in indexes}


def is_live(state: int) -> bool:
    """Whether an index answers."""
    return state == pb.GENERATION_STATE_LIVE
