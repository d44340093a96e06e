"""Which engines this run used, and which it went without."""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version

EDGE = "embedded Qdrant"
DOUBLE = "Qdrant wire double"
QDRANT = "Qdrant server"
OPENSEARCH = "OpenSearch"
TANTIVY = "embedded BM25 (tantivy)"
SQLITE = "SQLite"
POSTGRESQL = "PostgreSQL"
KNOWN = (EDGE, DOUBLE, QDRANT, OPENSEARCH, TANTIVY, SQLITE, POSTGRESQL)

IN_PACKAGES: Mapping[str, Callable[[], str]] = {
    EDGE: lambda: version("qdrant-edge-py"),
    DOUBLE: lambda: version("qdrant-edge-py"),
    TANTIVY: lambda: version("tantivy"),
    SQLITE: lambda: sqlite3.sqlite_version,
}
"""The version of each engine that comes in a package."""


class EngineMissing(Exception):
    """An engine can't be had here; the message is the reason, fit for a person."""


class EngineBroken(Exception):
    """An engine should be there and isn't as it should be: never a reason to skip a test."""


@dataclass(frozen=True, slots=True)
class Note:
    """What one engine was in this run."""

    version: str
    how: str


class Notes:
    """What a run used and what it went without."""

    def __init__(self) -> None:
        """Know of nothing."""
        self._used: dict[str, Note] = {}
        self._missed: dict[str, str] = {}

    def engine(self, name: str, how: str, number: str = "") -> None:
        """Say that an engine really ran; the first note of a name stays."""
        if name not in self._used:
            self._used[name] = Note(number or IN_PACKAGES.get(name, str)(), how)

    def missing(self, name: str, reason: str) -> None:
        """Say that tests went without an engine, and why."""
        self._missed.setdefault(name, reason)

    def report(self) -> list[str]:
        """A line for each engine that ran or was missed, the known ones first; none without."""
        names = [*KNOWN, *sorted({*self._used, *self._missed} - set(KNOWN))]
        lines = [line for name in names if (line := self._line(name))]
        unasked = [name for name in KNOWN if not self._line(name)]
        return [*lines, f"not asked for: {', '.join(unasked)}"] if lines and unasked else lines

    def _line(self, name: str) -> str:
        if name in self._used:
            return f"{name} {self._used[name].version}: {self._used[name].how}"
        return f"{name}: MISSING: {self._missed[name]}" if name in self._missed else ""


NOTES = Notes()
"""Of this run; its summary prints them."""


def note_engine(name: str, how: str, number: str = "") -> None:
    """Say that an engine really ran: its name, how it was obtained, and perhaps its version.

    The version of an engine from a package need not be told.
    """
    NOTES.engine(name, how, number)
