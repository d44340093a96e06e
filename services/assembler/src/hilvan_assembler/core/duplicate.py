"""Duplicates: of those that say the same the most relevant stays and stands for the others."""

from collections.abc import Iterable, Mapping, Sequence

from hilvan_assembler.core.contradiction import agree
from hilvan_assembler.core.neighbour import close
from hilvan_assembler.core.order import by_relevance
from hilvan_assembler.core.words import stated_words
from hilvan_assembler.model.kind import Layer, Reason
from hilvan_assembler.model.ranking import Neighbours, RankedCandidate, Verdict
from hilvan_assembler.ports.contradiction import ContradictionJudge


def fold_duplicates(
    ranked: Sequence[RankedCandidate], near: Neighbours, judge: ContradictionJudge
) -> list[RankedCandidate]:
    """The candidates with a verdict on duplicates, each survivor with those that it stands for.

    Nothing joins a group with a member that it contradicts: of those two the newer must win.
    """
    groups: dict[str, list[RankedCandidate]] = {}
    by_words: dict[tuple[Layer, str], str] = {}
    folded: dict[str, RankedCandidate] = {}
    for one in by_relevance(one for one in ranked if one.verdict is None):
        candidate = one.candidate
        key = (candidate.layer, stated_words(candidate))
        survivor, detail = by_words.get(key, ""), "the same words"
        if not survivor and (similarities := close(candidate.id, near)):
            survivor = _nearest(one, similarities, groups, near, judge)
            detail = f"similarity {similarities.get(survivor, 0.0):.3f}"
        if survivor:
            verdict = Verdict(Reason.DUPLICATE_OF, survivor, detail)
            folded[candidate.id] = one.judged(verdict)
            groups[survivor].append(one)
        else:
            groups[candidate.id] = [one]
        by_words.setdefault(key, survivor or candidate.id)
    folded |= {
        survivor: group[0].standing_for(group[1:])
        for survivor, group in groups.items()
        if len(group) > 1
    }
    return [folded.get(one.id, one) for one in ranked]


def _nearest(
    one: RankedCandidate,
    similarities: Mapping[str, float],
    groups: Mapping[str, Sequence[RankedCandidate]],
    near: Neighbours,
    judge: ContradictionJudge,
) -> str:
    """The survivor that is most like it; of equals the most relevant; "" where there is none."""
    alike = [
        groups[other][0]
        for other in similarities
        if other in groups and _agree_all(one, groups[other], near, judge)
    ]
    if not alike:
        return ""
    most = max(similarities[survivor.id] for survivor in alike)
    return by_relevance(each for each in alike if similarities[each.id] == most)[0].id


def _agree_all(
    one: RankedCandidate,
    group: Iterable[RankedCandidate],
    near: Neighbours,
    judge: ContradictionJudge,
) -> bool:
    similar = {other for other, _ in near[one.id]}
    return all(
        agree(one.candidate, member.candidate, judge) for member in group if member.id in similar
    )
