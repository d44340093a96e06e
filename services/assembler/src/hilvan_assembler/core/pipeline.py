"""From what was retrieved and curated to a prompt: pure, synchronous, the same every time.

fuse → exclude → drop what was replaced → fold duplicates → score → budget, which reads
contradictions of what fits → render
"""

import hashlib
from collections.abc import Mapping, Sequence

from hilvan_assembler.core import budget, render
from hilvan_assembler.core.budget import Packed, Piece, Placement, Subject
from hilvan_assembler.core.decision import decisions, notices
from hilvan_assembler.core.ranking import Ranking, rank
from hilvan_assembler.core.section import section_of
from hilvan_assembler.model.assembly import Assembly, Item, RenderedSection
from hilvan_assembler.model.candidate import Retrieved
from hilvan_assembler.model.curation import Curated
from hilvan_assembler.model.kind import TIER_OF, Section, Tier
from hilvan_assembler.model.options import Options
from hilvan_assembler.model.ranking import RankedCandidate, Verdict
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
        ranking = ranking.settled()
    pieces = _pieces(ranking, curated, options)
    packed = _packed(pieces, ranking, options, tokenizer)
    whole = sum(options.budgets.values())
    fitted, prompt, tokens = budget.fit_sum(packed, whole, tokenizer.count)
    return Assembly(
        prompt=prompt,
        token_count=tokens,
        sections=_sections(fitted, options),
        items=_items(fitted),
        decisions=decisions(ranking, curated, fitted, options) if explain else (),
        notices=notices(fitted),
        no_relevant_memory=ranking.nothing_relevant,
        contradictions=ranking.contradictions.found,
    )


def _pieces(ranking: Ranking, curated: Curated, options: Options) -> dict[Section, list[Piece]]:
    """The rendered pieces of each wanted section, in the order in which they may enter."""
    subjects: dict[Section, list[Subject]] = {section: [] for section in Section}
    subjects[Section.IDENTITY] += curated.active_identity
    subjects[Section.PINNED] += curated.loaded_pins
    for one in ranking.best_first:
        subjects[section_of(one.candidate)].append(one)
    return {
        section: [Piece(subject, render.item(subject, options.zone)) for subject in ordered]
        if section in options.sections
        else []
        for section, ordered in subjects.items()
    }


def _packed(
    pieces: Mapping[Section, Sequence[Piece]],
    ranking: Ranking,
    options: Options,
    tokenizer: Tokenizer,
) -> dict[Section, Packed]:
    """Each section within its tier's budget; sections of one tier share it, in their order."""

    def outdated(subject: Subject) -> Verdict | None:
        """Identity and pins always stand."""
        if isinstance(subject, RankedCandidate):
            return ranking.contradictions.verdict(subject)
        return None

    before = dict.fromkeys(Tier, "")
    packed: dict[Section, Packed] = {}
    for section, ordered in pieces.items():
        tier = TIER_OF[section]
        packed[section] = budget.pack(
            ordered,
            (render.opening(section, options.zone), render.closing(section)),
            options.budgets[tier],
            tokenizer.count,
            strict=tier in (Tier.IDENTITY, Tier.PINNED),
            before=before[tier],
            last_word=outdated,
        )
        before[tier] += packed[section].text
    return packed


def _sections(fitted: Mapping[Section, Packed], options: Options) -> tuple[RenderedSection, ...]:
    sections = []
    prefix = hashlib.sha256()
    for section, packed in fitted.items():
        prefix.update(packed.text.encode())
        sections.append(
            RenderedSection(
                section=section,
                text=packed.text,
                token_count=packed.token_count,
                token_budget=options.budgets[TIER_OF[section]],
                item_count=len(packed.kept),
                prefix_fingerprint=prefix.copy().hexdigest(),
            )
        )
    return tuple(sections)


def _items(fitted: Mapping[Section, Packed]) -> tuple[Item, ...]:
    return tuple(
        _item(section, placement) for section, packed in fitted.items() for placement in packed.kept
    )


def _item(section: Section, placement: Placement) -> Item:
    subject = placement.piece.subject
    if not isinstance(subject, RankedCandidate):
        return Item(subject.id, section, placement.token_count)
    merged = tuple(sorted(duplicate.id for duplicate in subject.duplicates))
    return Item(subject.id, section, placement.token_count, subject.score, merged)
