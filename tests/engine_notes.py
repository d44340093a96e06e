"""Which engines this run used, and which it went without."""

from dataclasses import dataclass


class EngineMissing(Exception):
    """An engine can't be had here; the message is the reason, fit for a person."""


@dataclass(frozen=True, slots=True)
class Note:
    """What one engine was in this run."""

    version: str
    how: str


USED: dict[str, Note] = {}
MISSED: dict[str, str] = {}


def note_engine(name: str, how: str, version: str = "") -> None:
    """Say that an engine really ran, and how it was obtained."""
    USED.setdefault(name, Note(version, how))


def note_missing(name: str, reason: str) -> None:
    """Say that tests went without an engine, and why."""
    MISSED.setdefault(name, reason)
