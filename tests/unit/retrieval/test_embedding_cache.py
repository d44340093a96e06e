"""The cache of question vectors."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from hilvan_retrieval.adapters.embedding.cache import CachedEmbedder
from hilvan_retrieval.adapters.embedding.hashing import HashingEmbedder
from hilvan_retrieval.errors import SourceUnavailable
from hilvan_retrieval.model.embedding import EmbeddingModel, Matrix, Vector


class _GatedEmbedder:
    """A real embedder whose questions wait at a gate, and fail while ``broken``."""

    def __init__(self) -> None:
        self.inner = HashingEmbedder()
        self.gate = asyncio.Event()
        self.gate.set()
        self.started = asyncio.Event()
        self.broken = False
        self.asked: list[str] = []

    @property
    def model(self) -> EmbeddingModel:
        return self.inner.model

    async def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        self.started.set()
        await self.gate.wait()
        if self.broken:
            raise SourceUnavailable("broken")
        return await self.inner.embed_query(text)

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        return await self.inner.embed_passages(texts)

    async def ping(self) -> None:
        await self.inner.ping()

    async def close(self) -> None:
        self.gate.set()
        await self.inner.close()


async def test_a_question_is_embedded_once() -> None:
    """The second time is a hit with the same vector, and nothing is asked of the model."""
    inner = _GatedEmbedder()
    cached = CachedEmbedder(inner, 4)
    first = await cached.embed_query("where?")
    assert await cached.embed_query("where?") is first
    assert (cached.hits, cached.misses, inner.asked) == (1, 1, ["where?"])


async def test_equal_forms_are_one_question() -> None:
    """Outer blanks and the Unicode form don't make another question; case does."""
    inner = _GatedEmbedder()
    cached = CachedEmbedder(inner, 4)
    for text in ("reuni\u00f3n", " reunio\u0301n\n", "Reuni\u00f3n"):
        await cached.embed_query(text)
    assert inner.asked == ["reuni\u00f3n", "Reuni\u00f3n"]


async def test_the_least_recently_used_goes_first() -> None:
    """A full cache drops the question that was asked for the longest time ago."""
    inner = _GatedEmbedder()
    cached = CachedEmbedder(inner, 2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await cached.embed_query(text)
    assert inner.asked == ["a", "b", "c", "b"]


async def test_equal_questions_at_once_share_the_work() -> None:
    """Ten callers that meet start one embedding."""
    inner = _GatedEmbedder()
    cached = CachedEmbedder(inner, 4)
    vectors = await asyncio.gather(*(cached.embed_query("where?") for _ in range(10)))
    assert inner.asked == ["where?"]
    assert all(np.array_equal(vector, vectors[0]) for vector in vectors)
    assert (cached.hits, cached.misses) == (9, 1)


async def test_a_caller_that_gives_up_leaves_the_work_to_the_others() -> None:
    """Cancelling the caller that started the embedding doesn't disturb the one that joined."""
    inner = _GatedEmbedder()
    inner.gate.clear()
    cached = CachedEmbedder(inner, 4)
    starter = asyncio.create_task(cached.embed_query("where?"))
    joiner = asyncio.create_task(cached.embed_query("where?"))
    await inner.started.wait()
    starter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starter
    inner.gate.set()
    assert np.array_equal(await joiner, await inner.inner.embed_query("where?"))
    assert inner.asked == ["where?"]


async def test_a_failure_is_not_kept() -> None:
    """Everyone who waits sees the failure, and the next question tries again."""
    inner = _GatedEmbedder()
    inner.broken = True
    cached = CachedEmbedder(inner, 4)
    results = await asyncio.gather(
        *(cached.embed_query("where?") for _ in range(3)), return_exceptions=True
    )
    assert [type(result) for result in results] == [SourceUnavailable] * 3
    inner.broken = False
    await cached.embed_query("where?")
    assert inner.asked == ["where?", "where?"]


async def test_a_shared_vector_cant_be_written() -> None:
    """Whoever tries to change a cached vector fails, and the cache stays right."""
    vector = await CachedEmbedder(HashingEmbedder(), 4).embed_query("where?")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1


async def test_closing_waits_for_what_is_under_way() -> None:
    """An embedding in progress at `close` ends there, with the inner embedder's own answer."""
    inner = _GatedEmbedder()
    inner.gate.clear()
    cached = CachedEmbedder(inner, 4)
    waiting = asyncio.create_task(cached.embed_query("where?"))
    await inner.started.wait()
    await cached.close()
    with pytest.raises(SourceUnavailable):
        await waiting
