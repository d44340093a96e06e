"""An embedding server behind the fault rig: what it costs, and how soon it is forgotten."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from support.engines.degradation import BACK_S, HTTP_FAULTS
from support.engines.fault_proxy import FaultProxy, Mode
from support.retrieval.embedding_models import DIMENSIONS, InferenceServer, description
from support.retrieval.index_documents import document
from support.retrieval.record import AS_ANA, NOW, entry, sqlite_record

from hilvan_kit.breaker import FAILURES_IN_A_ROW
from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.adapters.embedding.cache import CachedEmbedder
from hilvan_retrieval.adapters.embedding.guarded import GuardedEmbedder
from hilvan_retrieval.adapters.embedding.http import HttpEmbedder
from hilvan_retrieval.adapters.keyword.memory import MemoryKeywordIndex
from hilvan_retrieval.adapters.vector.memory import MemoryVectorIndex
from hilvan_retrieval.core.filter import CandidateRequest
from hilvan_retrieval.errors import SourceError, SourceTimeout, SourceUnavailable
from hilvan_retrieval.model.entry import Answer, Change, Layer
from hilvan_retrieval.usecases.candidate import PartStatus, Retriever
from hilvan_retrieval.usecases.generation import Live
from hilvan_retrieval.usecases.policy import PolicyBook

LATE_S = 0.2
WAIT_S = 0.3
"""How long a caller waits for a question: longer than it takes to be late."""

LONG_S = 10.0
DEADLINE_S = 0.5
ERRORS = {PartStatus.TIMEOUT: SourceTimeout, PartStatus.UNAVAILABLE: SourceUnavailable}


@dataclass(frozen=True, slots=True)
class Asked:
    """An embedder as `main` joins it, its server behind the rig."""

    embedder: CachedEmbedder
    proxy: FaultProxy
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    async def ask(self, text: str = "", seconds: float = WAIT_S) -> None:
        """Embed a question, a new one unless told, with so much patience."""
        async with asyncio.timeout(seconds):
            await self.embedder.embed_query(text or f"question {next(self.numbers)}")

    async def failure(self) -> type[Exception]:
        """Ask in vain: a caller's own timeout is told as the embedder's."""
        with pytest.raises((SourceError, TimeoutError)) as caught:
            await self.ask()
        return SourceTimeout if caught.type is TimeoutError else caught.type


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    """An embedder that works."""
    async with (
        InferenceServer() as server,
        FaultProxy(server.url.removeprefix("http://")) as proxy,
    ):
        inner = HttpEmbedder(f"http://{proxy.address}", "tiny", description())
        embedder = CachedEmbedder(GuardedEmbedder(inner, LATE_S), 100)
        asked = Asked(embedder, proxy)
        await asked.ask("known", LONG_S)
        yield asked
        await embedder.close()


@pytest.mark.parametrize("fault", HTTP_FAULTS)
async def test_a_failing_server_is_not_asked(asked: Asked, fault: str) -> None:
    """Questions fail at once as they did before, those that are known are answered; soon all."""
    asked.proxy.after_bytes = HTTP_FAULTS[fault].after_bytes
    asked.proxy.mode = HTTP_FAULTS[fault].mode
    allowed = {ERRORS[each] for each in HTTP_FAULTS[fault].statuses}
    took = []
    for _ in range(FAILURES_IN_A_ROW + 3):
        started = time.monotonic()
        assert await asked.failure() in allowed
        took.append(time.monotonic() - started)
    # One of them may have been the question that tries it again.
    assert min(took[FAILURES_IN_A_ROW:]) < LATE_S / 2
    await asked.ask("known")
    asked.proxy.mode = Mode.PASS
    async with asyncio.timeout(2 * BACK_S):  # a busy machine is given twice the target
        while True:
            try:
                return await asked.ask(seconds=LONG_S)
            except SourceError:
                await asyncio.sleep(0.01)


async def test_what_was_asked_is_answered_late(asked: Asked) -> None:
    """A question that counted as a failure is not broken off: its answer is kept."""
    asked.proxy.mode = Mode.HANG
    slow = asyncio.create_task(asked.ask("slow", LONG_S))
    for _ in range(FAILURES_IN_A_ROW):
        await asked.failure()
    asked.proxy.mode = Mode.PASS
    await slow
    await asked.ask("slow")


@pytest.mark.parametrize("fault", HTTP_FAULTS)
async def test_without_the_embedder_words_answer(asked: Asked, fault: str) -> None:
    """Each call comes inside its deadline with the hits of words, and names what is missing."""
    how = HTTP_FAULTS[fault]
    async with sqlite_record() as record:
        keyword = MemoryKeywordIndex()
        stored = entry("m1", "The ticket was closed")
        change = Change(Answer("created"), puts=(stored,))
        await record.store.change("acme", ["m1"], lambda _: change)
        await keyword.upsert([document("m1", stored.text)])
        live = Live(asked.embedder, MemoryVectorIndex(DIMENSIONS), keyword)
        retriever = Retriever(lambda: live, record.store, PolicyBook(record.policies), LONG_S)
        asked.proxy.after_bytes, asked.proxy.mode = how.after_bytes, how.mode
        for number in range(FAILURES_IN_A_ROW + 1):
            request = CandidateRequest(f"ticket {number}", (Layer.MEMORY,), None, 10, NOW)
            deadline = Deadline.after(DEADLINE_S)
            found = await retriever.candidates(AS_ANA, request, NOW, deadline)
            # A caller's own time may be over before the fault is seen.
            assert found.sources[0].status in how.statuses | {PartStatus.TIMEOUT}
            assert found.sources[1].status is PartStatus.OK
            assert [each.entry.id for each in found.candidates] == ["m1"]
            assert found.sources[0].seconds < DEADLINE_S
