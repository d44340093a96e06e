"""What an embedder promises. Each sentence here is a test of the contract suite."""

from collections.abc import Sequence
from typing import Protocol

from hilvan_retrieval.model.embedding import EmbeddingModel, Matrix, Vector


class Embedder(Protocol):
    """Text to vectors of one model."""

    @property
    def model(self) -> EmbeddingModel:
        """The model's identity, dimensions and calibration; known from the start."""

    async def embed_query(self, text: str) -> Vector:
        """Embed a question. The same text gives the same bytes.

        Raises:
            SourceTimeout: the model did not answer in time.
            SourceUnavailable: the model can't be reached.
        """

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embed stored texts, a row each in their order; no text gives shape ``(0, dimensions)``.

        A text longer than the model reads is embedded by windows whose vectors are averaged, so
        that no part of it is ignored. Raises as `embed_query`.
        """

    async def ping(self) -> None:
        """Return when the model can serve; raise `SourceUnavailable` when it can't."""

    async def close(self) -> None:
        """Release the model; may be called twice."""
