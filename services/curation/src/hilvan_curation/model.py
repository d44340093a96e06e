"""The frozen values of curation. Times are aware datetimes in UTC."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class SpaceKind(StrEnum):
    """Who can be a member of a space: its owner alone, or readers and writers."""

    PERSONAL = "personal"
    SHARED = "shared"


class Axis(StrEnum):
    """Whose a category is."""

    USER = "user"
    PROJECT = "project"


class IdentityGroup(StrEnum):
    """The part of the assistant's identity that a block belongs to."""

    SOUL = "soul"
    STYLE = "style"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """Something in the files that was not understood and was left out.

    ``path`` is relative to the space; ``line`` counts from 1, 0 stands for the whole file.
    """

    path: str
    line: int
    message: str


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
class Note:
    r"""A Markdown file of a space.

    ``path`` is relative to the space, with ``/``. ``body`` is what follows the frontmatter, its
    line ends made ``\\n``. ``project_id`` is empty outside of any project. ``content_hash`` is
    the SHA-256 of the file's bytes in hex. ``faults`` are this note's own.
    """

    id: str
    space_id: str
    path: str
    title: str
    body: str
    modified_time: datetime
    content_hash: str
    tags: tuple[str, ...] = ()
    summary: str = ""
    project_id: str = ""
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class CategoryNote:
    """What a category note says of its category: on which axis it is, summary and mute.

    ``muted_until`` is when a mute ends; None is a mute without an end. It means nothing while
    ``muted`` is false.
    """

    axis: Axis
    owner_id: str
    category: str
    summary: str
    muted: bool
    muted_until: datetime | None
    note_id: str


@dataclass(frozen=True, slots=True)
class IdentityBlock:
    """A piece of who the assistant is, kept in a note; blocks of a group go by ``order``."""

    id: str
    group: IdentityGroup
    kind: str
    text: str
    active: bool
    order: int
    note_id: str


@dataclass(frozen=True, slots=True)
class SpaceSnapshot:
    """All that the files of one space say, notes and projects by path.

    Category notes and identity blocks are in ``notes`` as well. ``faults`` are all there are,
    those of the notes included, by path and line.
    """

    space: Space
    projects: tuple[Project, ...] = ()
    notes: tuple[Note, ...] = ()
    categories: tuple[CategoryNote, ...] = ()
    identity: tuple[IdentityBlock, ...] = ()
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a note's body that search finds: ``text == body[start:end]``, in code points.

    ``id`` depends on the note, the headings and the text alone (and, among equal passages of a
    note, on their order), so that an edit elsewhere in the note keeps it. ``ordinal`` counts
    from 0.
    """

    id: str
    note_id: str
    ordinal: int
    headings: tuple[str, ...]
    start: int
    end: int
    text: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class Members:
    """Users of a shared space; writers read as well."""

    readers: frozenset[str] = frozenset()
    writers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """A passage as an entry of the memory store; ``owner`` is a key such as ``space:s1``."""

    id: str
    owner: str
    title: str
    text: str
    tags: tuple[str, ...]
    note_id: str
    position: int
    time: datetime

    @property
    def fingerprint(self) -> str:
        """Changes whenever what the store keeps of the passage changes."""
        return "\x1f".join((self.owner, self.title, self.text, *self.tags, str(self.position)))


@dataclass(frozen=True, slots=True)
class SpacePolicy:
    """Who reads and writes a space's projects, and which categories are muted there."""

    space_id: str
    readers: frozenset[str]
    writers: frozenset[str]
    project_ids: frozenset[str]
    mutes: tuple[CategoryNote, ...]


@dataclass(frozen=True, slots=True)
class Session:
    """An open session; ``scope`` is a project's id, or empty for the personal scope."""

    id: str
    tenant: str
    user: str
    scope: str
    open_time: datetime


@dataclass(frozen=True, slots=True)
class NoteMark:
    """What a session saw of a note."""

    title: str
    content_hash: str
