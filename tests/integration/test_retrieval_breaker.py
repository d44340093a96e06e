"""The fan-out's breakers: what counts against an engine, and what does not."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from prometheus_client import REGISTRY
from support.retrieval.record import AS_ANA, NOW, sqlite_record
from support.retrieval.service import DIMENSIONS, Troubled, TroubledEmbedder

from hilvan_kit.breaker import FAILURES_IN_A_ROW, State
from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.adapters.keyword.memory import MemoryKeywordIndex
from hilvan_retrieval.adapters.vector.memory import MemoryVectorIndex
from hilvan_retrieval.core.filter import CandidateRequest
from hilvan_retrieval.errors import SourceTimeout, SourceUnavailable
from hilvan_retrieval.model.entry import Layer
from hilvan_retrieval.model.index import KeywordQuery, Source, VectorQuery
from hilvan_retrieval.usecases.candidate import PartStatus, Retriever
from hilvan_retrieval.usecases.generation import Live
from hilvan_retrieval.usecases.policy import PolicyBook

OK, LATE, GONE = PartStatus.OK, PartStatus.TIMEOUT, PartStatus.UNAVAILABLE
CAP_S = 20.0
TIMES = 3 * FAILURES_IN_A_ROW


@dataclass(frozen=True, slots=True)
class Asked:
    """A fan-out over parts that can be troubled."""

    retriever: Retriever
    vector: Troubled[VectorQuery]
    keyword: Troubled[KeywordQuery]
    embedder: TroubledEmbedder

    async def ask(self, seconds: float = 30.0) -> list[PartStatus]:
        """Ask; what became of the vector and of the keyword index."""
        request = CandidateRequest("x", layers=(Layer.MEMORY,), owners=None, limit=5, as_of=NOW)
        found = await self.retriever.candidates(AS_ANA, request, NOW, Deadline.after(seconds))
        return [each.status for each in found.sources]


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    """All is well, and engines have much time."""
    async with sqlite_record() as record:
        embedder = TroubledEmbedder()
        vector: Troubled[VectorQuery] = Troubled(MemoryVectorIndex(DIMENSIONS))
        keyword: Troubled[KeywordQuery] = Troubled(MemoryKeywordIndex())
        live = Live(embedder, vector, keyword)
        policies = PolicyBook(record.policies)
        retriever = Retriever(lambda: live, record.store, policies, CAP_S)
        for each in retriever._breakers.values():
            each._now = lambda: 0.0  # no engine is tried again meanwhile
        yield Asked(retriever, vector, keyword, embedder)


@pytest.mark.parametrize(
    ("error", "status"), [(SourceTimeout("x"), LATE), (SourceUnavailable("x"), GONE)]
)
@pytest.mark.parametrize("source", Source)
async def test_an_engine_that_keeps_failing_is_not_asked(
    asked: Asked, source: Source, error: Exception, status: PartStatus
) -> None:
    """It is said to be what it was; the other one is asked all the time."""
    told = [status, OK] if source is Source.VECTOR else [OK, status]
    troubled = asked.vector if source is Source.VECTOR else asked.keyword
    troubled.error = error
    for _ in range(FAILURES_IN_A_ROW):
        assert await asked.ask() == told
    troubled.error = None
    troubled.reached.clear()
    assert await asked.ask() == told
    assert not troubled.reached.is_set()


async def test_an_answer_ends_a_row_of_failures(asked: Asked) -> None:
    """An engine that fails now and then is asked all the time."""
    for _ in range(2):
        asked.keyword.error = SourceUnavailable("down")
        for _ in range(FAILURES_IN_A_ROW - 1):
            await asked.ask()
        asked.keyword.error = None
        assert await asked.ask() == [OK, OK]


async def test_nothing_is_embedded_for_an_engine_that_is_not_asked(asked: Asked) -> None:
    """A question that would hang in the embedder doesn't even get there."""
    asked.vector.error = SourceUnavailable("down")
    for _ in range(FAILURES_IN_A_ROW):
        await asked.ask()
    asked.embedder.gate = asyncio.Event()
    assert await asked.ask(seconds=5.0) == [GONE, OK]


@pytest.mark.parametrize("error", [SourceTimeout("x"), SourceUnavailable("x")])
async def test_an_embedders_failures_are_not_the_engines(asked: Asked, error: Exception) -> None:
    """The engine is asked as soon as there is something to ask it with."""
    asked.embedder.error = error
    for _ in range(TIMES):
        await asked.ask()
    asked.embedder.error = None
    assert await asked.ask() == [OK, OK]


async def test_callers_without_time_don_t_take_an_engine_from_the_others(asked: Asked) -> None:
    """A timeout counts only when the engine had a good part of its cap."""
    asked.keyword.gate = asyncio.Event()
    for _ in range(TIMES):
        assert await asked.ask(seconds=0.05) == [OK, LATE]
    asked.keyword.gate.set()
    assert await asked.ask() == [OK, OK]


async def test_callers_that_go_away_say_nothing_of_an_engine(asked: Asked) -> None:
    """Whoever is cancelled leaves no failure."""
    asked.keyword.gate = asyncio.Event()
    for _ in range(TIMES):
        asked.keyword.reached.clear()
        call = asyncio.create_task(asked.ask())
        await asked.keyword.reached.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
    asked.keyword.gate.set()
    assert await asked.ask() == [OK, OK]


async def test_what_is_missing_is_a_metric(asked: Asked) -> None:
    """Each answer without a source counts, and the breaker's state is shown (case 44)."""
    labels = {"source": "vector", "status": "timeout"}

    def lost() -> float:
        return REGISTRY.get_sample_value("hilvan_source_lost_total", labels) or 0

    before = lost()
    asked.vector.error = SourceTimeout("late")
    for _ in range(TIMES):
        await asked.ask()
    assert lost() == before + TIMES
    assert REGISTRY.get_sample_value("hilvan_breaker_state", {"part": "vector"}) == State.OPEN
