"""Says why each candidate is in or out. Never looked at by what decides."""

from collections.abc import Iterator, Mapping, Sequence

from hilvan_assembler.core.budget import Packed
from hilvan_assembler.core.prune import Verdict, order
from hilvan_assembler.core.ranking import Ranking, section_of
from hilvan_assembler.core.recall import Bundle
from hilvan_assembler.model.assembly import Decision, Notice
from hilvan_assembler.model.curation import Curated
from hilvan_assembler.model.kind import Layer, Reason, Section
from hilvan_assembler.model.options import Options


def decisions(
    ranking: Ranking,
    curated: Curated,
    chosen: Mapping[Section, Sequence[int]],
    packed: Mapping[Section, Packed],
    options: Options,
) -> tuple[Decision, ...]:
    """One decision for each identity block, pinned note and candidate."""
    told = _fixed(curated, packed, options)
    outcome: dict[int, tuple[Reason, int]] = {}
    for section, indexes in chosen.items():
        each = packed[section]
        for position, index in enumerate(indexes):
            reason = each.left_out.get(position, Reason.RENDERED)
            outcome[index] = (reason, each.tokens[position])
    return (*told, *_candidate_decisions(ranking, outcome))


def recall_decisions(ranking: Ranking, packed: Bundle) -> tuple[Decision, ...]:
    """One decision for each candidate of a recall."""
    outcome = {index: (Reason.RENDERED, tokens) for index, tokens in packed.passages}
    return tuple(_candidate_decisions(ranking, outcome))


def _candidate_decisions(
    ranking: Ranking, outcome: Mapping[int, tuple[Reason, int]]
) -> Iterator[Decision]:
    before = _layer_ranks(ranking, order(ranking.candidates, ranking.relevance))
    after = _layer_ranks(ranking, ranking.ranked)
    for index, candidate in enumerate(ranking.candidates):
        reason, tokens = outcome.get(index, (Reason.RENDERED, 0))
        verdict = ranking.verdicts.get(index, Verdict(reason))
        yield Decision(
            id=candidate.id,
            section=section_of(candidate),
            reason=verdict.reason,
            other_id=verdict.other_id,
            detail=verdict.detail,
            signals=ranking.signals[index],
            score=ranking.scores[index],
            rank_before=before[index],
            rank_after=after.get(index),
            token_count=tokens,
            candidate=candidate,
        )


def _fixed(curated: Curated, packed: Mapping[Section, Packed], options: Options) -> list[Decision]:
    """Decisions about identity blocks and pinned notes, in their order."""
    fixed: tuple[tuple[Section, list[tuple[str, Reason | None]]], ...] = (
        (
            Section.IDENTITY,
            [(b.id, None if b.active else Reason.INACTIVE) for b in curated.identity],
        ),
        (Section.PINNED, [(p.id, None if p.loaded else p.reason) for p in curated.pins]),
    )
    told: list[Decision] = []
    for section, elements in fixed:
        each = packed[section]
        position = 0
        for element_id, out in elements:
            if out is None and section in options.sections:
                reason = each.left_out.get(position, Reason.RENDERED)
                tokens = each.tokens.get(position, 0)
                told.append(Decision(element_id, section, reason, token_count=tokens))
                position += 1
            else:
                told.append(Decision(element_id, section, out or Reason.SECTION_OFF))
    return told


def _layer_ranks(ranking: Ranking, indexes: Sequence[int]) -> dict[int, int]:
    """The rank from 1 of each index among those of its layer."""
    seen: dict[Layer, int] = {}
    ranks: dict[int, int] = {}
    for index in indexes:
        layer = ranking.candidates[index].layer
        seen[layer] = ranks[index] = seen.get(layer, 0) + 1
    return ranks


def notices(curated: Curated, packed: Mapping[Section, Packed]) -> tuple[Notice, ...]:
    """What people pinned or wrote and did not get, for them to mend."""
    told = []
    for position, reason in sorted(packed[Section.PINNED].left_out.items()):
        pin = curated.loaded_pins[position]
        text = f"the pinned note {pin.title!r} is left out: {reason.value}"
        told.append(Notice("pin_over_budget", text, pin.id))
    for position, reason in sorted(packed[Section.IDENTITY].left_out.items()):
        block = curated.active_identity[position]
        text = f"the identity block {block.kind!r} is left out: {reason.value}"
        told.append(Notice("identity_over_budget", text, block.id))
    return tuple(told)
