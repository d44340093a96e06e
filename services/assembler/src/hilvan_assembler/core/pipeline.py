"""From what was retrieved and curated to a prompt: pure, synchronous, the same every time.

fuse → de-duplicate → prune contradictions → score → budget → render
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence

from hilvan_assembler.core import budget, render
from hilvan_assembler.core.budget import Packed, Piece
from hilvan_assembler.core.decision import decisions, notices
from hilvan_assembler.core.prune import Verdict
from hilvan_assembler.core.ranking import Ranking, rank, section_of
from hilvan_assembler.model.assembly import Assembly, Item, RenderedSection
from hilvan_assembler.model.candidate import Retrieved
from hilvan_assembler.model.curation import Curated
from hilvan_assembler.model.kind import TIER_OF, Reason, Section, Tier
from hilvan_assembler.model.options import Options
from hilvan_assembler.ports.contradiction import ContradictionJudge
from hilvan_assembler.ports.tokenizer import Tokenizer


def assemble(
    retrieved: Retrieved,
    curated: Curated,
    options: Options,
    tokenizer: Tokenizer,
    judge: ContradictionJudge,
    *,
    explain: bool = False,
) -> Assembly:
    """Assemble one prompt. ``explain`` adds the decisions and changes nothing else."""
    ranking = rank(retrieved, curated, options, judge)
    if explain:
        ranking.settle()
    chosen = _by_section(ranking, options)
    packed = _pack_all(ranking, curated, chosen, options, tokenizer)
    whole = sum(options.budgets.values())
    prompt, tokens = budget.fit_sum(list(packed.values()), whole, tokenizer.count)
    return Assembly(
        prompt=prompt,
        token_count=tokens,
        sections=_sections(packed, options),
        items=_items(ranking, curated, chosen, packed),
        decisions=decisions(ranking, curated, chosen, packed, options) if explain else (),
        notices=notices(curated, packed),
        no_relevant_memory=ranking.nothing_relevant,
        conflicts=tuple(ranking.conflicts.found),
    )


def _by_section(ranking: Ranking, options: Options) -> dict[Section, list[int]]:
    """Ranked candidates by section; a section that the request does not want gives verdicts."""
    chosen: dict[Section, list[int]] = {section: [] for section in Section}
    for index in ranking.ranked:
        section = section_of(ranking.candidates[index])
        if section in options.sections:
            chosen[section].append(index)
        else:
            ranking.verdicts[index] = Verdict(Reason.SECTION_OFF)
    return chosen


def _pack_all(
    ranking: Ranking,
    curated: Curated,
    chosen: Mapping[Section, Sequence[int]],
    options: Options,
    tokenizer: Tokenizer,
) -> dict[Section, Packed]:
    before = dict.fromkeys(Tier, "")
    packed: dict[Section, Packed] = {}
    for section in Section:
        wanted = section in options.sections
        indexes = chosen[section]
        tier = TIER_OF[section]
        packed[section] = budget.pack(
            _pieces(section, ranking, curated, indexes, options) if wanted else [],
            (render.opening(section, options.zone), render.closing(section)),
            options.budgets[tier],
            tokenizer.count,
            strict=tier in (Tier.IDENTITY, Tier.PINNED),
            before=before[tier],
            admit=_admit(ranking, indexes),
        )
        before[tier] += packed[section].text
    return packed


def _admit(ranking: Ranking, indexes: Sequence[int]) -> Callable[[int], bool]:
    """Turns an outdated candidate away; identity and pins have no index and always stand."""
    return lambda position: position >= len(indexes) or ranking.stands(indexes[position])


def _pieces(
    section: Section,
    ranking: Ranking,
    curated: Curated,
    chosen: Sequence[int],
    options: Options,
) -> list[Piece]:
    if section is Section.IDENTITY:
        return [Piece(each.id, render.identity_item(each)) for each in curated.active_identity]
    if section is Section.PINNED:
        return [Piece(each.id, render.pinned_item(each)) for each in curated.loaded_pins]
    entries = [ranking.candidates[index] for index in chosen]
    return [Piece(each.id, render.candidate_item(each, options.zone)) for each in entries]


def _sections(packed: Mapping[Section, Packed], options: Options) -> tuple[RenderedSection, ...]:
    sections = []
    prefix = hashlib.sha256()
    for section in Section:
        each = packed[section]
        prefix.update(each.text.encode())
        sections.append(
            RenderedSection(
                section=section,
                text=each.text,
                token_count=each.token_count,
                token_budget=options.budgets[TIER_OF[section]],
                item_count=len(each.kept),
                prefix_fingerprint=prefix.copy().hexdigest(),
            )
        )
    return tuple(sections)


def _items(
    ranking: Ranking,
    curated: Curated,
    chosen: Mapping[Section, Sequence[int]],
    packed: Mapping[Section, Packed],
) -> tuple[Item, ...]:
    fixed = {
        Section.IDENTITY: [each.id for each in curated.active_identity],
        Section.PINNED: [each.id for each in curated.loaded_pins],
    }
    items: list[Item] = []
    for section, each in packed.items():
        for position in each.kept:
            tokens = each.tokens[position]
            if section in fixed:
                items.append(Item(fixed[section][position], section, tokens))
                continue
            index = chosen[section][position]
            entry_id, score = ranking.candidates[index].id, ranking.scores[index]
            items.append(Item(entry_id, section, tokens, score, ranking.merged(index)))
    return tuple(items)
