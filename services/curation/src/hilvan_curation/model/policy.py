"""What retrieval is told of who may read what."""

from dataclasses import dataclass

from hilvan_curation.model.category import CategoryNote


@dataclass(frozen=True, slots=True)
class SpacePolicy:
    """Who reads and writes a space's projects, and which categories are muted there."""

    space_id: str
    readers: frozenset[str]
    writers: frozenset[str]
    project_ids: frozenset[str]
    mutes: tuple[CategoryNote, ...]
