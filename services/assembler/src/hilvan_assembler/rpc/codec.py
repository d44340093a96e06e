"""From the model to messages."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.common.v1 import entry_pb2, report_pb2
from hilvan.curation.v1 import curation_service_pb2 as curation_pb
from hilvan_assembler.core.score import WEIGHTS
from hilvan_assembler.core.snippet import snippet
from hilvan_assembler.model.assembly import Decision, Item, RenderedSection
from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.ranking import Signals
from hilvan_assembler.rpc import names
from hilvan_assembler.usecases.assembly import Assembled, Recalled, Searched
from hilvan_assembler.usecases.session import ProjectStart, Start

_MISSING = {
    "vector": "hits by meaning",
    "keyword": "hits by words",
    "retrieval": "everything from the memory store",
    "curation": "identity, pins and sets",
    "mutes": "entries that may be muted",
}


def assembled(
    value: Assembled, tokenizer: str, as_of: datetime, *, explained: bool
) -> pb.AssembleResponse:
    """A prompt."""
    assembly = value.assembly
    searched = not value.query_empty
    return pb.AssembleResponse(
        prompt=assembly.prompt,
        token_count=assembly.token_count,
        sections=[_section(each) for each in assembly.sections],
        items=[_item(each) for each in assembly.items],
        decisions=[_decision(each) for each in assembly.decisions],
        weights=_weights() if explained else None,
        degraded=degraded(value.degraded),
        warnings=[
            pb.Warning(code=each.code, description=each.description, id=each.id)
            for each in assembly.notices
        ],
        timings=timings(value.timings),
        query_empty=value.query_empty,
        no_relevant_memory=searched and assembly.no_relevant_memory,
        tokenizer=tokenizer,
        as_of_time=_stamp(as_of),
    )


def recalled(value: Recalled) -> pb.RecallResponse:
    """A bundle of passages."""
    ranking = value.ranking
    return pb.RecallResponse(
        bundle=value.bundle.text,
        token_count=value.bundle.token_count,
        passages=[
            _passage(ranking.candidates[index], ranking.scores[index], tokens)
            for index, tokens in value.bundle.passages
        ],
        decisions=[_decision(each) for each in value.decisions],
        degraded=degraded(value.degraded),
        no_relevant_memory=ranking.nothing_relevant,
        timings=timings(value.timings),
    )


def searched(value: Searched, query: str) -> pb.SearchResponse:
    """Ranked hits."""
    return pb.SearchResponse(
        hits=[
            pb.Hit(
                entry=_entry(candidate),
                relevance=relevance,
                snippet=snippet(candidate.text, query),
                similarity=candidate.similarity,
                bm25=candidate.bm25,
                muted=candidate.muted,
            )
            for candidate, relevance in value.hits
        ],
        degraded=degraded(value.degraded),
        timings=timings(value.timings),
    )


def started(value: Start, *, bodies: bool) -> pb.StartSessionResponse:
    """What a session begins with."""
    muted = {name for name, is_muted, _ in value.own.categories if is_muted}
    profile = pb.Profile(
        memory=[_wire(each) for name, _, each in value.own.categories if name not in muted],
        always_load=[_element(each.wire, bodies) for each in value.profile if not each.is_memory],
    )
    return pb.StartSessionResponse(
        session_id=value.session_id,
        profile=profile,
        projects=[_wire(each) for each in value.own.projects],
        project=_project(value.project, bodies) if value.project else None,
        degraded=degraded(value.degraded),
    )


def degraded(parts: Iterable[Degradation]) -> list[report_pb2.Degradation]:
    """Parts that are missing, each with what the answer lacks."""
    return [
        report_pb2.Degradation(
            part=each.part,
            status=names.STATUSES[each.status],
            description=f"the answer lacks {_MISSING[each.part]}",
        )
        for each in parts
    ]


def timings(seconds: Mapping[str, float]) -> list[report_pb2.StageTiming]:
    """How long each stage took."""
    return [
        report_pb2.StageTiming(stage=stage, elapsed_duration=_duration(value))
        for stage, value in seconds.items()
    ]


def _project(value: ProjectStart, bodies: bool) -> pb.ProjectBrief:  # noqa: FBT001 (the request's own field)
    opening: Any = value.opening.wire
    return pb.ProjectBrief(
        note_count=opening.note_count,
        folders=opening.folders,
        always_load=[_element(each.wire, bodies) for each in value.elements],
        since_time=opening.since_time if opening.HasField("since_time") else None,
        changed_notes=opening.notes,
        changed_entries=[_wire(each.wire) for each in value.news],
        categories=value.categories,
        tags=opening.tags,
    )


def _element(wire: object, bodies: bool) -> curation_pb.Element:  # noqa: FBT001 (the request's own field)
    element = curation_pb.Element()
    element.CopyFrom(_wire(wire))
    if not bodies:
        element.ClearField("text")
    return element


def _wire(value: object) -> Any:
    """A message that was passed through the model untouched."""
    return value


def _entry(candidate: Candidate) -> entry_pb2.Entry:
    entry: entry_pb2.Entry = _wire(candidate.wire).message()
    return entry


def _section(value: RenderedSection) -> pb.RenderedSection:
    return pb.RenderedSection(
        section=names.SECTION_NUMBERS[value.section],
        token_count=value.token_count,
        token_budget=value.token_budget,
        item_count=value.item_count,
        prefix_fingerprint=value.prefix_fingerprint,
        fingerprint=value.fingerprint,
    )


def _item(value: Item) -> pb.Item:
    return pb.Item(
        id=value.id,
        section=names.SECTION_NUMBERS[value.section],
        token_count=value.token_count,
        score=value.score,
        merged_ids=value.merged,
    )


def _decision(value: Decision) -> pb.Decision:
    return pb.Decision(
        id=value.id,
        section=names.SECTION_NUMBERS[value.section],
        reason=names.REASONS[value.reason],
        other_id=value.other_id,
        detail=value.detail,
        signals=_signals(value.signals, value.candidate),
        score=value.score,
        rank_before=value.rank_before,
        rank_after=value.rank_after,
        token_count=value.token_count,
    )


def _signals(value: Signals | None, candidate: Candidate | None) -> pb.Signals | None:
    if value is None or candidate is None:
        return None
    return pb.Signals(
        relevance=value.relevance,
        importance=value.importance,
        confidence=value.confidence,
        recency=value.recency,
        frequency=value.frequency,
        boost=value.boost,
        cosine=candidate.cosine,
        similarity=candidate.similarity,
        bm25=candidate.bm25,
    )


def _weights() -> pb.Weights:
    return pb.Weights(
        relevance=WEIGHTS.relevance,
        importance=WEIGHTS.importance,
        confidence=WEIGHTS.confidence,
        recency=WEIGHTS.recency,
        frequency=WEIGHTS.frequency,
    )


def _passage(candidate: Candidate, score: float, tokens: int) -> pb.Passage:
    entry = _entry(candidate)
    return pb.Passage(
        id=candidate.id,
        layer=names.LAYER_NUMBERS[candidate.layer],
        title=candidate.title,
        text=candidate.text,
        owner=entry.owner,
        origin=entry.origin if entry.HasField("origin") else None,
        score=score,
        token_count=tokens,
    )


def _stamp(time: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(time)
    return stamp


def _duration(seconds: float) -> Duration:
    whole = int(seconds)
    return Duration(seconds=whole, nanos=int((seconds - whole) * 1e9))
