"""What every embedder promises: the sentences of `hilvan_retrieval.ports.Embedder`."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from support.retrieval.embedding_models import InferenceServer, Shape, description, write_model

from hilvan_retrieval.adapters.embedding.cache import CachedEmbedder
from hilvan_retrieval.adapters.embedding.description import Pooling, describe
from hilvan_retrieval.adapters.embedding.hashing import HashingEmbedder
from hilvan_retrieval.adapters.embedding.http import HttpEmbedder
from hilvan_retrieval.adapters.embedding.onnx import OnnxEmbedder
from hilvan_retrieval.errors import SourceUnavailable
from hilvan_retrieval.model.embedding import Matrix
from hilvan_retrieval.ports.embedding import Embedder

E5_VARIABLE = "HILVAN_TEST_E5_DIR"
KINDS = ("hashing", "cached", "onnx-sentence", "onnx-tokens", "http", "e5")
TEXTS = [
    "La reunión del año es el miércoles a las diez.",
    "Ana moved to room 40.",
    "x",
    "The production database is PostgreSQL 15, and its replica is in another city.",
    "Ana moved to room 41.",
]

Make = Callable[[], Embedder]


def _e5() -> Embedder:
    directory = os.environ.get(E5_VARIABLE)
    if not directory:
        pytest.skip(f"{E5_VARIABLE} names no directory made by the embedding's prepare command")
    return OnnxEmbedder(Path(directory), describe(Path(directory), "multilingual-e5-small"))


@pytest_asyncio.fixture(params=KINDS)
async def make(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Make]:
    """Makes embedders of one kind; closes all of them afterwards."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(InferenceServer())
        makers: dict[str, Make] = {
            "hashing": HashingEmbedder,
            "cached": lambda: CachedEmbedder(HashingEmbedder(), capacity=8),
            "onnx-sentence": lambda: OnnxEmbedder(write_model(tmp_path), description()),
            "onnx-tokens": lambda: OnnxEmbedder(
                write_model(tmp_path, Shape(sentence=False)), description(pooling=Pooling.MEAN)
            ),
            "http": lambda: HttpEmbedder(server.url, "tiny", description()),
            "e5": _e5,
        }

        def make_and_close() -> Embedder:
            embedder = makers[request.param]()
            stack.push_async_callback(embedder.close)
            return embedder

        yield make_and_close


@pytest.fixture
def embedder(make: Make) -> Embedder:
    """One embedder."""
    return make()


def test_the_model_is_known_from_the_start(embedder: Embedder) -> None:
    """Identity, dimensions and a rising calibration are there before the first call."""
    assert embedder.model.id
    assert embedder.model.dimensions >= 2
    calibrated = embedder.model.calibration(np.linspace(-1, 1, 50, dtype=np.float32))
    assert np.all(np.diff(calibrated) >= 0)
    assert calibrated[0] < calibrated[-1]


async def test_a_question_becomes_a_unit_vector(embedder: Embedder) -> None:
    """A question gives one float32 vector of the model's dimensions and length 1."""
    for text in ["Where is Ana?", "¿Qué?", "", " "]:
        vector = await embedder.embed_query(text)
        assert vector.shape == (embedder.model.dimensions,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


async def test_the_same_question_gives_the_same_bytes(make: Make) -> None:
    """Asking again, or asking another instance, gives equal bytes."""
    first, second = make(), make()
    expected = (await first.embed_query(TEXTS[0])).tobytes()
    assert (await first.embed_query(TEXTS[0])).tobytes() == expected
    assert (await second.embed_query(TEXTS[0])).tobytes() == expected


async def test_other_questions_give_other_vectors(embedder: Embedder) -> None:
    """One changed digit is enough."""
    one, other = [await embedder.embed_query(TEXTS[i]) for i in (1, 4)]
    assert not np.allclose(one, other, atol=1e-4)


async def test_passages_become_rows_in_their_order(embedder: Embedder) -> None:
    """Texts of mixed lengths come back as unit rows, each as if it had been alone."""
    together = await embedder.embed_passages(TEXTS)
    assert together.shape == (len(TEXTS), embedder.model.dimensions)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    alone = [(await embedder.embed_passages([text]))[0] for text in TEXTS]
    assert np.allclose(together, alone, atol=1e-5)


async def test_no_passage_gives_no_row(embedder: Embedder) -> None:
    """An empty sequence gives shape (0, dimensions)."""
    rows = await embedder.embed_passages([])
    assert rows.shape == (0, embedder.model.dimensions)
    assert rows.dtype == np.float32


@pytest.mark.parametrize("place", [0, 150, 299])
async def test_no_part_of_a_long_text_is_ignored(embedder: Embedder, place: int) -> None:
    """One changed word at the start, in the middle or at the end of 300 changes the vector."""
    words = [f"word{i % 7}" for i in range(300)]
    changed = [*words]
    changed[place] = "bicycles"
    rows = await embedder.embed_passages([" ".join(words), "short", " ".join(changed)])
    assert not np.allclose(rows[0], rows[2], atol=1e-6)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


async def test_a_long_question_is_read_to_its_end(embedder: Embedder) -> None:
    """A question longer than the model reads is embedded by windows as well."""
    text = " ".join(f"word{i % 7}" for i in range(300))
    one = await embedder.embed_query(text)
    other = await embedder.embed_query(f"{text} bicycles")
    assert not np.allclose(one, other, atol=1e-6)


async def test_calls_may_meet(embedder: Embedder) -> None:
    """Calls at the same time answer as they do one after another."""
    questions = [await embedder.embed_query(text) for text in TEXTS]
    passages = await embedder.embed_passages(TEXTS)
    work: list[Awaitable[Matrix]] = [embedder.embed_query(text) for text in TEXTS]
    *met, met_passages = await asyncio.gather(*work, embedder.embed_passages(TEXTS))
    assert np.array_equal(met, questions)
    assert np.array_equal(met_passages, passages)


async def test_whoever_gives_up_disturbs_nobody(embedder: Embedder) -> None:
    """After a call was cancelled on its way, the next one is answered as ever."""
    expected = await embedder.embed_passages(TEXTS[:1])
    task = asyncio.ensure_future(embedder.embed_passages(TEXTS * 20))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert np.array_equal(await embedder.embed_passages(TEXTS[:1]), expected)


async def test_ping_returns_while_the_model_serves(embedder: Embedder) -> None:
    """A model that serves answers a ping."""
    await embedder.ping()


async def test_a_closed_model_is_unavailable(embedder: Embedder) -> None:
    """After `close`, which may be called twice, everything raises `SourceUnavailable`."""
    await embedder.embed_query(TEXTS[0])
    await embedder.close()
    await embedder.close()
    with pytest.raises(SourceUnavailable):
        await embedder.ping()
    with pytest.raises(SourceUnavailable):
        await embedder.embed_query(TEXTS[0])
    with pytest.raises(SourceUnavailable):
        await embedder.embed_passages(TEXTS)
