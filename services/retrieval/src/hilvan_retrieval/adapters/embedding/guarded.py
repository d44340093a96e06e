"""A breaker before an embedder that is somewhere else."""

import asyncio
from collections.abc import Sequence

from hilvan_kit.breaker import Attempt, Breaker, Refused
from hilvan_retrieval.errors import SourceError, SourceTimeout, SourceUnavailable
from hilvan_retrieval.model.embedding import EmbeddingModel, Matrix, Vector
from hilvan_retrieval.ports.embedding import Embedder

LATE_SECONDS = 1.0


class GuardedEmbedder:
    """Implements `hilvan_retrieval.ports.Embedder`: while questions fail, few are sent.

    A question that takes longer than ``late_seconds`` is a failure already then, and goes on: a
    model that is being loaded answers it at last. It belongs behind `CachedEmbedder`, which knows
    questions without asking, and whose own questions go on without their callers.
    """

    def __init__(self, inner: Embedder, late_seconds: float = LATE_SECONDS) -> None:
        """Guard the questions of ``inner``; passages wait in the outbox and need no guard."""
        self._inner = inner
        self._late_seconds = late_seconds
        self._breaker: Breaker[type[SourceError]] = Breaker("embedder")

    @property
    def model(self) -> EmbeddingModel:
        """The inner embedder's."""
        return self._inner.model

    async def embed_query(self, text: str) -> Vector:
        """See `Embedder.embed_query`; raises at once, as before, while it is not asked."""
        try:
            with self._breaker.guard() as attempt:
                return await self._try(attempt, text)
        except Refused as refused:
            kind: type[SourceError] = refused.kind
            raise kind("the embedder keeps failing and is not asked for a moment") from None

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed_passages`."""
        return await self._inner.embed_passages(texts)

    async def ping(self) -> None:
        """See `Embedder.ping`."""
        await self._inner.ping()

    async def close(self) -> None:
        """Close the inner embedder."""
        await self._inner.close()

    async def _try(self, attempt: Attempt[type[SourceError]], text: str) -> Vector:
        loop = asyncio.get_running_loop()
        late = loop.call_later(self._late_seconds, attempt.failed, SourceTimeout)
        try:
            vector = await self._inner.embed_query(text)
        except SourceTimeout:
            attempt.failed(SourceTimeout)
            raise
        except SourceError:
            attempt.failed(SourceUnavailable)
            raise
        finally:
            late.cancel()
        attempt.succeeded()
        return vector
