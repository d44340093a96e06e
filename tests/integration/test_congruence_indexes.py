"""Embedded engines, servers and the oracles give one answer to one question, on one corpus."""

from collections.abc import Sequence

import pytest
from support.congruence.corpus import OF_BM25, Corpus, Stored, check, check_ties, corpus, of_bm25
from support.congruence.engines import change, keyword_engine, vector_engine, write
from support.retrieval.index_documents import allowed

from hilvan_retrieval.adapters.keyword.memory import MemoryKeywordIndex
from hilvan_retrieval.adapters.vector.memory import MemoryVectorIndex
from hilvan_retrieval.model.entry import Uid
from hilvan_retrieval.model.index import KeywordQuery, VectorQuery
from hilvan_retrieval.ports.index import KeywordIndex, VectorIndex

OF_DEAD = 0.25
"""Share of a score: documents that were replaced or deleted count in frequencies until the engine
merges them away."""

OF_COSINE = 1e-5
"""Products of 384 numbers of 32 bits, summed in another order, from vectors normalised again."""

UNCUT = 10**6


@pytest.fixture(scope="module")
def made() -> Corpus:
    """Give the corpus, embedded once a run."""
    return corpus()


def texts(stored: Sequence[Stored]) -> dict[Uid, str]:
    """What each document says."""
    return {each.uid: each.entry.searchable_text for each in stored}


# Words


def keyword_queries(made: Corpus, *, uncut: bool = False) -> list[KeywordQuery]:
    """The questions, as the keyword index is asked."""
    return [KeywordQuery(by, text, UNCUT if uncut else cut) for by, text, cut in made.questions]


async def check_words(
    index: KeywordIndex, oracle: KeywordIndex, made: Corpus, stored: Sequence[Stored], more: float
) -> None:
    """Compare all answers; ``more`` is what a score may be off beside rounding."""
    said = texts(stored)
    documents = {each.uid: each for each in made.documents(stored)}
    found = ties = 0
    queries = keyword_queries(made)
    truth = await oracle.search(keyword_queries(made, uncut=True))
    for query, expected, given in zip(queries, truth, await index.search(queries), strict=True):
        check(expected, given, query.limit, of_bm25(expected, said, more))
        ties += check_ties(expected, given, said)
        assert all(allowed(documents[hit.uid], query.filter) for hit in given)
        found += len(given)
    assert found > 2_000
    assert ties > 200


@pytest.mark.parametrize("engine", ["tantivy", "opensearch"])
async def test_keyword_engines_agree(made: Corpus, engine: str) -> None:
    """The oracle's documents, exactly, scores and order to a rounding; after changes again."""
    oracle = MemoryKeywordIndex()
    await write(oracle, made)
    async with keyword_engine(engine) as index:
        await write(index, made)
        await check_words(index, oracle, made, made.stored, 0.0)
        await change(oracle, made)
        await change(index, made)
        await check_words(index, oracle, made, made.after, OF_DEAD)


async def test_the_keyword_engines_agree_with_each_other(made: Corpus) -> None:
    """OpenSearch and tantivy keep lengths alike, so their scores differ by rounding alone."""
    said = texts(made.stored)
    async with keyword_engine("opensearch") as server, keyword_engine("tantivy") as embedded:
        for index in (server, embedded):
            await write(index, made)
        whole = await embedded.search(keyword_queries(made, uncut=True))
        queries = keyword_queries(made)
        for query, expected, given in zip(
            queries, whole, await server.search(queries), strict=True
        ):
            scores = {hit.uid: hit.score for hit in expected}
            check(expected, given, query.limit, lambda uid, s=scores: OF_BM25 * s[uid])  # type: ignore[misc]  # the default binds it
            check_ties(expected, given, said)


# Vectors


def vector_queries(made: Corpus, *, uncut: bool = False) -> list[VectorQuery]:
    """The questions, as the vector index is asked."""
    return [
        VectorQuery(by, made.queries[text], UNCUT if uncut else cut)
        for by, text, cut in made.questions
    ]


async def check_vectors(
    index: VectorIndex, oracle: VectorIndex, made: Corpus, stored: Sequence[Stored]
) -> None:
    """Compare all answers, and the oracle's with the reading of the filter's words."""
    said = texts(stored)
    documents = made.documents(stored)
    queries = vector_queries(made)
    truth = await oracle.search(vector_queries(made, uncut=True))
    ties = 0
    for query, expected, given in zip(queries, truth, await index.search(queries), strict=True):
        readable = {each.uid for each in documents if allowed(each, query.filter)}
        assert {hit.uid for hit in expected} == readable
        check(expected, given, query.limit, lambda _: OF_COSINE)
        ties += check_ties(expected, given, said)
    assert ties > 200


@pytest.mark.parametrize("engine", ["edge", "double", "server"])
async def test_vector_engines_agree(made: Corpus, engine: str) -> None:
    """The allowed documents, exactly, nearest first; after updates and deletes again.

    A server makes no graph of so few points, so its answers are exact as well.
    """
    oracle = MemoryVectorIndex(made.dimensions)
    await write(oracle, made)
    async with vector_engine(engine, made.dimensions) as index:
        await write(index, made)
        await check_vectors(index, oracle, made, made.stored)
        await change(oracle, made)
        await change(index, made)
        await check_vectors(index, oracle, made, made.after)
