"""The client of an inference server, against a real socket."""

import socket
from collections.abc import AsyncIterator

import numpy as np
import pytest
import pytest_asyncio
from support.retrieval.embedding_models import MAX_TOKENS, InferenceServer, description

from hilvan_retrieval.adapters.embedding.http import HttpEmbedder
from hilvan_retrieval.errors import (
    EngineMisconfigured,
    SourceError,
    SourceTimeout,
    SourceUnavailable,
)


@pytest_asyncio.fixture
async def server() -> AsyncIterator[InferenceServer]:
    """A server that serves the described dimensions."""
    async with InferenceServer() as running:
        yield running


@pytest_asyncio.fixture
async def embedder(server: InferenceServer) -> AsyncIterator[HttpEmbedder]:
    """Its client."""
    client = HttpEmbedder(server.url, "tiny", description(), api_key="s3cret")
    yield client
    await client.close()


async def test_the_request_is_what_openai_defines(
    server: InferenceServer, embedder: HttpEmbedder
) -> None:
    """Model, inputs with their prefix, base64, and the key as bearer token."""
    await embedder.embed_query("where?")
    await embedder.embed_passages(["here"])
    assert server.requests == [
        {"model": "tiny", "input": ["q: where?"], "encoding_format": "base64"},
        {"model": "tiny", "input": ["p: here"], "encoding_format": "base64"},
    ]
    assert server.authorizations == ["Bearer s3cret"] * 2


async def test_a_server_without_key_gets_none(server: InferenceServer) -> None:
    """Without an API key there is no authorization header."""
    client = HttpEmbedder(server.url, "tiny", description())
    await client.ping()
    await client.close()
    assert server.authorizations == [None]


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
async def test_the_address_may_end_in_v1(server: InferenceServer, ending: str) -> None:
    """The base URL works as OpenAI's clients write it, and without."""
    client = HttpEmbedder(server.url + ending, "tiny", description())
    await client.ping()
    await client.close()


async def test_floats_say_the_same_as_base64(
    server: InferenceServer, embedder: HttpEmbedder
) -> None:
    """A server that ignores the encoding is understood as well."""
    encoded = await embedder.embed_passages(["a", "b"])
    server.floats = True
    assert np.allclose(await embedder.embed_passages(["a", "b"]), encoded, atol=1e-7)


async def test_rows_are_ordered_by_index(server: InferenceServer, embedder: HttpEmbedder) -> None:
    """The order of the answer's list doesn't matter."""
    expected = await embedder.embed_passages(["a", "b", "c"])
    server.shuffled = True
    assert np.array_equal(await embedder.embed_passages(["a", "b", "c"]), expected)


async def test_requests_are_bounded(server: InferenceServer, embedder: HttpEmbedder) -> None:
    """Many passages go in several requests of at most 32, and come back in order."""
    texts = [f"text {i}" for i in range(70)]
    rows = await embedder.embed_passages(texts)
    assert [len(request["input"]) for request in server.requests] == [32, 32, 6]
    assert np.allclose(rows[69], (await embedder.embed_passages(texts[69:]))[0])


async def test_long_texts_are_cut_into_windows_without_loss(
    server: InferenceServer, embedder: HttpEmbedder
) -> None:
    """Windows hold at most two bytes a token, no character is lost, and blanks are preferred."""
    text = "año 日本語 " * 60 + "x" * 300
    await embedder.embed_passages([text])
    windows = [w.removeprefix("p: ") for request in server.requests for w in request["input"]]
    assert "".join(windows) == text
    assert all(len(window.encode()) <= 2 * MAX_TOKENS for window in windows)
    assert windows[0].endswith(" ")


async def test_requests_are_bounded_in_bytes(server: InferenceServer) -> None:
    """No request carries more than 256 KiB of text."""
    client = HttpEmbedder(server.url, "big", description(max_tokens=50_000))
    await client.embed_passages(["word " * 20_000] * 5)
    await client.close()
    assert [len(request["input"]) for request in server.requests] == [2, 2, 1]


async def test_a_lost_connection_is_tried_once_more(
    server: InferenceServer, embedder: HttpEmbedder
) -> None:
    """One reset goes unnoticed; a second one is `SourceUnavailable`."""
    server.faults = ["reset"]
    await embedder.embed_query("where?")
    assert len(server.requests) == 2
    server.faults = ["reset", "reset"]
    with pytest.raises(SourceUnavailable):
        await embedder.embed_query("where?")
    assert len(server.requests) == 4


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
async def test_a_refusal_is_unavailable_and_tells_no_secrets(
    server: InferenceServer, embedder: HttpEmbedder, status: int
) -> None:
    """An error status is `SourceUnavailable`, not tried again, without address or key."""
    server.faults = [status]
    with pytest.raises(SourceUnavailable) as raised:
        await embedder.embed_query("where?")
    assert "127.0.0.1" not in str(raised.value)
    assert "s3cret" not in str(raised.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [408, 504])
async def test_a_servers_timeout_is_a_timeout(
    server: InferenceServer, embedder: HttpEmbedder, status: int
) -> None:
    """A server that gave up waiting is `SourceTimeout`."""
    server.faults = [status]
    with pytest.raises(SourceTimeout):
        await embedder.embed_query("where?")


async def test_a_silent_server_times_out(server: InferenceServer) -> None:
    """No answer inside the timeout is `SourceTimeout`; for a ping it is `SourceUnavailable`."""
    client = HttpEmbedder(server.url, "tiny", description(), timeout=0.05)
    server.faults = ["hang", "hang"]
    with pytest.raises(SourceTimeout):
        await client.embed_query("where?")
    with pytest.raises(SourceUnavailable):
        await client.ping()
    await client.close()


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    """A refused connection is `SourceUnavailable`."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        client = HttpEmbedder(f"http://127.0.0.1:{unused.getsockname()[1]}", "tiny", description())
        with pytest.raises(SourceUnavailable):
            await client.ping()
        await client.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"not json",
        b"[]",
        b'{"data": 3}',
        b'{"data": []}',
        b'{"data": [{"index": 1, "embedding": [1.0]}]}',
        b'{"data": [{"index": 0, "embedding": "AAA"}]}',
        b'{"data": [{"index": 0, "embedding": {"a": 1}}]}',
        b'{"data": [{"index": 0, "embedding": null}]}',
    ],
)
async def test_an_unreadable_answer_is_a_source_error(
    server: InferenceServer, embedder: HttpEmbedder, answer: bytes
) -> None:
    """Whatever a server says, nothing but our own errors come out."""
    server.faults = [answer]
    with pytest.raises((SourceError, EngineMisconfigured)):
        await embedder.embed_query("where?")


async def test_other_dimensions_are_a_misconfiguration(server: InferenceServer) -> None:
    """The message names both dimensions and the description."""
    client = HttpEmbedder(server.url, "tiny", description(dimensions=1024))
    with pytest.raises(EngineMisconfigured, match=r"32 dimensions.*\(tiny\) says 1024"):
        await client.ping()
    await client.close()
