"""Links, duplicates and contradictions by ids: what tests of them ask for."""

from collections.abc import Mapping

from support.assembler.values import agrees, retrieved

from hilvan_assembler.core.contradiction import Contradictions
from hilvan_assembler.core.duplicate import fold_duplicates
from hilvan_assembler.core.link import drop_superseded
from hilvan_assembler.core.neighbour import neighbours
from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.kind import Reason
from hilvan_assembler.model.ranking import RankedCandidate, Verdict
from hilvan_assembler.ports.contradiction import ContradictionJudge

Pairs = Mapping[tuple[str, str], float]
Outcome = dict[str, tuple[Reason, str]]


def settled(
    rows: list[Candidate],
    pairs: Pairs | None = None,
    judge: ContradictionJudge = agrees,
    relevance: list[float] | None = None,
    excluded: Mapping[int, Verdict] | None = None,
) -> list[RankedCandidate]:
    """The candidates after links, duplicates and contradictions, in their order."""
    near = neighbours(retrieved(*rows, pairs=pairs).pairs, rows)
    values = relevance or [0.5] * len(rows)
    ranked = [
        RankedCandidate(row, value, (excluded or {}).get(index))
        for index, (row, value) in enumerate(zip(rows, values, strict=True))
    ]
    distinct = fold_duplicates(drop_superseded(ranked, near, judge), near, judge)
    contradictions = Contradictions(distinct, near, judge)
    return [
        one._replace(verdict=contradictions.verdict(one)) if one.stands else one for one in distinct
    ]


def pruned(
    rows: list[Candidate],
    pairs: Pairs | None = None,
    judge: ContradictionJudge = agrees,
    relevance: list[float] | None = None,
    excluded: Mapping[int, Verdict] | None = None,
) -> tuple[Outcome, dict[str, list[str]]]:
    """Reasons and others by id for all that is out, and what each survivor stands for."""
    ranked = settled(rows, pairs, judge, relevance, excluded)
    return (
        {one.id: (one.verdict.reason, one.verdict.other_id) for one in ranked if one.verdict},
        {
            one.id: [one.id, *(duplicate.id for duplicate in one.duplicates)]
            for one in ranked
            if one.stands
        },
    )
