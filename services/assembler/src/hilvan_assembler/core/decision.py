"""Says why each candidate is in or out. Never looked at by what decides."""

from collections.abc import Iterable, Iterator, Mapping

from hilvan_assembler.core.budget import Packed, Placement
from hilvan_assembler.core.order import by_relevance
from hilvan_assembler.core.ranking import Ranking
from hilvan_assembler.core.recall import Bundle
from hilvan_assembler.core.section import section_of
from hilvan_assembler.model.assembly import Decision, Notice
from hilvan_assembler.model.curation import Curated, IdentityBlock, PinnedNote
from hilvan_assembler.model.kind import Layer, Reason, Section
from hilvan_assembler.model.options import Options
from hilvan_assembler.model.ranking import RankedCandidate, Verdict


def decisions(
    ranking: Ranking, curated: Curated, packed: Mapping[Section, Packed], options: Options
) -> tuple[Decision, ...]:
    """One decision for each identity block, pinned note and candidate."""
    placements = {
        placement.piece.subject.id: placement
        for section in packed.values()
        for placement in section.placements
        if isinstance(placement.piece.subject, RankedCandidate)
    }
    off = {
        one.id: Verdict(Reason.SECTION_OFF)
        for one in ranking.best_first
        if section_of(one.candidate) not in options.sections
    }
    return (
        *_fixed_decisions(curated, packed, options),
        *_candidate_decisions(ranking, placements, off),
    )


def recall_decisions(ranking: Ranking, bundle: Bundle) -> tuple[Decision, ...]:
    """One decision for each candidate of a recall; tokens of those that are in."""
    placements = {
        placement.piece.subject.id: placement
        if placement.verdict is None
        else Placement(placement.piece, verdict=placement.verdict)
        for placement in bundle.placements
    }
    return tuple(_candidate_decisions(ranking, placements, {}))


def _candidate_decisions(
    ranking: Ranking, placements: Mapping[str, Placement], off: Mapping[str, Verdict]
) -> Iterator[Decision]:
    before = _layer_ranks(by_relevance(ranking.candidates))
    after = _layer_ranks(ranking.best_first)
    for one in ranking.candidates:
        placement = placements.get(one.id)
        verdict = one.verdict or off.get(one.id) or (placement.verdict if placement else None)
        yield Decision(
            id=one.id,
            section=section_of(one.candidate),
            reason=verdict.reason if verdict else Reason.RENDERED,
            other_id=verdict.other_id if verdict else "",
            detail=verdict.detail if verdict else "",
            signals=one.signals,
            score=one.score,
            rank_before=before[one.id],
            rank_after=after.get(one.id),
            token_count=placement.token_count if placement else 0,
            candidate=one.candidate,
        )


def _fixed_decisions(
    curated: Curated, packed: Mapping[Section, Packed], options: Options
) -> Iterator[Decision]:
    """Decisions about identity blocks and pinned notes, in their order."""
    elements: dict[Section, list[tuple[str, Reason | None]]] = {
        Section.IDENTITY: [
            (block.id, None if block.active else Reason.INACTIVE) for block in curated.identity
        ],
        Section.PINNED: [(note.id, None if note.loaded else note.reason) for note in curated.pins],
    }
    for section, known in elements.items():
        placements = iter(packed[section].placements)
        for element_id, out in known:
            if out is not None or section not in options.sections:
                yield Decision(element_id, section, out or Reason.SECTION_OFF)
                continue
            placement = next(placements)
            reason = placement.verdict.reason if placement.verdict else Reason.RENDERED
            yield Decision(element_id, section, reason, token_count=placement.token_count)


def _layer_ranks(ranked: Iterable[RankedCandidate]) -> dict[str, int]:
    """The rank from 1 of each candidate among those of its layer, by id."""
    seen: dict[Layer, int] = {}
    ranks: dict[str, int] = {}
    for one in ranked:
        layer = one.candidate.layer
        seen[layer] = ranks[one.id] = seen.get(layer, 0) + 1
    return ranks


def notices(packed: Mapping[Section, Packed]) -> tuple[Notice, ...]:
    """What people pinned or wrote and did not get, for them to mend."""
    told = []
    for section in (Section.PINNED, Section.IDENTITY):
        for placement in packed[section].placements:
            subject, verdict = placement.piece.subject, placement.verdict
            if verdict is None:
                continue
            if isinstance(subject, PinnedNote):
                text = f"the pinned note {subject.title!r} is left out: {verdict.reason.value}"
                told.append(Notice("pin_over_budget", text, subject.id))
            elif isinstance(subject, IdentityBlock):
                text = f"the identity block {subject.kind!r} is left out: {verdict.reason.value}"
                told.append(Notice("identity_over_budget", text, subject.id))
    return tuple(told)
