"""What an index keeps of an entry, what it is asked, and what it answers."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from hilvan_retrieval.model.embedding import Vector
from hilvan_retrieval.model.entry import Layer, Uid


class Source(StrEnum):
    """A source of candidates."""

    VECTOR = "vector"
    KEYWORD = "keyword"


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

    Built from the principal by `hilvan_retrieval.core.filter` and by nothing else. Every condition
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
