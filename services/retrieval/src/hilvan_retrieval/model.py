"""The frozen values of retrieval. Times are aware datetimes in UTC."""

import hashlib
import unicodedata
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""One embedding: shape ``(dimensions,)``, float32, L2-normalised."""

Matrix = NDArray[np.float32]
"""Embeddings as rows: shape ``(n, dimensions)``, float32, each row L2-normalised."""

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


class Source(StrEnum):
    """A source of candidates."""

    VECTOR = "vector"
    KEYWORD = "keyword"


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


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """What an index keeps of an entry: the fields that it filters by, and what it searches."""

    uid: Uid
    tenant: str
    layer: Layer
    owner: str
    category: str
    tags: tuple[str, ...]
    live_from_ms: int
    live_until_ms: int
    text: str
    vector: Vector | None = None

    @property
    def bucket(self) -> str:
        """The part of the record that the entry is in, one of `BUCKETS`."""
        return self.uid[:2]

    @property
    def revision(self) -> int:
        """A digest of all that is kept but the vector, −2⁶³ to 2⁶³−1.

        Two documents of one uid with equal revisions are the same. The vector is made of the
        text, by the one model of the index.
        """
        parts = (
            self.tenant,
            self.layer.value,
            self.owner,
            self.category,
            str(self.live_from_ms),
            str(self.live_until_ms),
            self.text,
            *self.tags,
        )
        # Lengths, so that no text can pass for two of its neighbours.
        kept = "".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(kept, digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)


@dataclass(frozen=True, slots=True)
class Filter:
    """The one way to address entries in an index: there is no query without a tenant.

    Built from the principal by `hilvan_retrieval.core.plan` and by nothing else. Every condition
    holds inside the engine's query, never afterwards. ``owners`` empty matches nothing.
    ``as_of_ms`` selects ``live_from <= as_of < live_until``; ``None`` selects whatever the time.
    ``muted`` are (owner key, category) pairs that are left out, ``excluded`` single entries.
    ``categories`` and ``tags``, when not empty, keep entries with any of them.
    """

    tenant: str
    owners: frozenset[str]
    layer: Layer
    as_of_ms: int | None
    muted: frozenset[tuple[str, str]] = frozenset()
    excluded: frozenset[Uid] = frozenset()
    categories: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """Nearest neighbours of ``vector`` by cosine, among what ``filter`` allows."""

    filter: Filter
    vector: Vector
    limit: int


@dataclass(frozen=True, slots=True)
class KeywordQuery:
    """The best BM25 matches of any word of ``text``, among what ``filter`` allows."""

    filter: Filter
    text: str
    limit: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer of one index: ``score`` is the engine's own (cosine −1..1, or BM25 ≥ 0)."""

    uid: Uid
    score: float


@dataclass(frozen=True, slots=True)
class IndexState:
    """What an index says of itself. ``document_count`` counts every tenant."""

    engine: str
    document_count: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """Maps a model's raw cosine onto the scale on which every threshold is stated.

    ``points`` are (cosine, calibrated) pairs, rising in both; between them the map is linear,
    outside it is clamped to the first and last value.
    """

    points: tuple[tuple[float, float], ...]

    def __call__(self, cosine: NDArray[np.float32] | np.float32) -> NDArray[np.float32]:
        """Calibrate any array of cosines, keeping its shape."""
        raw, calibrated = zip(*self.points, strict=True)
        return np.asarray(np.interp(cosine, raw, calibrated), dtype=np.float32)

    def inverse(self, calibrated: float) -> float:
        """The cosine that has this calibrated value."""
        raw, values = zip(*self.points, strict=True)
        return float(np.interp(calibrated, values, raw))

    def of(self, cosine: float) -> float:
        """Calibrate one cosine."""
        return float(self(np.float32(cosine)))


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """What makes two vectors comparable: the same ``id`` means the same space."""

    id: str
    dimensions: int
    calibration: Calibration


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


