"""Notes kept as Markdown files: `FileNoteSource` on disk, `MemoryNoteSource` in a dict."""

from hilvan_curation.adapters.files.memory import MemoryNoteSource
from hilvan_curation.adapters.files.source import FileNoteSource
from hilvan_curation.adapters.files.stamping import Stamp, stamp_notes

__all__ = ["FileNoteSource", "MemoryNoteSource", "Stamp", "stamp_notes"]
