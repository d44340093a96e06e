"""A session, and what it saw of the notes."""

from dataclasses import dataclass
from datetime import datetime


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
