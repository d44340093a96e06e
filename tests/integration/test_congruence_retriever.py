"""The whole fan-out over a record, on embedded engines and on servers: the same candidates."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest
from support.congruence.corpus import (
    CATEGORIES,
    LAYERS,
    OWNERS,
    TAGS,
    Corpus,
    check,
    corpus,
    of_bm25,
    open_embedder,
)
from support.congruence.engines import keyword_engine, vector_engine, write
from support.retrieval.record import ANA, AS_ANA, AS_BOB, NOW, RECORDS, SPACE

from hilvan_assembler.adapters.services import candidate_columns as columns
from hilvan_assembler.core.fusion import relevances
from hilvan_assembler.model.candidate import ListReport as Told
from hilvan_assembler.model.kind import Layer as AskedLayer
from hilvan_assembler.model.kind import Source as Asked
from hilvan_assembler.model.options import Fusion
from hilvan_kit.auth import Principal
from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.adapters.embedding.cache import CachedEmbedder
from hilvan_retrieval.adapters.keyword.memory import MemoryKeywordIndex
from hilvan_retrieval.adapters.vector.memory import MemoryVectorIndex
from hilvan_retrieval.core.filter import CandidateRequest
from hilvan_retrieval.model.entry import Answer, Change, Layer, entry_uid
from hilvan_retrieval.model.index import Hit, Source
from hilvan_retrieval.model.policy import CategoryMute, EntryMute, SpacePolicy
from hilvan_retrieval.ports.entry import EntryStore
from hilvan_retrieval.ports.index import KeywordIndex, VectorIndex
from hilvan_retrieval.rpc.columns import candidate_columns
from hilvan_retrieval.usecases.candidate import Candidates, PartStatus, Retriever
from hilvan_retrieval.usecases.generation import Live
from hilvan_retrieval.usecases.policy import PolicyBook

STACKS = {
    "embedded": ("sqlite", "tantivy", "edge"),
    "servers": ("postgresql", "opensearch", "double"),
    "servers, Qdrant's own": ("postgresql", "opensearch", "server"),
}
"""Record, keyword engine and vector engine of each way to run the product."""

REQUESTS = 60
UNCUT = 2_000
CAP_S = 20.0
BATCH = 500
OF_COSINE = 1e-5
OF_RELEVANCE = 0.06
"""BM25 weighs 0.6, and the best text, by which all are divided, may be a long one (0.1)."""


@dataclass(frozen=True, slots=True)
class Question:
    """Who asks for what."""

    who: Principal
    request: CandidateRequest


@pytest.fixture(scope="module")
def made() -> Corpus:
    """Give the corpus, embedded once a run."""
    return corpus()


def questions(made: Corpus, limit: int) -> list[Question]:
    """Questions of two people under every kind of condition."""
    chance = random.Random(39)  # noqa: S311 - seeded data
    return [
        Question(
            chance.choice((AS_ANA, AS_BOB)),
            CandidateRequest(
                chance.choice(sorted(filter(None, made.queries))),
                layers=LAYERS,
                owners=chance.choice((None, None, frozenset(chance.sample(OWNERS, 2)))),
                limit=limit,
                as_of=NOW - timedelta(days=chance.choice((0, 0, 2))),
                include_muted=chance.random() < 0.3,
                categories=frozenset(chance.choice(((), (), chance.sample(CATEGORIES, 2)))),
                tags=frozenset(chance.choice(((), (), chance.sample(TAGS, 2)))),
                require_all_sources=True,
            ),
        )
        for _ in range(REQUESTS)
    ]


async def fill(store: EntryStore, made: Corpus) -> None:
    """Write the tenant's entries to the record."""
    entries = [each.entry for each in made.stored if each.tenant == AS_ANA.tenant]
    for start in range(0, len(entries), BATCH):
        batch = entries[start : start + BATCH]
        change = Change(Answer("created"), puts=tuple(batch))
        await store.change(AS_ANA.tenant, [each.id for each in batch], lambda _, c=change: c)  # type: ignore[misc]  # the default binds it


