"""What a session begins with."""

from dataclasses import dataclass
from datetime import datetime

from hilvan_assembler.model.curation import Element
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.entry import Entry
from hilvan_assembler.model.kind import NoteChange


@dataclass(frozen=True, slots=True)
class NoteDelta:
    """A note that changed since the last acknowledged session."""

    note_id: str
    title: str
    change: NoteChange


@dataclass(frozen=True, slots=True)
class SessionOpening:
    """An opened session of a scope.

    ``since`` is when the last acknowledged session began, None without one; ``changed_notes``
    are those of the scope that changed since.
    """

    session_id: str
    since: datetime | None
    note_count: int = 0
    folders: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    changed_notes: tuple[NoteDelta, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """A project that the caller reads."""

    id: str
    name: str = ""
    handle: str = ""
    space_id: str = ""
    folder: str = ""
    note_count: int = 0


@dataclass(frozen=True, slots=True)
class Category:
    """A category of memory; ``owner`` is a key such as ``user:ana``."""

    category: str
    owner: str
    summary: str = ""
    note_id: str = ""
    muted: bool = False
    muted_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Brief:
    """The caller's projects, and a scope's categories."""

    projects: tuple[Project, ...]
    categories: tuple[Category, ...]


@dataclass(frozen=True, slots=True)
class ProjectStart:
    """The part of a session's beginning that a project adds."""

    elements: tuple[Element, ...]
    opening: SessionOpening
    changed_entries: tuple[Entry, ...]
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """What a session begins with.

    ``profile`` are the elements of the caller's own scope, ``categories`` its categories that are
    not muted, ``projects`` those that the caller reads; ``project`` is the part of the project
    that the call named.
    """

    session_id: str
    profile: tuple[Element, ...]
    categories: tuple[Category, ...]
    projects: tuple[Project, ...]
    project: ProjectStart | None
    degraded: tuple[Degradation, ...]
