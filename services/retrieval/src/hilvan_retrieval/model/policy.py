"""What curation said of a tenant: who reads and writes what, and what is muted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hilvan_retrieval.model.entry import Owner


@dataclass(frozen=True, slots=True)
class CategoryMute:
    """A muted category of an owner; ``until`` None: not by itself."""

    owner: Owner
    category: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class EntryMute:
    """An entry that one user has muted; ``until`` None: not by itself."""

    entry_id: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class SpacePolicy:
    """Who may read and write a space's projects, and which categories are muted there."""

    space_id: str
    readers: frozenset[str]
    writers: frozenset[str]
    project_ids: frozenset[str]
    mutes: tuple[CategoryMute, ...]


@dataclass(frozen=True, slots=True)
class TenantPolicy:
    """Everything that curation said about a tenant, and when it last said that it still holds."""

    spaces: tuple[SpacePolicy, ...] = ()
    entry_mutes: Mapping[str, tuple[EntryMute, ...]] = field(default_factory=dict)
    confirm_time: datetime | None = None
