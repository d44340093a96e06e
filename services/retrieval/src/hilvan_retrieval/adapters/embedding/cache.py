"""A cache of question vectors before any embedder."""

import asyncio
import unicodedata
from collections import OrderedDict
from collections.abc import Sequence

from hilvan_retrieval.model.embedding import EmbeddingModel, Matrix, Vector
from hilvan_retrieval.ports.embedding import Embedder


class CachedEmbedder:
    """Implements `hilvan_retrieval.ports.Embedder`: keeps the last used question vectors.

    Questions are equal when their NFC form without outer blanks is, and that form is what is
    embedded. Equal questions at the same time are embedded once; whoever stops waiting doesn't
    stop the others. Failures are not kept. ``hits`` counts the questions that started no work,
    ``misses`` those that did. Vectors are read-only, because they are shared.
    """

    def __init__(self, inner: Embedder, capacity: int) -> None:
        """Keep at most ``capacity`` vectors (4 bytes a dimension each) of ``inner``."""
        self._inner = inner
        self._capacity = capacity
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._flights: dict[str, asyncio.Task[Vector]] = {}
        self.hits = 0
        self.misses = 0

    @property
    def model(self) -> EmbeddingModel:
        """The inner embedder's."""
        return self._inner.model

    async def embed_query(self, text: str) -> Vector:
        """See `Embedder.embed_query`."""
        key = unicodedata.normalize("NFC", text).strip()
        if key in self._vectors:
            self.hits += 1
            self._vectors.move_to_end(key)
            return self._vectors[key]
        if key in self._flights:
            self.hits += 1
        else:
            self.misses += 1
            self._flights[key] = asyncio.create_task(self._fly(key))
        return await asyncio.shield(self._flights[key])

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed_passages`; stored texts are not cached."""
        return await self._inner.embed_passages(texts)

    async def ping(self) -> None:
        """See `Embedder.ping`."""
        await self._inner.ping()

    async def close(self) -> None:
        """Close the inner embedder, wait for what is under way, and forget the vectors."""
        await self._inner.close()
        await asyncio.gather(*self._flights.values(), return_exceptions=True)
        self._vectors.clear()

    async def _fly(self, key: str) -> Vector:
        try:
            vector = (await self._inner.embed_query(key)).copy()
        finally:
            del self._flights[key]
        vector.flags.writeable = False
        self._vectors[key] = vector
        if len(self._vectors) > self._capacity:
            self._vectors.popitem(last=False)
        return vector
