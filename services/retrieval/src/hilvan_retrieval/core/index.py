"""What an index keeps of an entry, and how what it has compares with what it should have."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hilvan_retrieval.model.embedding import Vector
from hilvan_retrieval.model.entry import Entry, Uid
from hilvan_retrieval.model.index import IndexDocument


def document(tenant: str, uid: Uid, entry: Entry, vector: Vector | None = None) -> IndexDocument:
    """What an index keeps of an entry."""
    return IndexDocument(
        uid=uid,
        tenant=tenant,
        layer=entry.layer,
        owner=entry.owner.key,
        category=entry.category,
        tags=entry.tags,
        live_from_ms=entry.live_from_ms,
        live_until_ms=entry.live_until_ms,
        text=entry.searchable_text,
        vector=vector,
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """Where an index does not agree with the record: what it lacks, has otherwise, or only has."""

    missing: frozenset[Uid] = frozenset()
    stale: frozenset[Uid] = frozenset()
    ghosts: frozenset[Uid] = frozenset()

    @property
    def uids(self) -> frozenset[Uid]:
        """All of them."""
        return self.missing | self.stale | self.ghosts

    def without(self, known: Collection[Uid]) -> "Difference":
        """Less what is known to differ."""
        return Difference(
            self.missing - set(known), self.stale - set(known), self.ghosts - set(known)
        )


def compare(record: Mapping[Uid, int], index: Mapping[Uid, int]) -> Difference:
    """Compare revisions by uid."""
    return Difference(
        missing=frozenset(record.keys() - index.keys()),
        stale=frozenset(uid for uid in record.keys() & index.keys() if record[uid] != index[uid]),
        ghosts=frozenset(index.keys() - record.keys()),
    )
