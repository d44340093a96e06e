"""Leaves out what says the same, and what no longer holds.

Duplicates first, then contradictions, both before scoring. Of a group that says the same the
best stays; of statements that can't both hold the newest stays, so never both sides are lost.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hilvan_assembler.core.evidence import Conflict
from hilvan_assembler.model import Candidate, Pair, Reason
from hilvan_assembler.ports import ConflictJudge

DUPLICATE_ABOVE = 0.92
CONFLICT_FROM = 0.75
"""The band's edges on the calibrated scale (spec, section 4, steps 3 and 4). Above the band a
conflict is looked for as well: "at 9:30" and "at 10:00" are nearly the same text."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a candidate is out: the other's id, and the evidence or numbers for people."""

    reason: Reason
    other_id: str = ""
    detail: str = ""


@dataclass(slots=True)
class Pruned:
    """Verdicts by candidate index, and for each survivor the ids that it stands for."""

    verdicts: dict[int, Verdict] = field(default_factory=dict)
    merged: dict[int, list[str]] = field(default_factory=dict)


def order(candidates: Sequence[Candidate], values: Sequence[float]) -> list[int]:
    """Indexes by falling value; equal values: newer first, then id. The one order of ties."""
    return sorted(
        range(len(candidates)),
        key=lambda i: (-values[i], -candidates[i].update_time.timestamp(), candidates[i].id),
    )


def prune(
    candidates: Sequence[Candidate],
    pairs: Iterable[Pair],
    relevance: Sequence[float],
    judge: ConflictJudge,
) -> Pruned:
    """Find the duplicates and the outdated among the candidates."""
    by_index = _neighbours(pairs)
    conflicts = _conflicts(candidates, by_index, judge)
    result = Pruned()
    _superseded(candidates, result)
    _duplicates(candidates, by_index, conflicts, order(candidates, relevance), result)
    _outdated(candidates, conflicts, relevance, result)
    return result


def _neighbours(pairs: Iterable[Pair]) -> dict[tuple[int, int], float]:
    return {(pair.left, pair.right): pair.similarity for pair in pairs}


def _conflicts(
    candidates: Sequence[Candidate],
    similar: Mapping[tuple[int, int], float],
    judge: ConflictJudge,
) -> dict[tuple[int, int], Conflict]:
    """Pairs (older, newer) that can't both hold, of the same owner and layer."""
    found: dict[tuple[int, int], Conflict] = {}
    for (left, right), similarity in similar.items():
        one, other = candidates[left], candidates[right]
        if similarity < CONFLICT_FROM or one.owner != other.owner or one.layer is not other.layer:
            continue
        older, newer = (left, right) if _age(one) <= _age(other) else (right, left)
        conflict = judge(candidates[older].text, candidates[newer].text)
        if conflict is not None:
            found[older, newer] = conflict
    return found


def _superseded(candidates: Sequence[Candidate], result: Pruned) -> None:
    """Explicit links win over guesses: what is linked to another candidate is out."""
    known = {each.id: each for each in candidates}
    for index, each in enumerate(candidates):
        if each.superseded_by in known and not _leads_back(each, known):
            result.verdicts[index] = Verdict(Reason.SUPERSEDED_BY, each.superseded_by)


def _leads_back(start: Candidate, known: Mapping[str, Candidate]) -> bool:
    """Whether the links from a candidate form a loop: then none of it is out by its link."""
    seen = {start.id}
    hop = known.get(start.superseded_by)
    while hop is not None:
        if hop.id in seen:
            return True
        seen.add(hop.id)
        hop = known.get(hop.superseded_by)
    return False


def _duplicates(
    candidates: Sequence[Candidate],
    similar: Mapping[tuple[int, int], float],
    conflicts: Mapping[tuple[int, int], Conflict],
    ranked: Sequence[int],
    result: Pruned,
) -> None:
    close: dict[int, list[tuple[int, float]]] = {}
    for (left, right), similarity in similar.items():
        if similarity > DUPLICATE_ABOVE and not _disagree(left, right, conflicts):
            close.setdefault(left, []).append((right, similarity))
            close.setdefault(right, []).append((left, similarity))
    by_words: dict[tuple[str, str], int] = {}
    kept: set[int] = set()
    for index in ranked:
        if index in result.verdicts:
            continue
        each = candidates[index]
        twins = [
            by_words.get((each.layer, key)) for key in (each.content_hash, each.stated_words) if key
        ]
        same = next((twin for twin in twins if twin is not None), None)
        detail = "the same words"
        if same is None:
            near = [(other, value) for other, value in close.get(index, ()) if other in kept]
            if near:
                same, value = max(near, key=lambda pair: (pair[1], -pair[0]))
                detail = f"similarity {value:.3f}"
        if same is None:
            kept.add(index)
            for key in (each.content_hash, each.stated_words):
                by_words.setdefault((each.layer, key), index)
        else:
            survivor = candidates[same].id
            result.verdicts[index] = Verdict(Reason.DUPLICATE_OF, survivor, detail)
            result.merged.setdefault(same, []).append(each.id)


def _disagree(one: int, other: int, conflicts: Mapping[tuple[int, int], Conflict]) -> bool:
    return (one, other) in conflicts or (other, one) in conflicts


def _outdated(
    candidates: Sequence[Candidate],
    conflicts: Mapping[tuple[int, int], Conflict],
    relevance: Sequence[float],
    result: Pruned,
) -> None:
    """The older side of each conflict leaves, whatever becomes of the newer one later.

    Of two of the same age the surer, then the more relevant, then the first by id stays.
    """
    live = [i for i in range(len(candidates)) if i not in result.verdicts]
    rank = {
        index: place
        for place, index in enumerate(
            sorted(live, key=lambda i: _standing(candidates[i], relevance[i]))
        )
    }
    for (one, other), conflict in sorted(conflicts.items()):
        if one in rank and other in rank:
            older, newer = (one, other) if rank[one] > rank[other] else (other, one)
            known = result.verdicts.get(older)
            if known is None or rank[newer] < rank[_index(candidates, known.other_id)]:
                result.verdicts[older] = _contradicted(candidates[newer], conflict)


def _standing(candidate: Candidate, relevance: float) -> tuple[float, float, float, str]:
    newest, surest = -_age(candidate), -(candidate.confidence or 0.5)
    return (newest, surest, -relevance, candidate.id)


def _contradicted(newer: Candidate, conflict: Conflict) -> Verdict:
    detail = f"{conflict.kind}: {conflict.older_span!r} against {conflict.newer_span!r}"
    return Verdict(Reason.CONTRADICTED_BY, newer.id, detail)


def _index(candidates: Sequence[Candidate], entry_id: str) -> int:
    return next(i for i, each in enumerate(candidates) if each.id == entry_id)


def _age(candidate: Candidate) -> float:
    return candidate.update_time.timestamp()
