"""What both kinds of index promise. Each sentence here is a test of the contract suite."""

from collections.abc import Sequence
from typing import Protocol

from hilvan_retrieval.model.entry import (
    Uid,
)
from hilvan_retrieval.model.index import Hit, IndexDocument, IndexState, KeywordQuery, VectorQuery


class _Index(Protocol):
    """What both kinds of index promise about their contents."""

    async def ensure(self) -> bool:
        """Make what is missing of the index; True when there was none, so that it is empty now.

        To be called before the first use, and again when the engine may have lost the index.

        Raises:
            EngineMisconfigured: there is one that can't be used; the message names the fix.
            SourceTimeout: the engine did not answer in time.
            SourceUnavailable: the engine refused or is gone.
        """

    async def upsert(self, documents: Sequence[IndexDocument]) -> None:
        """Add or replace documents by uid.

        When it returns, the next search sees them and a kill of any process loses none. Doing it
        again changes nothing. Of one uid given twice in a call, the last counts. An empty
        sequence does nothing.
        """

    async def delete(self, uids: Sequence[Uid]) -> None:
        """Remove documents; unknown uids are ignored. As visible and durable as `upsert`."""

    async def revisions(self, bucket: str) -> dict[Uid, int]:
        """Every document of one of `BUCKETS`, of all tenants: its revision by uid."""

    async def state(self) -> IndexState:
        """Count the documents and name the engine."""

    async def ping(self) -> None:
        """Return when the engine can serve; raise `SourceUnavailable` when it can't."""

    async def drop(self) -> None:
        """Remove the index with all that it holds; nothing but `close` may follow."""

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
        """Answer all queries in their order; more queries are no more round trips.

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
