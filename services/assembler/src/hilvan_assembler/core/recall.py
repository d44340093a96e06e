"""A bundle of passages within one budget, with a share that no source may exceed."""

from collections import Counter
from dataclasses import dataclass

from hilvan_assembler.core import render
from hilvan_assembler.core.budget import Piece, Placement
from hilvan_assembler.core.ranking import Ranking
from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.kind import Reason
from hilvan_assembler.model.options import Options
from hilvan_assembler.model.ranking import RankedCandidate, Verdict
from hilvan_assembler.ports.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class BundleBudget:
    """The tokens of a bundle, and how many of them one source may have."""

    tokens: int
    per_source: int


@dataclass(frozen=True, slots=True)
class Bundle:
    """The bundle's text and tokens, and every standing candidate, best first, with its fate."""

    text: str
    token_count: int
    placements: tuple[Placement, ...]

    @property
    def passages(self) -> tuple[tuple[RankedCandidate, int], ...]:
        """The candidates that are in, best first, each with its tokens."""
        return tuple(
            (placement.piece.subject, placement.token_count)
            for placement in self.placements
            if placement.verdict is None and isinstance(placement.piece.subject, RankedCandidate)
        )


def bundle(
    ranking: Ranking, options: Options, budget: BundleBudget, tokenizer: Tokenizer
) -> Bundle:
    """Fill the budget in rank order; what does not fit is skipped and the next may fit.

    The final text is counted whole and never exceeds the budget, whatever the tokenizer does at
    the seams.
    """
    placements = _placed(ranking, options, budget, tokenizer)
    while True:
        kept = [placement for placement in placements if placement.verdict is None]
        text = "".join(placement.piece.text for placement in kept)
        tokens = tokenizer.count(text)
        if tokens <= budget.tokens or not kept:
            return Bundle(text, tokens, tuple(placements))
        out = kept[-1]._replace(verdict=Verdict(Reason.OVER_BUDGET))
        placements = [out if placement is kept[-1] else placement for placement in placements]


def _placed(
    ranking: Ranking, options: Options, budget: BundleBudget, tokenizer: Tokenizer
) -> list[Placement]:
    spent: Counter[str] = Counter()
    placements: list[Placement] = []
    for one in ranking.best_first:
        text = render.candidate_item(one.candidate, options.zone)
        tokens, source = tokenizer.count(text), source_of(one.candidate)
        if tokens > budget.tokens:
            verdict: Verdict | None = Verdict(Reason.TOO_LARGE)
        elif spent.total() + tokens > budget.tokens:
            verdict = Verdict(Reason.OVER_BUDGET)
        elif spent[source] + tokens > budget.per_source:
            verdict = Verdict(Reason.OVER_BUDGET, detail=f"share of {source}")
        else:
            verdict = ranking.contradictions.verdict(one)
        if verdict is None:
            spent[source] += tokens
        placements.append(Placement(Piece(one, text), tokens, verdict))
    return placements


def source_of(candidate: Candidate) -> str:
    """What counts as one source: a note, a thread, else the entry itself."""
    return candidate.note_id or candidate.origin.thread or candidate.id
