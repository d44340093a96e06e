"""No query, however odd, takes an engine from those who ask after it."""

from collections.abc import AsyncIterator

import numpy as np
import orjson
import pytest
from support.congruence.engines import keyword_engine, vector_engine
from support.retrieval.index_documents import document, only
from support.retrieval.record import ANA, AS_ANA, NOW, SPACE, entry, sqlite_record

from hilvan_kit.breaker import FAILURES_IN_A_ROW
from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.adapters.embedding.hashing import HashingEmbedder
from hilvan_retrieval.adapters.keyword.memory import MemoryKeywordIndex
from hilvan_retrieval.adapters.keyword.opensearch import OpenSearchIndex
from hilvan_retrieval.adapters.vector.memory import MemoryVectorIndex
from hilvan_retrieval.core.filter import CandidateRequest
from hilvan_retrieval.errors import QueryRefused
from hilvan_retrieval.model.entry import Answer, Change, Layer, Owner, Uid
from hilvan_retrieval.model.index import KeywordQuery, VectorQuery
from hilvan_retrieval.ports.index import KeywordIndex, VectorIndex
from hilvan_retrieval.usecases.candidate import PartStatus, Retriever
from hilvan_retrieval.usecases.generation import Live
from hilvan_retrieval.usecases.policy import PolicyBook

PATIENCE_S = 20.0
DIMENSIONS = 32
ODD = {
    "operators": 'C++ (v2): "fix" AND',
    "wildcards": "* ? ~2 ^3 [a TO b] {a} m1:x /reg.*ex/ OR NOT -ticket",
    "path": "/var/log",
    "json": '"}]}}\n{"delete": {}}\n',
    "controls": "".join(map(chr, range(32))) + "ticket\x7f\x85\u2028\u2029\ufeff",
    "long": "ticket " * 1_430,
    "words": " ".join(f"word{n}" for n in range(1_400)),
    "one word": "x" * 10_000,
    "emoji": "🎉" * 2_500,
    "astral": "𠀀𠀁" * 2_500,
    "marks": "e\u0301" * 3_000,
    "right to left": "\u202eticket\u202c مرحبا",
    "dots": ".".join("abcdefgh") + "... v1.2.3 a..b",
}
ENGINES = ("tantivy", "opensearch", "edge", "double", "server")


@pytest.fixture(params=ENGINES)
async def asked(request: pytest.FixtureRequest) -> AsyncIterator[Retriever]:
    """A fan-out whose one engine is real, with one entry in it."""
    keyword: KeywordIndex = MemoryKeywordIndex()
    vector: VectorIndex = MemoryVectorIndex(DIMENSIONS)
    is_keyword = request.param in ("tantivy", "opensearch")
    opened = (
        keyword_engine(request.param) if is_keyword else vector_engine(request.param, DIMENSIONS)
    )
    async with opened as index, sqlite_record() as record:
        if is_keyword:
            keyword = index  # type: ignore[assignment]  # which of the two it is was just asked
        else:
            vector = index  # type: ignore[assignment]  # the same
        live = Live(HashingEmbedder(DIMENSIONS), vector, keyword)
        stored = entry("m1", "Ticket QX-4471 was closed")
        change = Change(Answer("created"), puts=(stored,))
        await record.store.change("acme", ["m1"], lambda _: change)
        (passage,) = await live.embedder.embed_passages([stored.text])
        for each in (keyword, vector):
            await each.upsert([document("m1", stored.text, vector=passage)])
        yield Retriever(lambda: live, record.store, PolicyBook(record.policies), PATIENCE_S)


async def statuses(
    asked: Retriever, query: str, owners: frozenset[Owner] | None = None
) -> set[PartStatus]:
    """Ask; what became of the sources."""
    request = CandidateRequest(query, layers=(Layer.MEMORY,), owners=owners, limit=10, as_of=NOW)
    found = await asked.candidates(AS_ANA, request, NOW, Deadline.after(PATIENCE_S))
    return {each.status for each in found.sources}


async def test_every_query_is_answered_by_every_engine(asked: Retriever) -> None:
    """Operators, ten thousand characters, control characters: text, and nothing is degraded."""
    for name, query in ODD.items():
        assert await statuses(asked, query) == {PartStatus.OK}, name


async def test_a_query_that_the_engine_refuses_is_its_own_fault() -> None:
    """It costs its caller the words, again and again, and nobody else."""
    async with keyword_engine("opensearch") as index, sqlite_record() as record:
        assert isinstance(index, OpenSearchIndex)
        await index.upsert([document("m1", "ticket")])
        body = orjson.dumps({"index.max_terms_count": 1})
        path = f"/{index._name}/_settings"
        await index._client.call("PUT", path, seconds=PATIENCE_S, body=body)
        with pytest.raises(QueryRefused):
            await index.search([KeywordQuery(only("user:ana", "user:bob"), "ticket", 10)])
        embedder = HashingEmbedder(DIMENSIONS)
        live = Live(embedder, MemoryVectorIndex(DIMENSIONS), index)
        policies = PolicyBook(record.policies)
        await policies.put_space("acme", SPACE)
        asked = Retriever(lambda: live, record.store, policies, PATIENCE_S)
        for _ in range(FAILURES_IN_A_ROW + 2):
            # Of all that she can read there are three owners.
            assert await statuses(asked, "ticket") == {PartStatus.OK, PartStatus.UNAVAILABLE}
        assert await statuses(asked, "ticket", frozenset({ANA})) == {PartStatus.OK}


@pytest.mark.parametrize("engine", ["edge", "double", "server"])
async def test_a_filter_that_the_engine_refuses_is_the_querys_fault(engine: str) -> None:
    """An id that is none is told from an engine that is down."""
    vector = np.ones(DIMENSIONS, np.float32)
    async with vector_engine(engine, DIMENSIONS) as index:
        with pytest.raises(QueryRefused):
            await index.search([VectorQuery(only(excluded=[Uid("no-uuid")]), vector, 10)])
        assert await index.search([VectorQuery(only(), vector, 10)]) == [[]]
