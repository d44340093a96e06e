"""Who calls, and what is wanted of the store."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and the metadata that proves it to the other services."""

    tenant: str
    user: str
    metadata: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a call wants of retrieval, besides its options.

    ``candidate_limit`` is a layer's and a source's. ``as_of_given`` tells whether the caller
    stated the moment, or it is just now.
    """

    query: str
    project_id: str
    candidate_limit: int
    as_of_given: bool
    require_all_sources: bool = False
    accept_stale_mutes: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not self.query.strip()
