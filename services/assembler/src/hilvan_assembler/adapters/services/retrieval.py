"""`Retrieval` over gRPC."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from hilvan.common.v1 import entry_pb2, report_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as rpc
from hilvan_assembler.adapters.services.call import Service
from hilvan_assembler.adapters.services.candidate_columns import AXIS_NAMES, LAYERS, candidates
from hilvan_assembler.errors import SourcesFailed
from hilvan_assembler.model.candidate import (
    CandidateRequest,
    ListReport,
    Pair,
    RetrievalAnswer,
    Retrieved,
)
from hilvan_assembler.model.contradiction import FoundContradiction
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.kind import PartStatus, Source
from hilvan_assembler.model.session import Changed
from hilvan_assembler.model.turn import Caller
from hilvan_kit.deadlines import Deadline

CHANGED_MOST = 1_000
RECORD_SECONDS = 5.0
EVIDENCE_MOST = 512

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_LAYERS = {layer: number for number, layer in LAYERS.items()}
_SOURCES = {Source.VECTOR: entry_pb2.SOURCE_VECTOR, Source.KEYWORD: entry_pb2.SOURCE_KEYWORD}
_SOURCE_NAMES = {number: source for source, number in _SOURCES.items()}
_AXES = {name: number for number, name in AXIS_NAMES.items()}
_LOST = {
    report_pb2.PART_STATUS_TIMEOUT: PartStatus.TIMEOUT,
    report_pb2.PART_STATUS_UNAVAILABLE: PartStatus.UNAVAILABLE,
}


class GrpcRetrieval:
    """Asks retrieval, with the caller's own credential."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Take a channel over; `close` closes it."""
        self._channel = channel
        self._service = Service("retrieval")
        self._stub: Any = rpc.RetrievalServiceStub(channel)

    async def candidates(
        self, caller: Caller, request: CandidateRequest, deadline: Deadline
    ) -> RetrievalAnswer:
        """Candidates of both sources."""
        message = pb.RetrieveCandidatesRequest(
            query=request.query,
            layers=[_LAYERS[each] for each in request.layers],
            owners=[_owner(each) for each in request.owners or ()],
            candidate_limit=request.limit,
            as_of_time=_stamp(request.as_of),
            sources=[_SOURCES[each] for each in request.sources],
            include_muted=request.include_muted,
            pair_similarity_floor=request.pair_similarity_floor,
            require_all_sources=request.require_all_sources,
            form=pb.CANDIDATE_FORM_COLUMNS,
        )
        answer = await self._service.call(
            self._stub.RetrieveCandidates, message, caller, deadline, _sources_failed
        )
        return RetrievalAnswer(
            _retrieved(answer),
            tuple(
                Degradation(_SOURCE_NAMES[each.source].value, _LOST[each.status])
                for each in answer.sources
                if each.status in _LOST
            ),
            {each.stage: _seconds(each.elapsed_duration) for each in answer.timings},
            _seconds(answer.mutes_age_duration) if answer.HasField("mutes_age_duration") else None,
        )

    async def changed(
        self, caller: Caller, project_id: str, deadline: Deadline
    ) -> Sequence[Changed]:
        """The project's entries, newest update first."""
        request = pb.ListEntriesRequest(
            owners=[_owner(f"project:{project_id}")], page_size=CHANGED_MOST
        )
        answer = await self._service.call(self._stub.ListEntries, request, caller, deadline)
        return [
            Changed(
                category=each.category,
                owner=f"project:{project_id}",
                update_time=_moment(each.update_time),
                is_note=each.layer == entry_pb2.LAYER_NOTE,
                wire=each,
            )
            for each in answer.entries
        ]

    async def record_accesses(self, caller: Caller, ids: Sequence[str]) -> None:
        """Count that entries were loaded."""
        request = pb.RecordAccessesRequest(ids=ids)
        deadline = Deadline.after(RECORD_SECONDS)
        await self._service.call(self._stub.RecordAccesses, request, caller, deadline)

    async def record_conflicts(
        self, caller: Caller, conflicts: Sequence[FoundContradiction]
    ) -> None:
        """Note what contradicts each other."""
        request = pb.RecordConflictsRequest(
            conflicts=[
                pb.Conflict(
                    older_id=each.older_id,
                    newer_id=each.newer_id,
                    evidence=each.evidence[:EVIDENCE_MOST],
                )
                for each in conflicts
            ]
        )
        deadline = Deadline.after(RECORD_SECONDS)
        await self._service.call(self._stub.RecordConflicts, request, caller, deadline)

    async def close(self) -> None:
        """Close the channel."""
        await self._service.close()
        await self._channel.close()


def _sources_failed(error: grpc.aio.AioRpcError) -> Exception | None:
    details = str(error.details() or "")
    # The reason travels in ErrorInfo; its name there is part of the contract.
    marked = any(
        key == "grpc-status-details-bin" and b"ALL_SOURCES_FAILED" in bytes(value)
        for key, value in error.trailing_metadata() or ()
        if isinstance(value, bytes)
    )
    return SourcesFailed(details) if marked else None


def _retrieved(answer: pb.RetrieveCandidatesResponse) -> Retrieved:
    pairs = answer.similar_pairs
    return Retrieved(
        candidates(answer.columns),
        tuple(
            Pair(*columns)
            for columns in zip(pairs.left, pairs.right, pairs.similarity, strict=True)
        ),
        tuple(
            ListReport(
                LAYERS[each.layer],
                _SOURCE_NAMES[each.source],
                each.hit_count,
                each.exhausted,
                each.last_score,
            )
            for each in answer.lists
        ),
    )


def _owner(key: str) -> entry_pb2.Owner:
    axis, _, owner_id = key.partition(":")
    return entry_pb2.Owner(axis=_AXES[axis], id=owner_id)


def _moment(stamp: Timestamp) -> datetime:
    return _EPOCH + timedelta(seconds=stamp.seconds, microseconds=stamp.nanos // 1000)


def _stamp(time: datetime | None) -> Timestamp | None:
    if time is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(time)
    return stamp


def _seconds(duration: Duration) -> float:
    return float(duration.seconds) + float(duration.nanos) / 1e9
