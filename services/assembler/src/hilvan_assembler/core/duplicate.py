"""Duplicates: of those that say the same the most relevant stays and stands for the others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

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
    verdicts: dict[str, Verdict] = {}
    by_words: dict[tuple[Layer, str], str] = {}
    for one in by_relevance(one for one in ranked if one.stands):
        key = (one.candidate.layer, stated_words(one.candidate))
        survivor, detail = by_words.get(key, ""), "the same words"
        if not survivor:
            survivor, similarity = _nearest(one, groups, near, judge)
            detail = f"similarity {similarity:.3f}"
        if survivor:
            verdicts[one.id] = Verdict(Reason.DUPLICATE_OF, survivor, detail)
            groups[survivor].append(one)
        else:
            groups[one.id] = [one]
        by_words.setdefault(key, survivor or one.id)
    return [_folded(one, groups, verdicts) for one in ranked]


def _folded(
    one: RankedCandidate,
    groups: Mapping[str, Sequence[RankedCandidate]],
    verdicts: Mapping[str, Verdict],
) -> RankedCandidate:
    if one.id in verdicts:
        return replace(one, verdict=verdicts[one.id])
    duplicates = tuple(groups.get(one.id, ())[1:])
    return replace(one, duplicates=duplicates) if duplicates else one


def _nearest(
    one: RankedCandidate,
    groups: Mapping[str, Sequence[RankedCandidate]],
    near: Neighbours,
    judge: ContradictionJudge,
) -> tuple[str, float]:
    """The survivor that is most like it, and how much; of equals the most relevant; "" of none."""
    similarities = close(one.id, near)
    if not similarities:
        return "", 0.0
    # Groups are in the order of relevance, and of equal values `max` takes the first.
    alike = [
        survivor
        for survivor, group in groups.items()
        if survivor in similarities and _agree_all(one, group, near, judge)
    ]
    best = max(alike, key=lambda survivor: similarities[survivor], default="")
    return best, similarities.get(best, 0.0)


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
