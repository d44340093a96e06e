"""`Retrieval` over gRPC."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from hilvan.common.v1 import entry_pb2, report_pb2
from hilvan.retrieval.v1 import error_reason_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as rpc
from hilvan.retrieval.v1.error_reason_pb2 import ErrorReason
from hilvan_assembler.adapters.services.call import Known, Service, reason_name
from hilvan_assembler.adapters.services.candidate_columns import (
    AXIS_NAMES,
    LAYERS,
    candidates,
    entry,
)
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
from hilvan_assembler.model.entry import Entry
from hilvan_assembler.model.kind import PartStatus, Source
from hilvan_assembler.model.turn import Caller
from hilvan_kit.deadlines import Deadline

MAX_PROJECT_ENTRIES = 1_000
MAX_EVIDENCE_CHARACTERS = 512
RECORD_SECONDS = 5.0

_LAYERS = {layer: number for number, layer in LAYERS.items()}
_SOURCES = {Source.VECTOR: entry_pb2.SOURCE_VECTOR, Source.KEYWORD: entry_pb2.SOURCE_KEYWORD}
_SOURCE_NAMES = {number: source for source, number in _SOURCES.items()}
_AXES = {name: number for number, name in AXIS_NAMES.items()}
_LOST = {
    report_pb2.PART_STATUS_TIMEOUT: PartStatus.TIMEOUT,
    report_pb2.PART_STATUS_UNAVAILABLE: PartStatus.UNAVAILABLE,
}


_SOURCES_FAILED: Known = {
    reason_name(ErrorReason.Name(error_reason_pb2.ERROR_REASON_ALL_SOURCES_FAILED)): SourcesFailed
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
            self._stub.RetrieveCandidates, message, caller, deadline, _SOURCES_FAILED
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

    async def project_entries(
        self, caller: Caller, project_id: str, deadline: Deadline
    ) -> Sequence[Entry]:
        """The project's entries, newest update first."""
        request = pb.ListEntriesRequest(
            owners=[_owner(f"project:{project_id}")], page_size=MAX_PROJECT_ENTRIES
        )
        answer = await self._service.call(self._stub.ListEntries, request, caller, deadline)
        return [entry(message) for message in answer.entries]

    async def record_accesses(self, caller: Caller, ids: Sequence[str]) -> None:
        """Count that entries were loaded."""
        request = pb.RecordAccessesRequest(ids=ids)
        deadline = Deadline.after(RECORD_SECONDS)
        await self._service.call(self._stub.RecordAccesses, request, caller, deadline)

    async def record_contradictions(
        self, caller: Caller, contradictions: Sequence[FoundContradiction]
    ) -> None:
        """Note what contradicts each other."""
        request = pb.RecordConflictsRequest(
            conflicts=[
                pb.Conflict(
                    older_id=found.older_id,
                    newer_id=found.newer_id,
                    evidence=found.evidence[:MAX_EVIDENCE_CHARACTERS],
                )
                for found in contradictions
            ]
        )
        deadline = Deadline.after(RECORD_SECONDS)
        await self._service.call(self._stub.RecordConflicts, request, caller, deadline)

    async def close(self) -> None:
        """Close the channel."""
        await self._service.close()
        await self._channel.close()


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


def _stamp(time: datetime | None) -> Timestamp | None:
    if time is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(time)
    return stamp


def _seconds(duration: Duration) -> float:
    return float(duration.seconds) + float(duration.nanos) / 1e9