@asynccontextmanager
async def retriever(
    made: Corpus, record: str, keyword: KeywordIndex, vector: VectorIndex
) -> AsyncIterator[Retriever]:
    """Join a fan-out over filled parts."""
    async with RECORDS[record]() as opened:
        embedder = CachedEmbedder(open_embedder(), 1_000)
        try:
            await fill(opened.store, made)
            for index in (keyword, vector):
                await write(index, made)
            policies = PolicyBook(opened.policies)
            mutes = (CategoryMute(ANA, "work", NOW + timedelta(days=1)),)
            space = SpacePolicy("home", SPACE.readers, SPACE.writers, SPACE.project_ids, mutes)
            await policies.put_space(AS_ANA.tenant, space)
            own = [EntryMute(each.entry.id) for each in made.stored[::40]]
            await policies.put_user_mutes(AS_ANA.tenant, "ana", own)
            live = Live(embedder, vector, keyword)
            yield Retriever(lambda: live, opened.store, policies, CAP_S)
        finally:
            await embedder.close()


async def answers(asked: Retriever, wanted: Sequence[Question]) -> list[Candidates]:
    """Ask everything."""
    return [
        await asked.candidates(each.who, each.request, NOW, Deadline.after(CAP_S))
        for each in wanted
    ]


def hits(found: Candidates, source: Source, layer: Layer) -> list[Hit]:
    """One source's list of a layer, read off the candidates."""
    ranked = []
    for each in found.candidates:
        of = each.found
        by_meaning = source is Source.VECTOR
        rank, score = (of.vector_rank, of.cosine) if by_meaning else (of.keyword_rank, of.bm25)
        if each.entry.layer is layer and rank is not None and score is not None:
            ranked.append((rank, Hit(entry_uid(AS_ANA.tenant, each.entry.id), score)))
    ranked.sort(key=lambda pair: pair[0])
    assert [rank for rank, _ in ranked] == list(range(1, len(ranked) + 1))
    return [hit for _, hit in ranked]


def check_lists(expected: Candidates, given: Candidates, limit: int) -> None:
    """Compare every list of every source with the oracle's, which is not cut."""
    said = {
        entry_uid(AS_ANA.tenant, each.entry.id): each.entry.searchable_text
        for each in expected.candidates
    }
    assert [each.status for each in given.sources] == [PartStatus.OK] * 2
    for source in Source:
        for layer in LAYERS:
            truth = hits(expected, source, layer)
            slack = (lambda _: OF_COSINE) if source is Source.VECTOR else of_bm25(truth, said)
            check(truth, hits(given, source, layer), limit, slack)


def relevance(found: Candidates) -> dict[str, float]:
    """What the assembler makes of the candidates, over the form in which they travel."""
    candidates = columns.candidates(candidate_columns(found.candidates))
    told = [
        Told(
            AskedLayer(each.layer.value),
            Asked(each.source.value),
            each.hit_count,
            each.exhausted,
            each.last_score,
        )
        for each in found.lists
    ]
    joined = relevances(candidates, told, Fusion())
    return {each.id: value for each, value in zip(candidates, joined, strict=True)}


@pytest.fixture(scope="module")
def truth(made: Corpus) -> list[Candidates]:
    """Give what a fan-out over the oracles answers, with nothing cut."""

    async def ask() -> list[Candidates]:
        exact = MemoryKeywordIndex(), MemoryVectorIndex(made.dimensions)
        async with retriever(made, "sqlite", *exact) as oracle:
            return await answers(oracle, questions(made, UNCUT))

    return asyncio.run(ask())


@pytest.mark.parametrize("stack", STACKS)
async def test_the_fan_out_is_the_same_on_all_engines(
    made: Corpus, truth: list[Candidates], stack: str
) -> None:
    """The same entries, as the record has them; the same ranks and relevance but for rounding.

    Whoever asks, whatever is muted, superseded, of another owner or of the past.
    """
    record, keyword, vector = STACKS[stack]
    async with AsyncExitStack() as opened:
        enter = opened.enter_async_context
        engine_of_vectors = await enter(vector_engine(vector, made.dimensions))
        engine_of_words = await enter(keyword_engine(keyword))
        engines = await enter(retriever(made, record, engine_of_words, engine_of_vectors))
        whole = await answers(engines, questions(made, UNCUT))
        cut = await answers(engines, questions(made, 20))
    for expected, given, some in zip(truth, whole, cut, strict=True):
        told = {each.entry.id: (each.entry, each.muted) for each in expected.candidates}
        assert {each.entry.id: (each.entry, each.muted) for each in given.candidates} == told
        check_lists(expected, given, UNCUT)
        check_lists(expected, some, 20)
        assert relevance(given) == pytest.approx(relevance(expected), abs=OF_RELEVANCE)
    assert sum(len(each.candidates) for each in truth) > 5_000
