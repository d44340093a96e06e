"""What the embedded keyword index keeps of a document, and how it is asked.

Each token carries its group, that is its tenant and layer, so that every group has postings of its
own: a query reads nothing of other tenants and costs no more when they grow. Where tantivy's idf
counts all documents, a boost turns it into the idf inside the group. Why, and what was measured:
docs/decisions/keyword-index.md.
"""

import math
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import cast
from urllib.parse import quote

from tantivy import DocAddress, Document, FieldType, Occur, Query, Schema, SchemaBuilder, Searcher

from hilvan_retrieval.core.analysis import EXACT_WEIGHT, Term, document_tokens, query_terms
from hilvan_retrieval.model.entry import Layer, Uid
from hilvan_retrieval.model.index import Filter, Hit, IndexDocument, KeywordQuery

SCHEMA_VERSION = 2
"""Rises with every change of the fields and of what they hold."""

_TIE_MARGIN = 16
_EVERY_DOCUMENT = "*"


@cache
def schema() -> Schema:
    """Every field of the index: tokens, terms to filter by, and columns of numbers."""
    builder = SchemaBuilder()
    for name in ("stem", "exact"):
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    for name in ("uid", "group", "scope", "category", "topic", "tag", "bucket"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("uid_high", "uid_low", "live_from", "live_until", "revision"):
        builder.add_integer_field(name, fast=True)
    return builder.build()


@lru_cache(maxsize=2**16)
def _escaped(part: str) -> str:
    # Makes `/` a separator that no part holds, keeps spaces out, and encodes what UTF-8 can't.
    return quote(part, safe="", errors="surrogatepass")


def _group(tenant: str, layer: Layer) -> str:
    return f"{_escaped(tenant)}/{layer.value}"


def _topic(owner: str, category: str) -> str:
    return f"{_escaped(owner)}/{_escaped(category)}"


def prepared(document: IndexDocument) -> Document:
    """Analyse a document into what tantivy indexes; nothing of it is stored."""
    group = _group(document.tenant, document.layer)
    tokens = document_tokens(document.text)
    high, low = _halves(document.uid)
    return Document(
        uid=document.uid,
        uid_high=high,
        uid_low=low,
        group=[_EVERY_DOCUMENT, group],
        scope=f"{group}/{_escaped(document.owner)}",
        category=_escaped(document.category),
        topic=_topic(document.owner, document.category),
        tag=[_escaped(tag) for tag in document.tags],
        bucket=document.bucket,
        revision=document.revision,
        live_from=document.live_from_ms,
        live_until=document.live_until_ms,
        stem=" ".join([f"{group}/{token}" for token in tokens.stems]),
        exact=" ".join([f"{group}/{token}" for token in tokens.exact]),
    )


def answer(searcher: Searcher, queries: Iterable[KeywordQuery]) -> list[list[Hit]]:
    """Answer each query as `KeywordIndex.search` promises."""
    terms = {text: query_terms(text) for text in {query.text for query in queries}}
    return [_hits(searcher, query, terms[query.text]) for query in queries]


def _hits(searcher: Searcher, query: KeywordQuery, terms: Iterable[Term]) -> list[Hit]:
    words = _words(searcher, _group(query.filter.tenant, query.filter.layer), terms)
    if not words or not query.filter.owners or query.limit < 1:
        return []
    matching = (Occur.Must, _any(words))
    return _best(searcher, Query.boolean_query([*_conditions(query.filter), matching]), query.limit)


def probe(searcher: Searcher) -> None:
    """Read one term, so that files that are damaged or gone show themselves (ValueError)."""
    searcher.doc_freq("group", _EVERY_DOCUMENT)


def revisions(searcher: Searcher, bucket: str) -> dict[Uid, int]:
    """Read the revision of every document of a bucket."""
    at_most = searcher.doc_freq("bucket", bucket)  # counts what is deleted and not merged yet too
    if not at_most:
        return {}
    found = searcher.search(_any(_terms("bucket", [bucket])), at_most, count=False).hits
    addresses = [address for _, address in found]
    revised = cast("list[int]", searcher.fast_field_values("revision", addresses))
    return {
        _uid(high, low): revision
        for (high, low), revision in zip(_uid_halves(searcher, addresses), revised, strict=True)
    }


def _words(searcher: Searcher, group: str, terms: Iterable[Term]) -> list[Query]:
    """Score a term as the mean of its stems and a share of its exact form."""
    everywhere = searcher.doc_freq("group", _EVERY_DOCUMENT)
    inside = searcher.doc_freq("group", group)

    def weighed(field_name: str, token: str, weight: float) -> list[Query]:
        holding = searcher.doc_freq(field_name, f"{group}/{token}")
        if not holding:
            return []
        term = Query.term_query(schema(), field_name, f"{group}/{token}", "freq")
        return [Query.boost_query(term, weight * _idf(inside, holding) / _idf(everywhere, holding))]

    return [
        query
        for term in terms
        for query in (
            *(one for stem in term.stems for one in weighed("stem", stem, 1 / len(term.stems))),
            *weighed("exact", term.exact, EXACT_WEIGHT),
        )
    ]


def _idf(documents: int, holding: int) -> float:
    """BM25's inverse document frequency as tantivy and Lucene have it, always above zero."""
    return math.log(1 + (documents - holding + 0.5) / (holding + 0.5))


def _conditions(by: Filter) -> list[tuple[Occur, Query]]:
    group = _group(by.tenant, by.layer)
    kept = [
        _terms("scope", (f"{group}/{_escaped(owner)}" for owner in by.owners)),
        _terms("category", map(_escaped, by.categories)),
        _terms("tag", map(_escaped, by.tags)),
    ]
    left_out = [
        _terms("topic", (_topic(owner, category) for owner, category in by.muted)),
        _terms("uid", by.excluded),
    ]
    if by.as_of_ms is not None:
        kept.append([_range("live_from", until=by.as_of_ms)])
        kept.append([_range("live_until", since=by.as_of_ms + 1)])
    return [
        *((Occur.Must, Query.const_score_query(_any(some), 0.0)) for some in kept if some),
        *((Occur.MustNot, one) for some in left_out for one in some),
    ]


def _terms(field_name: str, values: Iterable[str]) -> list[Query]:
    return [Query.term_query(schema(), field_name, value, "basic") for value in values]


def _any(queries: Sequence[Query]) -> Query:
    return Query.boolean_query([(Occur.Should, query) for query in queries])


def _range(field_name: str, since: int | None = None, until: int | None = None) -> Query:
    return Query.range_query(schema(), field_name, FieldType.Integer, since, until)


def _best(searcher: Searcher, query: Query, limit: int) -> list[Hit]:
    """Fetch past the limit until no tie straddles it, because tantivy orders ties by address."""
    asked = limit + _TIE_MARGIN
    found = searcher.search(query, asked, count=False).hits
    while len(found) == asked and found[-1][0] == found[limit - 1][0]:
        asked *= 4
        found = searcher.search(query, asked, count=False).hits
    halves = _uid_halves(searcher, [address for _, address in found])
    ranked = sorted(zip((-score for score, _ in found), halves, strict=True))
    return [Hit(_uid(high, low), -negative) for negative, (high, low) in ranked[:limit]]


def _uid_halves(searcher: Searcher, addresses: list[DocAddress]) -> list[tuple[int, int]]:
    # Two columns of numbers read faster than stored documents, and order as the uid's text does.
    highs, lows = (
        cast("list[int]", searcher.fast_field_values(name, addresses))
        for name in ("uid_high", "uid_low")
    )
    return list(zip(highs, lows, strict=True))


def _halves(uid: Uid) -> tuple[int, int]:
    """Split a uid into two signed 64-bit numbers that order as it does."""
    high, low = divmod(int(uid.replace("-", ""), 16), 2**64)
    return high - 2**63, low - 2**63


def _uid(high: int, low: int) -> Uid:
    digits = f"{high + 2**63:016x}{low + 2**63:016x}"
    return Uid(f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")
