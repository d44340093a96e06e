"""How one prompt is assembled, with every default filled in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from hilvan_assembler.model.kind import FusionMethod, Section, Source, Tier


@dataclass(frozen=True, slots=True)
class Fusion:
    """Fusion of the sources. A weight of 0 is a source that is not asked."""

    method: FusionMethod = FusionMethod.CONVEX
    vector_weight: float = 0.4
    keyword_weight: float = 0.6
    rank_constant: int = 10

    def weight(self, source: Source) -> float:
        """The weight of a source."""
        return self.vector_weight if source is Source.VECTOR else self.keyword_weight


DEFAULT_BUDGETS: Mapping[Tier, int] = {
    Tier.IDENTITY: 500,
    Tier.PINNED: 2_000,
    Tier.MEMORIES: 2_000,
    Tier.NOTES: 0,
    Tier.EPISODES: 1_000,
    Tier.PROCEDURES: 500,
}
"""Tokens a tier (spec, section 4, step 6)."""


@dataclass(frozen=True, slots=True)
class Options:
    """How one prompt is assembled, every default filled in."""

    as_of: datetime
    budgets: Mapping[Tier, int] = field(default_factory=lambda: DEFAULT_BUDGETS)
    min_final: float = 0.0
    min_semantic: float = 0.0
    boosts: Mapping[str, float] = field(default_factory=dict)
    fusion: Fusion = field(default_factory=Fusion)
    sections: frozenset[Section] = frozenset(Section)
    zone: tzinfo = UTC
