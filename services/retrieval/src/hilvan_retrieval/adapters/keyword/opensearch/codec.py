"""What OpenSearch keeps of a document, and how it is asked.

Each token carries its group, that is its tenant and layer, so that its document frequency is the
group's own. Where BM25 takes the number of documents from the whole shard, a boost turns its idf
into that inside the group. Why, and what was measured: docs/decisions/opensearch.md.
"""

import hashlib
import math
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import orjson

from hilvan_retrieval.core.analysis import EXACT_WEIGHT, Term, document_tokens, query_terms
from hilvan_retrieval.model.entry import Layer, Uid
from hilvan_retrieval.model.index import Filter, Hit, IndexDocument, KeywordQuery

LARGEST_ANSWER = 10_000
"""Hits that one query gives at most: `index.max_result_window` of an index left as it is made."""

BATCH_BYTES = 4 * 2**20
"""Where a bulk request ends; one document may be longer."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """How many documents of one shard hold something: each token by field, any token by field.

    Deleted documents count until they are merged away, here as in OpenSearch's own idf.
    """

    holding: Mapping[str, Mapping[str, int]]
    documents: Mapping[str, int]

    @staticmethod
    def read(answer: Mapping[str, Any]) -> "Statistics":
        """Read the answer to `statistics_request`."""
        fields = answer.get("term_vectors", {})
        return Statistics(
            {
                name: {token: told["doc_freq"] for token, told in field.get("terms", {}).items()}
                for name, field in fields.items()
            },
            {
                name: field.get("field_statistics", {}).get("doc_count", 0)
                for name, field in fields.items()
            },
        )

    def boost(self, field: str, group: str, token: str) -> float:
        """What turns the shard's idf of a token into that inside its group."""
        holding = self.holding.get(field, {}).get(token, 0)
        inside = self.holding.get("group", {}).get(group, 0)
        return _idf(inside, holding) / _idf(self.documents.get(field, 0), holding)


@dataclass(frozen=True, slots=True)
class Question:
    """A query that may have hits, analysed; the group's name stands before each of its tokens."""

    query: KeywordQuery
    group: str
    terms: Sequence[Term]


def questions(queries: Sequence[KeywordQuery]) -> dict[int, Question]:
    """Analyse the queries, by position; those that match nothing are left out."""
    terms = {text: query_terms(text) for text in {query.text for query in queries}}
    return {
        position: Question(query, _group(query.filter.tenant, query.filter.layer), terms[text])
        for position, query in enumerate(queries)
        if (text := query.text) and terms[text] and query.filter.owners and query.limit > 0
    }


def preference(asked: Iterable[Question]) -> str:
    """Name the copy to ask: a tenant's calls meet the same one, so they agree on scores."""
    return "t" + next(iter(asked)).group


def statistics_request(asked: Iterable[Question]) -> bytes:
    """Ask how frequent the questions' tokens are, as the term vectors of a document of them."""
    stems = {f"{q.group}{stem}" for q in asked for term in q.terms for stem in term.stems}
    exact = {f"{q.group}{term.exact}" for q in asked for term in q.terms}
    group = {q.group for q in asked}
    return orjson.dumps(
        {"doc": {"stem": " ".join(stems), "exact": " ".join(exact), "group": list(group)}}
    )


def search_request(asked: Iterable[Question], told: Statistics, *, milliseconds: int) -> bytes:
    """Write the lines of one `_msearch`."""
    asked = list(asked)
    header = {"preference": preference(asked), "allow_partial_search_results": False}
    return _lines(
        line
        for question in asked
        for line in (
            header,
            {
                "size": min(question.query.limit, LARGEST_ANSWER),
                "track_total_hits": False,
                "timeout": f"{milliseconds}ms",
                # Sort values hold all that is asked for, so nothing stored is read.
                "stored_fields": "_none_",
                "sort": ["_score", "uid"],
                "query": {
                    "bool": {
                        "should": _words(question, told),
                        "minimum_should_match": 1,
                        **_conditions(question.query.filter),
                    }
                },
            },
        )
    )


def hits(response: Mapping[str, Any]) -> list[Hit]:
    """Read the answer to one query."""
    found = response.get("hits", {}).get("hits", ())
    return [Hit(Uid(uid), score) for score, uid in (hit["sort"] for hit in found)]


