"""What retrieval asks of the outside. Each sentence here is a test of the contract suite."""

from collections.abc import Sequence
from typing import Protocol

from hilvan_retrieval.model import (
    EmbeddingModel,
    Hit,
    IndexDocument,
    IndexState,
    KeywordQuery,
    Matrix,
    Uid,
    Vector,
    VectorQuery,
)


class _Index(Protocol):
    """What both kinds of index promise about their contents."""

    async def upsert(self, documents: Sequence[IndexDocument]) -> None:
        """Add or replace documents by uid.

        When it returns, the next search sees them and a kill of any process loses none. Doing it
        again changes nothing. Of one uid given twice in a call, the last counts. An empty
        sequence does nothing.
        """

    async def delete(self, uids: Sequence[Uid]) -> None:
        """Remove documents; unknown uids are ignored. As visible and durable as `upsert`."""

    async def state(self) -> IndexState:
        """Count the documents and name the engine."""

    async def ping(self) -> None:
        """Return when the engine can serve; raise `SourceUnavailable` when it can't."""

    async def close(self) -> None:
        """Release the engine; may be called twice."""


class VectorIndex(_Index, Protocol):
    """Nearest neighbours by cosine."""

    async def search(self, queries: Sequence[VectorQuery]) -> list[list[Hit]]:
        """Answer all queries in one round trip, in their order.

        Hits come by falling cosine, ties by uid, at most ``limit`` of them. Every condition of
        the filter holds for every hit, and holds inside the search: a filter never makes the
        answer shorter than the documents that it allows.

        Raises:
            SourceTimeout: the engine did not answer in time.
            SourceUnavailable: the engine refused or is gone.
        """


class KeywordIndex(_Index, Protocol):
    """Words by BM25."""

    async def search(self, queries: Sequence[KeywordQuery]) -> list[list[Hit]]:
        """Answer all queries in one round trip, in their order.

        A document matches when it holds any word of the text. Hits come by falling score, ties
        by uid, at most ``limit`` of them, every score above zero. Case, accents and Unicode form
        don't keep a word from matching, but the exact form ranks above a folded one. English
        and Spanish inflections match, CJK text matches by its characters, code identifiers match
        whole and by their parts. The text is never read as a query language. Text without any
        word matches nothing. Filters are as exact as for vectors.

        Raises:
            SourceTimeout: the engine did not answer in time.
            SourceUnavailable: the engine refused or is gone.
        """


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
