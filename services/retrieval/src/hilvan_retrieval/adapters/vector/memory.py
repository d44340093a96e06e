"""`VectorIndex` in a dictionary: the exact answer that the engines are compared with."""

from collections.abc import Sequence

import numpy as np

from hilvan_retrieval.errors import SourceUnavailable
from hilvan_retrieval.model.entry import Uid
from hilvan_retrieval.model.index import Filter, Hit, IndexDocument, IndexState, VectorQuery


class MemoryVectorIndex:
    """Every allowed document is compared. Durable for as long as the object lives."""

    def __init__(self, dimensions: int) -> None:
        """Make an empty index for vectors of one size."""
        self._dimensions = dimensions
        self._documents: dict[Uid, IndexDocument] = {}
        self._is_new = True
        self._closed = False

    async def ensure(self) -> bool:
        """Be new the first time."""
        self._require_open()
        is_new, self._is_new = self._is_new, False
        return is_new

    async def search(self, queries: Sequence[VectorQuery]) -> list[list[Hit]]:
        """Rank by cosine."""
        self._require_open()
        return [self._answer(query) for query in queries]

    async def upsert(self, documents: Sequence[IndexDocument]) -> None:
        """Keep documents; ValueError for a vector absent, of another size or not finite."""
        self._require_open()
        for document in documents:
            vector = document.vector
            if vector is None or vector.shape != (self._dimensions,):
                raise ValueError(f"vector of {document.uid}: shape is not ({self._dimensions},)")
            if not np.isfinite(vector).all():
                raise ValueError(f"vector of {document.uid}: not finite")
        self._documents.update((document.uid, document) for document in documents)

    async def delete(self, uids: Sequence[Uid]) -> None:
        """Forget documents."""
        self._require_open()
        for uid in uids:
            self._documents.pop(uid, None)

    async def revisions(self, bucket: str) -> dict[Uid, int]:
        """Read the revisions off the documents."""
        self._require_open()
        kept = self._documents.values()
        return {document.uid: document.revision for document in kept if document.bucket == bucket}

    async def state(self) -> IndexState:
        """Count what is kept."""
        self._require_open()
        return IndexState("memory", len(self._documents))

    async def ping(self) -> None:
        """Serve until closed."""
        self._require_open()

    async def drop(self) -> None:
        """Forget everything."""
        self._require_open()
        self._documents.clear()

    async def close(self) -> None:
        """Refuse everything from now on."""
        self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            raise SourceUnavailable("the index is closed")

    def _answer(self, query: VectorQuery) -> list[Hit]:
        hits = [
            Hit(document.uid, _cosine(document, query))
            for document in self._documents.values()
            if _allows(query.filter, document)
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.uid))
        return hits[: max(query.limit, 0)]


def _cosine(document: IndexDocument, query: VectorQuery) -> float:
    assert document.vector is not None  # noqa: S101 - upsert refuses documents without one
    left, right = document.vector.astype(np.float64), query.vector.astype(np.float64)
    norms = float(np.linalg.norm(left) * np.linalg.norm(right))
    cosine = float(left @ right) / norms if norms else 0.0
    # The precision of the engines' scores, so that what ties there ties here.
    return float(np.float32(max(-1.0, min(1.0, cosine))))


def _allows(wanted: Filter, document: IndexDocument) -> bool:
    as_of = wanted.as_of_ms
    return (
        document.tenant == wanted.tenant
        and document.layer is wanted.layer
        and document.owner in wanted.owners
        and (as_of is None or document.live_from_ms <= as_of < document.live_until_ms)
        and (document.owner, document.category) not in wanted.muted
        and document.uid not in wanted.excluded
        and (not wanted.categories or document.category in wanted.categories)
        and (not wanted.tags or not wanted.tags.isdisjoint(document.tags))
    )
