"""The keyword index as a plain reading of its contract: exact BM25 over a dictionary.

It is what tests and a service without an engine run on, and the oracle that the engines must agree
with. Every search reads every document, so it is for hundreds of them.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hilvan_retrieval.core.analysis import EXACT_WEIGHT, Term, document_tokens, query_terms
from hilvan_retrieval.errors import SourceUnavailable
from hilvan_retrieval.model.entry import Uid
from hilvan_retrieval.model.index import Filter, Hit, IndexDocument, IndexState, KeywordQuery

K1 = 1.2
"""How soon repetitions of a word stop to count: Lucene's and tantivy's BM25."""

B = 0.75
"""How much a long text is discounted, 0..1: Lucene's and tantivy's BM25."""


@dataclass(frozen=True, slots=True)
class _Bag:
    """One field of one document: how often it holds each token."""

    counts: Counter[str]
    length: int


@dataclass(frozen=True, slots=True)
class _Indexed:
    document: IndexDocument
    stems: _Bag
    exact: _Bag


class MemoryKeywordIndex:
    """A `KeywordIndex` that is gone with its process."""

    def __init__(self) -> None:
        """Start empty."""
        self._entries: dict[Uid, _Indexed] = {}
        self._is_new = True
        self._is_closed = False

    async def ensure(self) -> bool:
        """See `KeywordIndex`. It is new the first time."""
        await self.ping()
        is_new, self._is_new = self._is_new, False
        return is_new

    async def upsert(self, documents: Sequence[IndexDocument]) -> None:
        """See `KeywordIndex`."""
        await self.ping()
        for document in documents:
            tokens = document_tokens(document.text)
            self._entries[document.uid] = _Indexed(document, _bag(tokens.stems), _bag(tokens.exact))

    async def delete(self, uids: Sequence[Uid]) -> None:
        """See `KeywordIndex`."""
        await self.ping()
        for uid in uids:
            self._entries.pop(uid, None)

    async def search(self, queries: Sequence[KeywordQuery]) -> list[list[Hit]]:
        """See `KeywordIndex`."""
        await self.ping()
        return [self._answer(query) for query in queries]

    async def revisions(self, bucket: str) -> dict[Uid, int]:
        """See `KeywordIndex`."""
        await self.ping()
        kept = (entry.document for entry in self._entries.values())
        return {document.uid: document.revision for document in kept if document.bucket == bucket}

    async def state(self) -> IndexState:
        """See `KeywordIndex`."""
        await self.ping()
        return IndexState("memory", len(self._entries))

    async def ping(self) -> None:
        """See `KeywordIndex`."""
        if self._is_closed:
            raise SourceUnavailable("the keyword index is closed")

    async def drop(self) -> None:
        """See `KeywordIndex`."""
        await self.ping()
        self._entries.clear()

    async def close(self) -> None:
        """See `KeywordIndex`."""
        self._is_closed = True

    def _answer(self, query: KeywordQuery) -> list[Hit]:
        everything = self._entries.values()
        group = [
            entry
            for entry in everything
            if entry.document.tenant == query.filter.tenant
            and entry.document.layer is query.filter.layer
        ]
        stems = _Bm25([e.stems for e in everything], [e.stems for e in group])
        exact = _Bm25([e.exact for e in everything], [e.exact for e in group])
        terms = query_terms(query.text)
        scored = (
            (-_score(entry, terms, stems, exact), entry.document.uid)
            for entry in group
            if _allows(query.filter, entry.document)
        )
        ranked = sorted(pair for pair in scored if pair[0] < 0)
        return [Hit(uid, -negative) for negative, uid in ranked[: max(0, query.limit)]]


class _Bm25:
    """The statistics of one field: lengths among all documents, frequencies inside the group."""

    def __init__(self, everything: Sequence[_Bag], group: Sequence[_Bag]) -> None:
        self._average = sum(bag.length for bag in everything) / max(1, len(everything))
        self._size = len(group)
        self._holding = Counter(token for bag in group for token in bag.counts)

    def score(self, bag: _Bag, token: str) -> float:
        """Score a token in a document by Robertson's formula, with Lucene's idf above zero."""
        count = bag.counts[token]
        if not count:
            return 0.0
        holding = self._holding[token]
        idf = math.log(1 + (self._size - holding + 0.5) / (holding + 0.5))
        return idf * count * (K1 + 1) / (count + K1 * (1 - B + B * bag.length / self._average))


def _score(entry: _Indexed, terms: Iterable[Term], stems: _Bm25, exact: _Bm25) -> float:
    return sum(
        sum(stems.score(entry.stems, stem) for stem in term.stems) / len(term.stems)
        + EXACT_WEIGHT * exact.score(entry.exact, term.exact)
        for term in terms
    )


def _bag(tokens: Sequence[str]) -> _Bag:
    return _Bag(Counter(tokens), len(tokens))


def _allows(by: Filter, document: IndexDocument) -> bool:
    return (
        document.owner in by.owners
        and (by.as_of_ms is None or document.live_from_ms <= by.as_of_ms < document.live_until_ms)
        and (document.owner, document.category) not in by.muted
        and document.uid not in by.excluded
        and (not by.categories or document.category in by.categories)
        and (not by.tags or not by.tags.isdisjoint(document.tags))
    )
