"""Write ids into notes that have none, so that a rename keeps them."""

from dataclasses import dataclass

from hilvan_curation.core.vault import stamp
from hilvan_curation.errors import CurationError
from hilvan_curation.model.note import Note
from hilvan_curation.ports.note import NoteSource


@dataclass(frozen=True, slots=True)
class Stamp:
    """What became of one note without an id: it has ``note_id`` now, or there is a ``problem``."""

    space_id: str
    path: str
    note_id: str
    problem: str = ""


async def stamp_notes(source: NoteSource) -> list[Stamp]:
    """Give each note the id that it goes by already; notes that have one are left alone."""
    stamps = []
    for snapshot in await source.scan():
        for note in snapshot.notes:
            try:
                if await _stamp(source, note):
                    stamps.append(Stamp(note.space_id, note.path, note.id))
            except CurationError as error:
                stamps.append(Stamp(note.space_id, note.path, note.id, str(error)))
    return stamps


async def _stamp(source: NoteSource, note: Note) -> bool:
    raw = await source.read(note.space_id, note.path)
    stamped = stamp(raw, note.id)
    if stamped == raw:
        return False
    await source.write(note.space_id, note.path, stamped, expected=raw)
    return True
