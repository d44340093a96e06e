"""A generation: one index of a source, beside those that it replaces or that replace it."""

from dataclasses import dataclass
from enum import StrEnum

from hilvan_retrieval.model.entry import BUCKETS
from hilvan_retrieval.model.index import Source


class GenerationState(StrEnum):
    """What an index of a source is for."""

    BUILDING = "building"
    LIVE = "live"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Generation:
    """One index of a source. Every generation is fed, so that a switch in either way is whole.

    ``engine`` names the kind of its engine. ``recipe`` is what decides its contents besides the
    record: the embedding model's id, or the version of the text analysis. ``filled`` counts the
    `BUCKETS` of the record that were put into its outbox since it was made.
    """

    source: Source
    number: int
    engine: str
    recipe: str
    state: GenerationState
    filled: int = 0

    @property
    def feed(self) -> str:
        """The name of its part of the outbox, such as ``vector.2``."""
        return f"{self.source.value}.{self.number}"

    @property
    def is_filled(self) -> bool:
        """Whether all of the record went into its outbox."""
        return self.filled >= len(BUCKETS)
