"""An entry of the record, whose it is, and what a write does to it. Times are aware, in UTC."""

import hashlib
import unicodedata
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType

from hilvan_retrieval.model.embedding import Vector

Uid = NewType("Uid", str)
"""The key of an entry across tenants: a canonical lower-case UUID text, see `entry_uid`."""


_UID_NAMESPACE = uuid.UUID("6f0a6a1e-6f0e-5b9e-9f0c-8a7d1c3b2e55")


BUCKETS = tuple(f"{number:02x}" for number in range(256))
"""The record in 256 parts of about equal size, by the first two digits of the uid: what a job over
everything takes at a time."""


FOREVER_MS = 2**53 - 1
"""The end of an open validity interval in milliseconds since 1970: exact in a JSON number."""


class Layer(StrEnum):
    """What kind of entry a record is."""

    MEMORY = "memory"
    EPISODE = "episode"
    PROCEDURE = "procedure"
    NOTE = "note"


class Axis(StrEnum):
    """Whose an entry is. Only note passages are ever owned by a space."""

    USER = "user"
    PROJECT = "project"
    SPACE = "space"


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """The owner of an entry inside its tenant."""

    axis: Axis
    id: str

    @property
    def key(self) -> str:
        """The owner as one term of an index, such as ``user:ana``."""
        return f"{self.axis.value}:{self.id}"

    @staticmethod
    def parse(key: str) -> "Owner":
        """Read what `key` wrote; ValueError for an unknown axis."""
        axis, _, owner_id = key.partition(":")
        return Owner(Axis(axis), owner_id)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an entry came from.

    ``thread`` and ``position`` place it in a sequence (a conversation's session and the turn in
    it), so that neighbours of a hit can be told.
    """

    kind: str = ""
    uri: str = ""
    thread: str = ""
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of the store. ``None`` in a signal means that nobody stated it.

    ``decay_time`` is when consolidation last judged it: merged, retired, or lowered its confidence.
    """

    id: str
    layer: Layer
    owner: Owner
    text: str
    create_time: datetime
    update_time: datetime
    title: str = ""
    category: str = ""
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
    decay_time: datetime | None = None
    version: int = 0

    @property
    def content_hash(self) -> str:
        """SHA-256 of everything that is rendered, so that equal content is equal in any store."""
        parts = (
            self.layer.value,
            self.title,
            self.text,
            self.outcome,
            *self.topics,
            "",
            *self.steps,
        )
        canonical = unicodedata.normalize("NFC", "\x1f".join(parts))
        return hashlib.sha256(canonical.encode()).hexdigest()

    @property
    def searchable_text(self) -> str:
        """What both indexes read: title, text, topics, steps and outcome, a line each."""
        parts = (self.title, self.text, " ".join(self.topics), *self.steps, self.outcome)
        return "\n".join(part for part in parts if part)

    @property
    def live_from_ms(self) -> int:
        """Start of the interval in which the entry counts, in milliseconds since 1970."""
        return _ms(self.valid_from) if self.valid_from else 0

    @property
    def live_until_ms(self) -> int:
        """Its end, exclusive: the end of validity or the supersession, whichever came first."""
        ends = [_ms(end) for end in (self.valid_until, self.supersede_time) if end]
        return min(ends, default=FOREVER_MS)


def entry_uid(tenant: str, entry_id: str) -> Uid:
    """The entry's key across tenants: a UUIDv5, so that equal ids of two tenants never meet."""
    return Uid(str(uuid.uuid5(_UID_NAMESPACE, f"{tenant}\x00{entry_id}")))


def _ms(time: datetime) -> int:
    return int(time.timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class Stored:
    """An entry as the record has it, with its vector where one was asked for and is known."""

    entry: Entry
    vector: Vector | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a write answers; kept with its request id, so that a replay answers the same."""

    outcome: str
    entry: Entry | None = None
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What a write does to the record: entries to put, ids to remove, and the answer.

    ``vectors`` are embeddings of put entries that are known already, by id, made by ``model``.
    ``quiet`` puts touch nothing that an index keeps, so they need no outbox rows (counters only).
    """

    answer: Answer
    puts: tuple[Entry, ...] = ()
    deletes: tuple[str, ...] = ()
    vectors: Mapping[str, Vector] = field(default_factory=dict)
    model: str = ""
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class RequestKey:
    """A caller's request id with the hash of its request."""

    request_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class EntryQuery:
    """A page of entries by falling update time, then id; ``owners`` None: all of the tenant."""

    tenant: str
    owners: frozenset[str] | None
    layers: frozenset[Layer]
    categories: frozenset[str]
    updated_after: datetime | None
    limit: int
    after: tuple[int, str] | None = None
