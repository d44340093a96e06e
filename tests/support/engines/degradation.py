"""Retrieval with one real engine behind the fault rig, and the table of what a fault must cost.

An engine is a row of `ENGINES`: its source, and how to open its index behind a rig.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

from support.engines.fault_proxy import FaultProxy, Mode
from support.engines.notes import OPENSEARCH
from support.engines.opensearch_index import connected, fresh_index
from support.engines.run import RUN
from support.engines.vector import engine_folder
from support.retrieval.index_documents import document
from support.retrieval.record import AS_ANA, NOW, Record, entry, sqlite_record

from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.adapters.embedding.hashing import HashingEmbedder
from hilvan_retrieval.adapters.keyword.memory import MemoryKeywordIndex
from hilvan_retrieval.adapters.vector.edge import EdgeProcess
from hilvan_retrieval.adapters.vector.memory import MemoryVectorIndex
from hilvan_retrieval.adapters.vector.qdrant import QdrantIndex
from hilvan_retrieval.core.filter import CandidateRequest
from hilvan_retrieval.model.entry import Answer, Change, Layer
from hilvan_retrieval.model.index import Source
from hilvan_retrieval.ports.index import KeywordIndex, VectorIndex
from hilvan_retrieval.usecases.candidate import Candidates, PartStatus, Retriever
from hilvan_retrieval.usecases.generation import Live
from hilvan_retrieval.usecases.policy import PolicyBook

DIMENSIONS = 32
CAP_S = 0.3
DEADLINE_S = 10.0
BACK_S = 3.0
"""Full answers must be back this soon after the engine is."""

LATE, GONE = PartStatus.TIMEOUT, PartStatus.UNAVAILABLE

TEXTS = {
    "m1": "The warehouse closed ticket QX-4471",
    "m2": "Luis lives in Madrid",
}
QUERY = "did anybody ever say whether this ticket got closed"
"""Nine words, of which two are in m1 and none in m2 (case 44)."""

AnyIndex = VectorIndex | KeywordIndex
Opens = Callable[[], AbstractAsyncContextManager[tuple[AnyIndex, FaultProxy]]]


@dataclass(frozen=True, slots=True)
class Fault:
    """What the rig does, and what the source may be said to be then.

    A cut connection is either seen at once, or while a new one is tried for longer than the cap.
    """

    mode: Mode
    statuses: frozenset[PartStatus]
    after_bytes: int = 0


FAULTS: Mapping[str, Fault] = {
    "refuse": Fault(Mode.REFUSE, frozenset({GONE})),
    "hang": Fault(Mode.HANG, frozenset({LATE})),
    "drip": Fault(Mode.DRIP, frozenset({LATE})),
    "reset": Fault(Mode.RESET, frozenset({GONE})),
    "reset in an answer": Fault(Mode.RESET, frozenset({GONE, LATE}), after_bytes=20),
    "truncate": Fault(Mode.TRUNCATE, frozenset({GONE, LATE}), after_bytes=20),
}


HTTP_FAULTS: Mapping[str, Fault] = {
    **FAULTS,
    "429": Fault(Mode.HTTP_429, frozenset({GONE})),
    "503": Fault(Mode.HTTP_503, frozenset({GONE})),
}
"""The same, and what only an HTTP server says."""


@asynccontextmanager
async def qdrant_engine_process() -> AsyncIterator[tuple[AnyIndex, FaultProxy]]:
    """Our own engine process, over its Unix socket."""
    with engine_folder() as folder:
        engine = await EdgeProcess.start(folder)
        try:
            async with FaultProxy(engine.target) as proxy:
                index = QdrantIndex.connect(proxy.address, DIMENSIONS)
                await index.ensure()
                try:
                    yield index, proxy
                finally:
                    await index.close()
        finally:
            await engine.close()


@asynccontextmanager
async def opensearch() -> AsyncIterator[tuple[AnyIndex, FaultProxy]]:
    """The OpenSearch of this run, over HTTP."""
    url, name = RUN.engine(OPENSEARCH).address, f"hilvan-test-{uuid.uuid4().hex}"
    async with fresh_index(url, name) as direct, FaultProxy(url.removeprefix("http://")) as proxy:
        await direct.ensure()
        index = connected(f"http://{proxy.address}", name)
        try:
            yield index, proxy
        finally:
            await index.close()


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine that can stand behind the rig, and what can go wrong with it."""

    source: Source
    open: Opens
    faults: Mapping[str, Fault] = field(default_factory=lambda: FAULTS)


