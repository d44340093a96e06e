"""An entry of the memory store, whole, as retrieval gives it. Times are aware, in UTC."""

from dataclasses import dataclass, field
from datetime import datetime

from hilvan_assembler.model.kind import Layer


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an entry came from; ``position`` is its place in ``thread``."""

    kind: str = ""
    uri: str = ""
    thread: str = ""
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry. ``owner`` is a key such as ``user:ana``; a signal that nobody stated is None."""

    id: str
    layer: Layer
    owner: str
    text: str
    create_time: datetime
    update_time: datetime
    category: str = ""
    title: str = ""
    importance: float | None = None
    confidence: float | None = None
    access_count: int = 0
    reinforcement_count: int = 0
    last_access_time: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    superseded_by: str = ""
    supersede_time: datetime | None = None
    topics: tuple[str, ...] = ()
    outcome: str = ""
    steps: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    origin: Origin = field(default_factory=Origin)
    content_hash: str = ""
    etag: str = ""

    @property
    def note_id(self) -> str:
        """The note that a passage belongs to; empty for other layers."""
        return self.origin.uri if self.layer is Layer.NOTE else ""
