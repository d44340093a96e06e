"""A category of memory, as its note describes it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Axis(StrEnum):
    """Whose a category is."""

    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class CategoryNote:
    """What a category note says of its category: on which axis it is, summary and mute.

    ``muted_until`` is when a mute ends; None is a mute without an end. It means nothing while
    ``muted`` is false.
    """

    axis: Axis
    owner_id: str
    category: str
    summary: str
    muted: bool
    muted_until: datetime | None
    note_id: str
