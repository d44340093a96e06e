"""Hits of a search: by relevance alone, with a floor of similarity."""

from dataclasses import dataclass

from hilvan_assembler.core.order import by_relevance
from hilvan_assembler.core.ranking import fuse
from hilvan_assembler.model.candidate import Retrieved
from hilvan_assembler.model.options import Fusion
from hilvan_assembler.model.ranking import RankedCandidate


@dataclass(frozen=True, slots=True)
class Bounds:
    """What of the hits is given: at most ``limit``, of at least ``min_similarity`` (0 to 1)."""

    limit: int
    min_similarity: float = 0.0


def hits(retrieved: Retrieved, fusion: Fusion, bounds: Bounds) -> list[RankedCandidate]:
    """The best hits. One that only the words found has no similarity, so no floor is for it."""
    best = [
        one
        for one in by_relevance(fuse(retrieved, fusion))
        if one.candidate.similarity is None or one.candidate.similarity >= bounds.min_similarity
    ]
    return best[: bounds.limit]
