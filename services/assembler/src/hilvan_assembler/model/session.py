"""What a session begins with."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SessionOpening:
    """An opened session; ``wire`` is curation's message, passed through."""

    session_id: str
    since: datetime | None
    wire: object


@dataclass(frozen=True, slots=True)
class Changed:
    """An entry of a project; ``wire`` is its message, passed through."""

    category: str
    owner: str
    update_time: datetime
    is_note: bool
    wire: object


@dataclass(frozen=True, slots=True)
class Brief:
    """The caller's projects and a scope's categories, as messages passed through."""

    projects: tuple[object, ...]
    categories: tuple[tuple[str, bool, object], ...]