def revisions_request(bucket: str, after: Sequence[Any] | None, size: int) -> bytes:
    """Ask for the next documents of a bucket by uid."""
    request: dict[str, Any] = {
        "size": size,
        "track_total_hits": False,
        "stored_fields": "_none_",
        "sort": ["uid", "revision"],
        "query": {"bool": {"filter": [{"term": {"bucket": bucket}}]}},
    }
    return orjson.dumps(request if after is None else {**request, "search_after": after})


def bulk_upserts(documents: Iterable[IndexDocument]) -> list[bytes]:
    """Write documents as the bodies of bulk requests."""
    return _batches(
        _lines(({"index": {"_id": document.uid}}, _prepared(document))) for document in documents
    )


def bulk_deletes(uids: Iterable[Uid]) -> list[bytes]:
    """Write deletes as the bodies of bulk requests."""
    return _batches(_lines(({"delete": {"_id": uid}},)) for uid in uids)


def _prepared(document: IndexDocument) -> dict[str, Any]:
    group = _group(document.tenant, document.layer)
    tokens = document_tokens(document.text)
    return {
        "stem": " ".join([group + token for token in tokens.stems]),
        "exact": " ".join([group + token for token in tokens.exact]),
        "group": group,
        "scope": _scope(document.tenant, document.layer, document.owner),
        "category": _escaped(document.category),
        "topic": _topic(document.owner, document.category),
        "tag": [_escaped(tag) for tag in document.tags],
        "bucket": document.bucket,
        "uid": document.uid,
        "revision": document.revision,
        "live_from": document.live_from_ms,
        "live_until": document.live_until_ms,
    }


def _words(question: Question, told: Statistics) -> list[dict[str, Any]]:
    """Score a term as the mean of its stems and a share of its exact form."""

    def weighed(field: str, token: str, weight: float) -> dict[str, Any]:
        value = question.group + token
        boost = weight * told.boost(field, question.group, value)
        return {"term": {field: {"value": value, "boost": boost}}}

    return [
        clause
        for term in question.terms
        for clause in (
            *(weighed("stem", stem, 1 / len(term.stems)) for stem in term.stems),
            weighed("exact", term.exact, EXACT_WEIGHT),
        )
    ]


def _conditions(by: Filter) -> dict[str, Any]:
    kept: list[dict[str, Any]] = [
        {"terms": {"scope": [_scope(by.tenant, by.layer, owner) for owner in by.owners]}},
    ]
    if by.categories:
        kept.append({"terms": {"category": [_escaped(name) for name in by.categories]}})
    if by.tags:
        kept.append({"terms": {"tag": [_escaped(tag) for tag in by.tags]}})
    if by.as_of_ms is not None:
        kept.append({"range": {"live_from": {"lte": by.as_of_ms}}})
        kept.append({"range": {"live_until": {"gt": by.as_of_ms}}})
    left_out: list[dict[str, Any]] = []
    if by.muted:
        left_out.append({"terms": {"topic": [_topic(*pair) for pair in by.muted]}})
    if by.excluded:
        left_out.append({"ids": {"values": list(by.excluded)}})
    return {"filter": kept, "must_not": left_out}


def _idf(documents: int, holding: int) -> float:
    """BM25's inverse document frequency as Lucene has it, above zero."""
    return math.log(1 + max(0.5, documents - holding + 0.5) / (holding + 0.5))


@lru_cache(maxsize=2**16)
def _escaped(part: str) -> str:
    # Makes `/` a separator that no part holds, and encodes what UTF-8 can't.
    return quote(part, safe="", errors="surrogatepass")


@lru_cache(maxsize=2**16)
def _group(tenant: str, layer: Layer) -> str:
    # Eleven characters. Two groups of one name would only count together: filters go by scope.
    name = f"{_escaped(tenant)}/{layer.value}".encode()
    return urlsafe_b64encode(hashlib.blake2b(name, digest_size=8).digest())[:11].decode()


def _scope(tenant: str, layer: Layer, owner: str) -> str:
    return f"{_escaped(tenant)}/{layer.value}/{_escaped(owner)}"


def _topic(owner: str, category: str) -> str:
    return f"{_escaped(owner)}/{_escaped(category)}"


def _lines(values: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE) for value in values)


def _batches(pieces: Iterable[bytes]) -> list[bytes]:
    batches: list[bytearray] = []
    for piece in pieces:
        if not batches or len(batches[-1]) + len(piece) > BATCH_BYTES:
            batches.append(bytearray())
        batches[-1] += piece
    return [bytes(batch) for batch in batches]
