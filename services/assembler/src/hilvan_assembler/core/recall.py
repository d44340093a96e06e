"""A bundle of passages within one budget, with a share that no source may exceed."""

from collections import Counter
from dataclasses import dataclass

from hilvan_assembler.core import render
from hilvan_assembler.core.prune import Verdict
from hilvan_assembler.core.ranking import Ranking
from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.kind import Reason
from hilvan_assembler.model.options import Options
from hilvan_assembler.ports.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Bundle:
    """The bundle's text and tokens, and the candidates in it: (index, tokens), best first."""

    text: str
    token_count: int
    passages: tuple[tuple[int, int], ...]


def bundle(
    ranking: Ranking, options: Options, budget: int, max_per_source: int, tokenizer: Tokenizer
) -> Bundle:
    """Fill the budget in rank order; what does not fit is skipped and the next may fit.

    Reasons of those left out are added to the ranking's verdicts. The final text is counted
    whole and never exceeds the budget, whatever the tokenizer does at the seams.
    """
    spent: Counter[str] = Counter()
    chosen: list[tuple[int, int]] = []
    used = 0
    for index in ranking.ranked:
        candidate = ranking.candidates[index]
        tokens = tokenizer.count(render.candidate_item(candidate, options.zone))
        source = source_of(candidate)
        if tokens > budget:
            ranking.verdicts[index] = Verdict(Reason.TOO_LARGE)
        elif used + tokens > budget:
            ranking.verdicts[index] = Verdict(Reason.OVER_BUDGET)
        elif spent[source] + tokens > max_per_source:
            ranking.verdicts[index] = Verdict(Reason.OVER_BUDGET, detail=f"share of {source}")
        elif ranking.stands(index):
            chosen.append((index, tokens))
            spent[source] += tokens
            used += tokens
    while True:
        text = "".join(
            render.candidate_item(ranking.candidates[index], options.zone) for index, _ in chosen
        )
        count = tokenizer.count(text)
        if count <= budget or not chosen:
            return Bundle(text, count, tuple(chosen))
        ranking.verdicts[chosen.pop()[0]] = Verdict(Reason.OVER_BUDGET)


def source_of(candidate: Candidate) -> str:
    """What counts as one source: a note, a thread, else the entry itself."""
    return candidate.note_id or candidate.origin.thread or candidate.id
