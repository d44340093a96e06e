"""Notes kept as Markdown files: `FileNoteSource` on disk, `MemoryNoteSource` in a dict."""

from hilvan_curation.adapters.notes.memory import MemoryNoteSource
from hilvan_curation.adapters.notes.source import FileNoteSource
from hilvan_curation.adapters.notes.stamping import Stamp, stamp_notes

__all__ = ["FileNoteSource", "MemoryNoteSource", "Stamp", "stamp_notes"]
