"""Which pairs of candidates are near enough to be compared. Similarities are calibrated, 0 to 1."""

from collections.abc import Iterable, Sequence

from hilvan_assembler.core.evidence import announces_change
from hilvan_assembler.model.candidate import Candidate, Pair
from hilvan_assembler.model.ranking import Neighbours

DUPLICATE_ABOVE = 0.92
CONTRADICTION_FROM = 0.75
"""The edges of the band in which statements are alike and may contradict each other. Above the
band a contradiction is looked for as well: "at 9:30" and "at 10:00" are nearly the same text."""

EXPLICIT_FROM = 0.55
"""Where a contradiction is looked for when the newer text says itself that something changed: "in
room 12" and "moved to room 40" are far apart (docs/decisions/contradiction-evidence.md)."""


def neighbours(pairs: Iterable[Pair], candidates: Sequence[Candidate]) -> Neighbours:
    """Both sides of every pair that is worth a comparison.

    Those are the pairs from `CONTRADICTION_FROM` up, and from `EXPLICIT_FROM` up those in which a
    text announces a change.
    """
    near: dict[str, list[tuple[str, float]]] = {}
    announcing: set[int] | None = None
    for pair in pairs:
        left, right, similarity = pair.left, pair.right, pair.similarity
        # Among turns of a chat nearly all pairs are weak ones, so most of them go here.
        if similarity < CONTRADICTION_FROM:
            if announcing is None:
                announcing = {
                    index
                    for index, candidate in enumerate(candidates)
                    if announces_change(candidate.text)
                }
            if similarity < EXPLICIT_FROM or not (left in announcing or right in announcing):
                continue
        near.setdefault(candidates[left].id, []).append((candidates[right].id, similarity))
        near.setdefault(candidates[right].id, []).append((candidates[left].id, similarity))
    return near


def close(candidate_id: str, near: Neighbours) -> dict[str, float]:
    """The similarity of those that are above `DUPLICATE_ABOVE`, by id."""
    return {other: value for other, value in near.get(candidate_id, ()) if value > DUPLICATE_ABOVE}
