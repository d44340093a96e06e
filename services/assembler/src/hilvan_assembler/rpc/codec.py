"""From the model to messages."""

from collections.abc import Iterable, Mapping

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.common.v1 import report_pb2
from hilvan_assembler.core.score import WEIGHTS
from hilvan_assembler.core.snippet import snippet
from hilvan_assembler.model.assembly import Decision, Item, RenderedSection
from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.ranking import RankedCandidate, Signals
from hilvan_assembler.model.session import ProjectStart, Start
from hilvan_assembler.rpc import names
from hilvan_assembler.rpc.messages import (
    category_message,
    duration,
    element_message,
    entry_message,
    note_delta_message,
    origin_message,
    owner_message,
    project_message,
    stamp,
)
from hilvan_assembler.usecases.assembly import Assembled
from hilvan_assembler.usecases.recall import Recalled
from hilvan_assembler.usecases.search import Searched
from hilvan_assembler.usecases.turn import Turn

_MISSING = {
    "vector": "hits by meaning",
    "keyword": "hits by words",
    "retrieval": "everything from the memory store",
    "curation": "identity, pins and sets",
    "mutes": "entries that may be muted",
}


def assembled(value: Assembled, turn: Turn) -> pb.AssembleResponse:
    """The prompt of a turn."""
    assembly = value.assembly
    searched = not value.query_empty
    return pb.AssembleResponse(
        prompt=assembly.prompt,
        token_count=assembly.token_count,
        sections=[_section(each) for each in assembly.sections],
        items=[_item(each) for each in assembly.items],
        decisions=[_decision(each) for each in assembly.decisions],
        weights=_weights() if turn.is_explained else None,
        degraded=degraded(value.degraded),
        warnings=[
            pb.Warning(code=each.code, description=each.description, id=each.id)
            for each in assembly.notices
        ],
        timings=timings(value.timings),
        query_empty=value.query_empty,
        no_relevant_memory=searched and assembly.no_relevant_memory,
        tokenizer=turn.tokenizer.name,
        as_of_time=stamp(turn.options.as_of),
    )


def recalled(value: Recalled) -> pb.RecallResponse:
    """A bundle of passages."""
    return pb.RecallResponse(
        bundle=value.bundle.text,
        token_count=value.bundle.token_count,
        passages=[_passage(one, tokens) for one, tokens in value.bundle.passages],
        decisions=[_decision(decision) for decision in value.decisions],
        degraded=degraded(value.degraded),
        no_relevant_memory=value.no_relevant_memory,
        timings=timings(value.timings),
    )


def searched(value: Searched, query: str) -> pb.SearchResponse:
    """Ranked hits, each with the part of its text that the query is about."""
    return pb.SearchResponse(
        hits=[
            pb.Hit(
                entry=entry_message(hit.candidate),
                relevance=hit.relevance,
                snippet=snippet(hit.candidate.text, query),
                similarity=hit.candidate.similarity,
                bm25=hit.candidate.bm25,
                muted=hit.candidate.muted,
            )
            for hit in value.hits
        ],
        degraded=degraded(value.degraded),
        timings=timings(value.timings),
    )


def started(value: Start, *, bodies: bool) -> pb.StartSessionResponse:
    """What a session begins with; texts of notes only with ``bodies``."""
    return pb.StartSessionResponse(
        session_id=value.session_id,
        profile=pb.Profile(
            memory=[category_message(category) for category in value.categories],
            always_load=[
                element_message(element, bodies=bodies)
                for element in value.profile
                if not element.is_memory
            ],
        ),
        projects=[project_message(project) for project in value.projects],
        project=_project_brief(value.project, bodies=bodies) if value.project else None,
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
        report_pb2.StageTiming(stage=stage, elapsed_duration=duration(value))
        for stage, value in seconds.items()
    ]


def _project_brief(value: ProjectStart, *, bodies: bool) -> pb.ProjectBrief:
    opening = value.opening
    return pb.ProjectBrief(
        note_count=opening.note_count,
        folders=opening.folders,
        always_load=[element_message(element, bodies=bodies) for element in value.elements],
        since_time=None if opening.since is None else stamp(opening.since),
        changed_notes=[note_delta_message(delta) for delta in opening.changed_notes],
        changed_entries=[entry_message(entry) for entry in value.changed_entries],
        categories=value.categories,
        tags=opening.tags,
    )


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


def _passage(one: RankedCandidate, tokens: int) -> pb.Passage:
    candidate = one.candidate
    return pb.Passage(
        id=candidate.id,
        layer=names.LAYER_NUMBERS[candidate.layer],
        title=candidate.title,
        text=candidate.text,
        owner=owner_message(candidate.owner),
        origin=origin_message(candidate.origin),
        score=one.score,
        token_count=tokens,
    )
