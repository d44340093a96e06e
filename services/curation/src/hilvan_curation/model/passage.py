"""A passage of a note, and what retrieval is told of it."""

from dataclasses import dataclass
from datetime import datetime


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
