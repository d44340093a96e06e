"""What changed since the last session that was acknowledged."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from hilvan_curation.model.note import Note
from hilvan_curation.model.session import NoteMark


class NoteChange(StrEnum):
    """What happened to a note."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class NoteDelta:
    """A note that changed between two sessions."""

    note_id: str
    title: str
    change: NoteChange


def marks(notes: Iterable[Note]) -> dict[str, NoteMark]:
    """What a session that opens now sees, by note id."""
    return {note.id: NoteMark(note.title, note.content_hash) for note in notes}


def delta(before: Mapping[str, NoteMark], now: Mapping[str, NoteMark]) -> list[NoteDelta]:
    """What changed, by note id."""
    found = []
    for note_id in sorted(before.keys() | now.keys()):
        old, new = before.get(note_id), now.get(note_id)
        if old is None and new is not None:
            found.append(NoteDelta(note_id, new.title, NoteChange.ADDED))
        elif old is not None and new is None:
            found.append(NoteDelta(note_id, old.title, NoteChange.REMOVED))
        elif old and new and old.content_hash != new.content_hash:
            found.append(NoteDelta(note_id, new.title, NoteChange.CHANGED))
    return found
