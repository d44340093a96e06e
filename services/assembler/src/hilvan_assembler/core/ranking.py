"""Ranks the candidates of one request. No token is counted here."""

from dataclasses import dataclass

from hilvan_assembler.core import fusion, sequence
from hilvan_assembler.core.contradiction import Contradictions
from hilvan_assembler.core.duplicate import fold_duplicates
from hilvan_assembler.core.exclusion import exclude
from hilvan_assembler.core.link import drop_superseded
from hilvan_assembler.core.neighbour import neighbours
from hilvan_assembler.core.order import by_score
from hilvan_assembler.core.score import scored
from hilvan_assembler.model.candidate import Retrieved
from hilvan_assembler.model.curation import Curated
from hilvan_assembler.model.options import Fusion, Options
from hilvan_assembler.model.ranking import RankedCandidate
from hilvan_assembler.ports.contradiction import ContradictionJudge


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidates in the order of retrieval, and those that stand by falling score.

    Whether one of these is outdated is read only where it is asked: see `Contradictions`.
    """

    candidates: tuple[RankedCandidate, ...]
    best_first: tuple[RankedCandidate, ...]
    contradictions: Contradictions

    @property
    def nothing_relevant(self) -> bool:
        """Whether nothing is left that could be rendered, whatever the budgets."""
        return not any(self.contradictions.verdict(one) is None for one in self.best_first)

    def settled(self) -> "Ranking":
        """The ranking after every contradiction was read: what is outdated has its verdict."""
        verdicts = {one.id: self.contradictions.verdict(one) for one in self.best_first}
        return Ranking(
            candidates=tuple(
                one.judged(verdict) if (verdict := verdicts.get(one.id)) else one
                for one in self.candidates
            ),
            best_first=tuple(one for one in self.best_first if verdicts[one.id] is None),
            contradictions=self.contradictions,
        )


def rank(
    retrieved: Retrieved, curated: Curated, options: Options, judge: ContradictionJudge
) -> Ranking:
    """Fuse, exclude, drop what was replaced, fold duplicates, score and order."""
    near = neighbours(retrieved.pairs, retrieved.candidates)
    fused = fuse(retrieved, options.fusion)
    admitted = exclude(fused, curated, options)
    current = drop_superseded(admitted, near, judge)
    distinct = fold_duplicates(current, near, judge)
    contradictions = Contradictions(distinct, near, judge)
    ranked = scored(distinct, options)
    best_first = by_score(one for one in ranked if one.stands)
    return Ranking(tuple(ranked), tuple(best_first), contradictions)


def fuse(retrieved: Retrieved, method: Fusion) -> list[RankedCandidate]:
    """The candidates with their relevance: both lists fused, and what a sequence adds."""
    candidates = retrieved.candidates
    relevance = fusion.relevances(candidates, retrieved.lists, method)
    supported = sequence.supported(candidates, relevance)
    return [
        RankedCandidate(candidate, value)
        for candidate, value in zip(candidates, supported, strict=True)
    ]