class GenerationState(StrEnum):
    """What an index of a source is for."""

    BUILDING = "building"
    LIVE = "live"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Generation:
    """One index of a source. Every generation is fed, so that a switch in either way is whole.

    ``engine`` names the kind of its engine. ``recipe`` is what decides its contents besides the
    record: the embedding model's id, or the version of the text analysis. ``filled`` counts the
    `BUCKETS` of the record that were put into its outbox since it was made.
    """

    source: Source
    number: int
    engine: str
    recipe: str
    state: GenerationState
    filled: int = 0

    @property
    def feed(self) -> str:
        """The name of its part of the outbox, such as ``vector.2``."""
        return f"{self.source.value}.{self.number}"

    @property
    def is_filled(self) -> bool:
        """Whether all of the record went into its outbox."""
        return self.filled >= len(BUCKETS)


@dataclass(frozen=True, slots=True)
class ParkedRow:
    """An entry that an index was given up on until it is written again or repaired."""

    uid: Uid
    tenant: str
    entry_id: str
    attempts: int
    error: str


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One index is behind the record on one entry. A later write of the entry has a later seq."""

    seq: int
    tenant: str
    entry_id: str
    uid: Uid
    attempts: int


@dataclass(frozen=True, slots=True)
class OutboxCounts:
    """Rows of all tenants that wait for an index, and those that were given up until mended.

    ``oldest_us`` is when the oldest of the waiting was written, in microseconds since 1970.
    """

    pending: int
    parked: int
    oldest_us: int | None = None


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


@dataclass(frozen=True, slots=True)
class CategoryMute:
    """A muted category of an owner; ``until`` None: not by itself."""

    owner: Owner
    category: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class EntryMute:
    """An entry that one user has muted; ``until`` None: not by itself."""

    entry_id: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class SpacePolicy:
    """Who may read and write a space's projects, and which categories are muted there."""

    space_id: str
    readers: frozenset[str]
    writers: frozenset[str]
    project_ids: frozenset[str]
    mutes: tuple[CategoryMute, ...]


@dataclass(frozen=True, slots=True)
class TenantPolicy:
    """Everything that curation said about a tenant, and when it last said that it still holds."""

    spaces: tuple[SpacePolicy, ...] = ()
    entry_mutes: Mapping[str, tuple[EntryMute, ...]] = field(default_factory=dict)
    confirm_time: datetime | None = None


class Action(StrEnum):
    """What a consolidation does to an entry, in the order in which it does it."""

    MERGED = "merged"
    RETIRED = "retired"
    EXPIRED = "expired"
    DECAYED = "decayed"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a consolidation would do, while the entries' contents are still of these hashes."""

    action: Action
    entry_id: str
    other_id: str = ""
    reason: str = ""
    entry_hash: str = ""
    other_hash: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What a consolidation did: the entries that it touched, as they were and as it left them.

    What is in ``before`` and not in ``after`` left the record. ``number`` counts from 1 in its
    run, 0 of a dry run. An undone step has no images any more.
    """

    action: Action
    entry_id: str
    other_id: str = ""
    reason: str = ""
    before: tuple[Entry, ...] = ()
    after: tuple[Entry, ...] = ()
    number: int = 0
    undo_time: datetime | None = None


class RunState(StrEnum):
    """How far a consolidation is."""

    RUNNING = "running"
    DONE = "done"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class Run:
    """A consolidation of a tenant. ``begin_time`` is the moment that it decides by.

    ``position`` is the last part that it has finished, in words of the use case.
    """

    id: str
    tenant: str
    state: RunState
    begin_time: datetime
    end_time: datetime | None = None
    position: str = ""
    step_count: int = 0


class UndoOutcome(StrEnum):
    """What came of undoing a step."""

    UNDONE = "undone"
    CHANGED_SINCE = "changed_since"
    ALREADY = "already"


@dataclass(frozen=True, slots=True)
class FoundConflict:
    """Two entries that can't both hold, by id, and why, for people."""

    older_id: str
    newer_id: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class RecordedConflict:
    """A conflict with the hashes that both contents had when it was last seen, and how often."""

    found: FoundConflict
    older_hash: str
    newer_hash: str
    seen_count: int = 1
