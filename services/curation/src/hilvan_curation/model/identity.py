"""Who the assistant is: identity blocks."""

from dataclasses import dataclass
from enum import StrEnum


class IdentityGroup(StrEnum):
    """The part of the assistant's identity that a block belongs to."""

    SOUL = "soul"
    STYLE = "style"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True)
class IdentityBlock:
    """A piece of who the assistant is, kept in a note; blocks of a group go by ``order``."""

    id: str
    group: IdentityGroup
    kind: str
    text: str
    active: bool
    order: int
    note_id: str
