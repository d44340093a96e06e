"""Spaces and projects, and who belongs to them."""

from dataclasses import dataclass
from enum import StrEnum


class SpaceKind(StrEnum):
    """Who can be a member of a space: its owner alone, or readers and writers."""

    PERSONAL = "personal"
    SHARED = "shared"


@dataclass(frozen=True, slots=True)
class Space:
    """A marked folder of a vault.

    ``path`` is the folder's name in its vault. ``owner`` is the user of a personal space and
    empty for a shared one. A personal space whose owner is empty is *closed*: its marker could
    not be understood, so it is nobody's and has no notes. ``readers`` and ``writers`` are the
    members that the marker of a shared space names.
    """

    id: str
    name: str
    kind: SpaceKind
    owner: str
    path: str
    readers: tuple[str, ...] = ()
    writers: tuple[str, ...] = ()

    @property
    def closed(self) -> bool:
        """Whether the marker could not be understood."""
        return self.kind is SpaceKind.PERSONAL and not self.owner


@dataclass(frozen=True, slots=True)
class Project:
    """A marked folder of a space; ``folder`` is relative to the space, empty for all of it."""

    id: str
    name: str
    slug: str
    space_id: str
    folder: str

    @property
    def handle(self) -> str:
        """What people call it, ``<space id>/<slug>``: unique among all spaces."""
        return f"{self.space_id}/{self.slug}"


@dataclass(frozen=True, slots=True)
class Members:
    """Users of a shared space; writers read as well."""

    readers: frozenset[str] = frozenset()
    writers: frozenset[str] = frozenset()
