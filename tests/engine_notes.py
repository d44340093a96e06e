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


@dataclass(frozen=True, slots=True)
class Note:
    """What one engine was in this run."""

    version: str
    how: str


USED: dict[str, Note] = {}
MISSED: dict[str, str] = {}


def note_engine(name: str, how: str, number: str = "") -> None:
    """Say that an engine really ran: its name, how it was obtained, and perhaps its version.

    The version of an engine from a package need not be told. The first note of a name stays.
    """
    if name not in USED:
        USED[name] = Note(number or IN_PACKAGES.get(name, str)(), how)


def note_missing(name: str, reason: str) -> None:
    """Say that tests went without an engine, and why."""
    MISSED.setdefault(name, reason)


def report() -> list[str]:
    """A line for each engine that ran or was missed, the known ones first; none without any."""
    names = [*KNOWN, *sorted({*USED, *MISSED} - set(KNOWN))]
    lines = [
        f"{name} {USED[name].version}: {USED[name].how}"
        if name in USED
        else f"{name}: MISSING: {MISSED[name]}"
        for name in names
        if name in USED or name in MISSED
    ]
    unasked = [name for name in KNOWN if name not in USED and name not in MISSED]
    return [*lines, f"not asked for: {', '.join(unasked)}"] if lines and unasked else lines
