"""An embedding model behind an OpenAI-compatible inference server."""

import asyncio
import base64
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import numpy as np
import orjson

from hilvan_retrieval.adapters.embedding.description import ModelDescription
from hilvan_retrieval.adapters.embedding.vectors import Window, join_windows, unit_rows
from hilvan_retrieval.errors import EngineMisconfigured, SourceTimeout, SourceUnavailable
from hilvan_retrieval.model.embedding import EmbeddingModel, Matrix, Vector

_TEXTS_A_REQUEST = 32
_BYTES_A_REQUEST = 256 * 1024
_BYTES_A_TOKEN = 2
"""The server tokenises. Prose holds 3 to 4 bytes of UTF-8 a token and digits about 2, so a window
of this many bytes a token fits in whatever it holds."""


class HttpEmbedder:
    """Implements `hilvan_retrieval.ports.Embedder` over ``POST {base_url}/v1/embeddings``."""

    def __init__(
        self,
        base_url: str,
        model_name: str,
        description: ModelDescription,
        *,
        api_key: str | None = None,
        timeout: float = 10.0,
    ) -> None:
        """Connect at the first call; ``timeout`` is the most seconds one request may take.

        ``base_url`` may end in ``/v1`` or not.
        """
        self._description = description
        self._model_name = model_name
        self._timeout = timeout
        headers = {"content-type": "application/json"}
        if api_key:
            headers["authorization"] = f"Bearer {api_key}"
        root = base_url.rstrip("/").removesuffix("/v1")
        self._client = httpx.AsyncClient(base_url=root, headers=headers, timeout=timeout)

    @property
    def model(self) -> EmbeddingModel:
        """The described model."""
        return self._description.model

    async def embed_query(self, text: str) -> Vector:
        """See `Embedder.embed_query`; also raises EngineMisconfigured, see `_rows`."""
        rows = await self._embed(self._description.query_prefix, [text])
        return rows[0]  # type: ignore[no-any-return]  # a row of a Matrix

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed_passages`; also raises EngineMisconfigured, see `_rows`."""
        return await self._embed(self._description.passage_prefix, texts)

    async def ping(self) -> None:
        """See `Embedder.ping`: embeds a word, which also tries the model and its dimensions."""
        try:
            await self.embed_query("ping")
        except SourceTimeout as error:
            raise SourceUnavailable(str(error)) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _embed(self, prefix: str, texts: Sequence[str]) -> Matrix:
        room = self._description.max_tokens * _BYTES_A_TOKEN
        windows = [w for owner, text in enumerate(texts) for w in _cut(owner, prefix, text, room)]
        batches = [await self._request(batch) for batch in _requests(windows)]
        empty = np.empty((0, self._description.dimensions), np.float32)
        return join_windows(np.concatenate([empty, *batches]), windows, len(texts))

    async def _request(self, batch: Sequence[Window[str]]) -> Matrix:
        body = {
            "model": self._model_name,
            "input": [window.content for window in batch],
            "encoding_format": "base64",
        }
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._post(orjson.dumps(body))
        except (TimeoutError, httpx.TimeoutException) as error:
            raise SourceTimeout("the embedding server did not answer in time") from error
        except (httpx.HTTPError, RuntimeError) as error:  # RuntimeError: the client is closed
            raise SourceUnavailable("the embedding server can't be reached") from error
        if response.status_code in (httpx.codes.REQUEST_TIMEOUT, httpx.codes.GATEWAY_TIMEOUT):
            raise SourceTimeout("the embedding server did not answer in time")
        if not response.is_success:
            raise SourceUnavailable(f"the embedding server answered {response.status_code}")
        return self._rows(response.content, len(batch))

    async def _post(self, body: bytes) -> httpx.Response:
        """Send once, and once more when a kept connection turns out to be gone."""
        try:
            return await self._client.post("/v1/embeddings", content=body)
        except (httpx.NetworkError, httpx.RemoteProtocolError):
            return await self._client.post("/v1/embeddings", content=body)

    def _rows(self, content: bytes, count: int) -> Matrix:
        """Read the answer.

        Raises:
            EngineMisconfigured: the vectors have other dimensions than the description says.
            SourceUnavailable: it is not an answer to ``count`` texts.
        """
        try:
            data = orjson.loads(content)["data"]
            vectors = {int(item["index"]): _vector(item["embedding"]) for item in data}
            ordered = [vectors[i] for i in range(count)]
        except (ValueError, KeyError, TypeError) as error:
            raise SourceUnavailable("the embedding server's answer can't be read") from error
        dimensions = self._description.dimensions
        for vector in ordered:
            if len(vector) != dimensions:
                raise EngineMisconfigured(
                    f"the embedding server gives {len(vector)} dimensions, the description "
                    f"({self._description.id}) says {dimensions}: choose the description of the "
                    "served model, or serve the described one"
                )
        return unit_rows(np.stack(ordered))


def _vector(embedding: Any) -> Vector:
    """One vector, from base64 of little-endian float32 or from a list of numbers."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return np.asarray(embedding, np.float32).reshape(-1)


def _cut(owner: int, prefix: str, text: str, room: int) -> list[Window[str]]:
    """The text in windows of at most ``room`` bytes each, after a blank where there is one."""
    encoded = text.encode()
    windows: list[Window[str]] = []
    start = 0
    while start < len(encoded) or not windows:
        # A character that the cut goes through is left to the next window.
        part = encoded[start : start + room].decode(errors="ignore")
        if start + room < len(encoded) and " " in part:
            part = part[: part.rindex(" ") + 1]
        size = len(part.encode())
        windows.append(Window(owner, size, prefix + part))
        start += size
    return windows


def _requests(windows: Sequence[Window[str]]) -> Iterator[list[Window[str]]]:
    """Group windows, in their order, into requests of bounded count and size."""
    batch: list[Window[str]] = []
    size = 0
    for window in windows:
        if batch and (len(batch) == _TEXTS_A_REQUEST or size + window.weight > _BYTES_A_REQUEST):
            yield batch
            batch, size = [], 0
        batch.append(window)
        size += window.weight
    if batch:
        yield batch
