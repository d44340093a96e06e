"""The one order of candidates: by falling value, and of equal values the newer first."""

from collections.abc import Iterable

from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.ranking import RankedCandidate


def age_key(candidate: Candidate) -> float:
    """Seconds since 1970 of the last update: the greater, the newer."""
    return candidate.update_time.timestamp()


def by_relevance(ranked: Iterable[RankedCandidate]) -> list[RankedCandidate]:
    """By falling relevance; equal ones: newer first, then by id."""
    return sorted(ranked, key=lambda one: (-one.relevance, -age_key(one.candidate), one.id))


def by_score(ranked: Iterable[RankedCandidate]) -> list[RankedCandidate]:
    """By falling score; equal ones: newer first, then by id."""
    return sorted(ranked, key=lambda one: (-one.score, -age_key(one.candidate), one.id))
