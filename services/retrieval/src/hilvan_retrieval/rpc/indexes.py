"""The part of `RetrievalService` that looks after the indexes."""

from collections.abc import AsyncIterator, Sequence

from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_kit.auth import Role
from hilvan_kit.guards import principal
from hilvan_retrieval.model.entry import BUCKETS
from hilvan_retrieval.model.generation import GenerationState
from hilvan_retrieval.model.index import Source
from hilvan_retrieval.model.outbox import ParkedRow
from hilvan_retrieval.rpc import codec, validation
from hilvan_retrieval.rpc.numbers import SOURCE_NUMBERS, SOURCES
from hilvan_retrieval.rpc.uses import Context, Methods, service_tenant
from hilvan_retrieval.usecases.candidate import PartStatus
from hilvan_retrieval.usecases.entry_read import OpenedState
from hilvan_retrieval.usecases.index import Checked, CheckedBucket

PARKED_SHOWN = 100
"""Parked writes of one index that are told."""

_STATES = {
    GenerationState.BUILDING: pb.GENERATION_STATE_BUILDING,
    GenerationState.LIVE: pb.GENERATION_STATE_LIVE,
    GenerationState.RETIRED: pb.GENERATION_STATE_RETIRED,
}


class IndexMethods(Methods):
    """What looks after the indexes."""

    async def GetIndexState(
        self, request: pb.GetIndexStateRequest, context: Context
    ) -> pb.GetIndexStateResponse:
        """See the proto."""
        reader = self._uses.reader
        return pb.GetIndexStateResponse(
            indexes=await self._index_states(),
            entry_count=await reader.count(principal()),
            embedding_model=reader.model.id,
            embedding_dimensions=reader.model.dimensions,
            read_time=codec.stamp(self._uses.now()),
        )

    async def Reindex(self, request: pb.ReindexRequest, context: Context) -> pb.ReindexResponse:
        """See the proto."""
        service_tenant()
        validation.checked(request)
        indexes = self._uses.indexes
        step = {
            pb.REINDEX_STEP_BEGIN: indexes.begin,
            pb.REINDEX_STEP_SWITCH: indexes.switch,
            pb.REINDEX_STEP_ROLL_BACK: indexes.roll_back,
            pb.REINDEX_STEP_DROP: indexes.drop,
        }[request.step]
        for source in [SOURCES[each] for each in request.sources] or list(Source):
            await step(source)
        return pb.ReindexResponse(indexes=await self._index_states())

    async def CheckIndexes(
        self, request: pb.CheckIndexesRequest, context: Context
    ) -> AsyncIterator[pb.CheckIndexesResponse]:
        """See the proto."""
        service_tenant()
        async for bucket in self._uses.checker.check(repair=request.repair):
            yield _bucket_message(bucket)

    async def _index_states(self) -> list[pb.IndexState]:
        who, reader = principal(), self._uses.reader
        parked = await reader.parked(PARKED_SHOWN) if who.role is Role.SERVICE else []
        return [
            _index_message(
                each,
                [
                    row
                    for generation, row in parked
                    if generation.feed == each.generation.feed and row.tenant == who.tenant
                ],
            )
            for each in await reader.index_states()
        ]


def _index_message(opened: OpenedState, parked: Sequence[ParkedRow]) -> pb.IndexState:
    generation, state, counts = opened.generation, opened.state, opened.counts
    message = pb.IndexState(
        source=SOURCE_NUMBERS[generation.source],
        engine=state.engine if state else generation.engine,
        status=codec.STATUSES[PartStatus.OK if state else PartStatus.UNAVAILABLE],
        document_count=state.document_count if state else 0,
        pending_count=counts.pending,
        parked_count=counts.parked,
        generation=generation.number,
        state=_STATES[generation.state],
        recipe=generation.recipe,
        filled_share=generation.filled / len(BUCKETS),
        parked=[
            pb.ParkedWrite(entry_id=row.entry_id, attempt_count=row.attempts, error=row.error)
            for row in parked
        ],
    )
    if counts.oldest_us is not None:
        message.oldest_pending_time.FromMicroseconds(counts.oldest_us)
    return message


def _bucket_message(bucket: CheckedBucket) -> pb.CheckIndexesResponse:
    return pb.CheckIndexesResponse(
        checked_share=bucket.number / len(BUCKETS),
        entry_count=bucket.entry_count,
        differences=[
            _difference_message(each)
            for each in bucket.indexes
            if each.difference is not None and (each.difference.uids or each.parked)
        ],
        unavailable_sources=sorted(
            {
                SOURCE_NUMBERS[each.generation.source]
                for each in bucket.indexes
                if each.difference is None
            }
        ),
    )


def _difference_message(checked: Checked) -> pb.IndexDifference:
    difference = checked.difference
    if difference is None:
        raise LookupError("an index that does not answer has no differences")
    return pb.IndexDifference(
        source=SOURCE_NUMBERS[checked.generation.source],
        generation=checked.generation.number,
        missing_count=len(difference.missing),
        stale_count=len(difference.stale),
        ghost_count=len(difference.ghosts),
        parked_count=checked.parked,
    )
