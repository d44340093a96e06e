"""An embedder without a model: a test double, and the last resort of a demo."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np

from hilvan_retrieval.adapters.embedding.vectors import unit_rows
from hilvan_retrieval.errors import SourceUnavailable
from hilvan_retrieval.model.embedding import Calibration, EmbeddingModel, Matrix, Vector

_WORD = re.compile(r"\w+")
_TRIGRAM_WEIGHT = 0.4
_CONSTANT = 0.1
_CALIBRATION = Calibration(((0.0, 0.35), (1.0, 1.0)))


class HashingEmbedder:
    """Implements `hilvan_retrieval.ports.Embedder` with hashed words and character trigrams.

    Feature hashing with signs (Weinberger et al. 2009): texts that share words, or parts of
    words, are near; meaning it doesn't know. Case and accents don't count. Equal in every process.
    """

    def __init__(self, dimensions: int = 256) -> None:
        """Make vectors of ``dimensions`` components, at least 2."""
        self._model = EmbeddingModel(f"hashing-{dimensions}", dimensions, _CALIBRATION)
        self._closed = False

    @property
    def model(self) -> EmbeddingModel:
        """Named after its dimensions; unrelated texts are calibrated to about 0.4."""
        return self._model

    async def embed_query(self, text: str) -> Vector:
        """See `Embedder.embed_query`."""
        return (await self.embed_passages([text]))[0]  # type: ignore[no-any-return]  # a row

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed_passages`; there is no longest text."""
        await self.ping()
        rows = np.zeros((len(texts), self._model.dimensions), np.float32)
        # No feature falls on the first component: a text without words has a direction as well.
        rows[:, 0] = _CONSTANT
        for row, text in zip(rows, texts, strict=True):
            for feature, weight in _features(text):
                digest = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest())
                place, sign = divmod(digest, 2)
                row[1 + place % (len(row) - 1)] += weight if sign else -weight
        return unit_rows(rows)

    async def ping(self) -> None:
        """See `Embedder.ping`."""
        if self._closed:
            raise SourceUnavailable("the embedder is closed")

    async def close(self) -> None:
        """Refuse what comes after."""
        self._closed = True


def _features(text: str) -> Iterator[tuple[str, float]]:
    """Each word, and each trigram of the word between marks of its ends, with its weight."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    folded = "".join(mark for mark in decomposed if not unicodedata.combining(mark))
    for word in _WORD.findall(folded):
        yield word, 1.0
        marked = f"^{word}$"
        for start in range(len(marked) - 2):
            yield marked[start : start + 3], _TRIGRAM_WEIGHT