ENGINES: Mapping[str, Engine] = {
    "qdrant engine process": Engine(Source.VECTOR, qdrant_engine_process),
    "opensearch": Engine(Source.KEYWORD, opensearch, HTTP_FAULTS),
}

ROWS = [(engine, fault) for engine, row in ENGINES.items() for fault in row.faults]
"""Every engine with every fault."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A fan-out, one source of which is behind the rig."""

    retriever: Retriever
    record: Record
    source: Source
    proxy: FaultProxy

    async def ask(self, *, require_all_sources: bool = False) -> tuple[Candidates, float]:
        """Ask the question of case 44; what was found, and in how many seconds."""
        request = CandidateRequest(
            QUERY,
            layers=(Layer.MEMORY,),
            owners=None,
            limit=10,
            as_of=NOW,
            require_all_sources=require_all_sources,
        )
        started = time.perf_counter()
        found = await self.retriever.candidates(
            AS_ANA, request, self.record.clock.moment(), Deadline.after(DEADLINE_S)
        )
        return found, time.perf_counter() - started

    async def status(self) -> PartStatus:
        """Ask; what became of the source behind the rig."""
        found, _ = await self.ask()
        return self.of(found)

    def of(self, found: Candidates) -> PartStatus:
        """What became of the source behind the rig."""
        return {each.source: each.status for each in found.sources}[self.source]

    async def until_well(self) -> float:
        """Ask until nothing is missing; how many seconds that took."""
        started = time.monotonic()
        while await self.status() is not PartStatus.OK:  # noqa: ASYNC110 - asking is the point
            await asyncio.sleep(0.01)
        return time.monotonic() - started

    def begin(self, fault: Fault) -> None:
        """Let the fault begin."""
        self.proxy.after_bytes = fault.after_bytes
        self.proxy.mode = fault.mode

    def tasks(self) -> "set[asyncio.Task[object]]":
        """What runs, but for the rig."""
        return asyncio.all_tasks() - cast("set[asyncio.Task[object]]", self.proxy.tasks)


@asynccontextmanager
async def bench(engine: Engine, *, cap_seconds: float = CAP_S) -> AsyncIterator[Bench]:
    """Open a fan-out over the engine; the other source is in memory. All of it works."""
    async with sqlite_record() as record, engine.open() as (index, proxy):
        embedder = HashingEmbedder(DIMENSIONS)
        vector: VectorIndex = MemoryVectorIndex(DIMENSIONS)
        keyword: KeywordIndex = MemoryKeywordIndex()
        if engine.source is Source.VECTOR:
            vector = cast("VectorIndex", index)
        else:
            keyword = cast("KeywordIndex", index)
        live = Live(embedder, vector, keyword)
        await _fill(record, live)
        policies = PolicyBook(record.policies)
        retriever = Retriever(lambda: live, record.store, policies, cap_seconds)
        opened = Bench(retriever, record, engine.source, proxy)
        await opened.until_well()
        yield opened


async def _fill(record: Record, live: Live) -> None:
    """Write the texts to the record and to both indexes."""
    entries = [entry(entry_id, text) for entry_id, text in TEXTS.items()]
    change = Change(Answer("created"), puts=tuple(entries))
    await record.store.change("acme", list(TEXTS), lambda _: change)
    vectors = await live.embedder.embed_passages(list(TEXTS.values()))
    documents = [
        document(entry_id, text, vector=vector)
        for (entry_id, text), vector in zip(TEXTS.items(), vectors, strict=True)
    ]
    await live.vector.upsert(documents)
    await live.keyword.upsert(documents)
