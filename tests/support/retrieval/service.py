"""Retrieval in one process: its record, memory indexes, and a real server with real credentials."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import grpc
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health import aio as health
from grpc_health.v1.health_pb2 import HealthCheckResponse
from support.retrieval.record import (
    AS_ADMIN,
    AS_ANA,
    AS_BOB,
    AS_CAL,
    AS_RIVAL,
    AS_SERVICE,
    SPACE,
    T0,
    Record,
    sqlite_record,
)

from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as rpc
from hilvan_kit.auth import (
    USER_KEY,
    ApiKeyVerifier,
    CredentialAuthenticator,
    Principal,
    Role,
    generate,
)
from hilvan_kit.calls import Guarded
from hilvan_kit.guards import standard_guards
from hilvan_retrieval.adapters.embedding.hashing import HashingEmbedder
from hilvan_retrieval.adapters.keyword.memory import MemoryKeywordIndex
from hilvan_retrieval.adapters.vector.memory import MemoryVectorIndex
from hilvan_retrieval.model.embedding import EmbeddingModel, Matrix, Vector
from hilvan_retrieval.model.entry import Entry, Uid
from hilvan_retrieval.model.index import Hit, IndexDocument, IndexState, KeywordQuery, VectorQuery
from hilvan_retrieval.rpc.errors import TABLE
from hilvan_retrieval.rpc.servicer import RetrievalServicer
from hilvan_retrieval.rpc.uses import UseCases
from hilvan_retrieval.usecases.candidate import Retriever
from hilvan_retrieval.usecases.consolidation import Consolidator
from hilvan_retrieval.usecases.entry import EntryWriter
from hilvan_retrieval.usecases.entry_read import EntryReader
from hilvan_retrieval.usecases.generation import Engine, OpenIndexes
from hilvan_retrieval.usecases.index import IndexChecker
from hilvan_retrieval.usecases.outbox import OutboxWorker
from hilvan_retrieval.usecases.policy import PolicyBook

PATIENCE_S = 30.0
DIMENSIONS = 32
SERVICE_NAME = "hilvan.retrieval.v1.RetrievalService"

Q = TypeVar("Q")
Q_contra = TypeVar("Q_contra", contravariant=True)


class _Index(Protocol[Q_contra]):
    """An index of either kind."""

    async def ensure(self) -> bool: ...
    async def search(self, queries: Sequence[Q_contra]) -> list[list[Hit]]: ...
    async def revisions(self, bucket: str) -> dict[Uid, int]: ...
    async def upsert(self, documents: Sequence[IndexDocument]) -> None: ...
    async def delete(self, uids: Sequence[Uid]) -> None: ...
    async def state(self) -> IndexState: ...
    async def ping(self) -> None: ...
    async def drop(self) -> None: ...
    async def close(self) -> None: ...


@dataclass
class Troubled(Generic[Q]):
    """An index that can be told to fail, to hang, to refuse documents, or not to forget."""

    inner: _Index[Q]
    error: Exception | None = None
    gate: asyncio.Event | None = None
    check: Callable[[Sequence[IndexDocument]], None] = lambda _: None
    forgets: bool = True
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    ended: list[str] = field(default_factory=list)
    upserts: list[Uid] = field(default_factory=list)

    async def ensure(self) -> bool:
        """Be new once, or fail; only what is asked of an index that is there hangs."""
        if self.error is not None:
            self.reached.set()
            raise self.error
        return await self.inner.ensure()

    async def revisions(self, bucket: str) -> dict[Uid, int]:
        """Tell the revisions, with the trouble."""
        await self._trouble()
        return await self.inner.revisions(bucket)

    async def drop(self) -> None:
        """Forget everything, with the trouble."""
        await self._trouble()
        await self.inner.drop()

    async def search(self, queries: Sequence[Q]) -> list[list[Hit]]:
        """Search, with the trouble."""
        await self._trouble()
        return await self.inner.search(queries)

    async def upsert(self, documents: Sequence[IndexDocument]) -> None:
        """Write, with the trouble, and what the check raises."""
        await self._trouble()
        self.upserts += [each.uid for each in documents]
        self.check(documents)
        await self.inner.upsert(documents)

    async def delete(self, uids: Sequence[Uid]) -> None:
        """Forget, with the trouble."""
        await self._trouble()
        if self.forgets:
            await self.inner.delete(uids)

    async def state(self) -> IndexState:
        """Count, with the trouble."""
        await self._trouble()
        return await self.inner.state()

    async def ping(self) -> None:
        """Serve, with the trouble."""
        await self._trouble()

    async def close(self) -> None:
        """Release."""
        await self.inner.close()

    async def _trouble(self) -> None:
        self.reached.set()
        if self.error is not None:
            raise self.error
        if self.gate is not None:
            try:
                await self.gate.wait()
                self.ended.append("done")
            except asyncio.CancelledError:
                self.ended.append("cancelled")
                raise


@dataclass
class TroubledEmbedder:
    """An embedder that can be told to fail or to hang."""

    inner: HashingEmbedder = field(default_factory=lambda: HashingEmbedder(DIMENSIONS))
    error: Exception | None = None
    gate: asyncio.Event | None = None
    embedded: list[str] = field(default_factory=list)

    @property
    def model(self) -> EmbeddingModel:
        """The inner one's."""
        return self.inner.model

    async def embed_query(self, text: str) -> Vector:
        """Embed, with the trouble."""
        await self._trouble()
        return await self.inner.embed_query(text)

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embed, with the trouble."""
        await self._trouble()
        self.embedded += texts
        return await self.inner.embed_passages(texts)

    async def ping(self) -> None:
        """Serve, with the trouble."""
        await self._trouble()

    async def close(self) -> None:
        """Release."""
        await self.inner.close()

    async def _trouble(self) -> None:
        if self.error is not None:
            raise self.error
        if self.gate is not None:
            await self.gate.wait()


@dataclass(frozen=True, slots=True)
class Parts:
    """Retrieval's use cases over a SQLite record and memory indexes that can be troubled."""

    record: Record
    vector: Troubled[VectorQuery]
    keyword: Troubled[KeywordQuery]
    embedder: TroubledEmbedder
    indexes: OpenIndexes
    indexer: OutboxWorker
    uses: UseCases

    @property
    def writer(self) -> EntryWriter:
        """The writing use case."""
        return self.uses.writer

    @property
    def retriever(self) -> Retriever:
        """The fan-out."""
        return self.uses.retriever

    async def store(self, *entries: Entry, who: Principal = AS_SERVICE) -> None:
        """Write entries and wait until both indexes have them."""
        for each in entries:
            await self.writer.upsert(who, each, None)
        await self.settle()

    async def settle(self) -> None:
        """Wait until no row is left in the outbox."""
        await until(self._is_settled)

    async def _is_settled(self) -> bool:
        self.indexer.notice()
        counts = [await self.record.outbox.counts(feed) for feed in self.indexes.live.feeds]
        return not any(each.pending or each.parked for each in counts)


@asynccontextmanager
async def open_parts(*, cap_seconds: float = 5.0, indexing: bool = True) -> AsyncIterator[Parts]:
    """Join the parts as `main` does, and run the indexer unless told not to."""
    async with sqlite_record() as record:
        embedder = TroubledEmbedder()
        vector: Troubled[VectorQuery] = Troubled(MemoryVectorIndex(DIMENSIONS))
        keyword: Troubled[KeywordQuery] = Troubled(MemoryKeywordIndex())
        policies = PolicyBook(record.policies)
        await policies.put_space("acme", SPACE)
        model = embedder.model.id
        indexes = OpenIndexes(
            record.generations,
            record.outbox,
            Engine("memory", model, frozenset({model}), lambda _: vector),
            Engine("memory", "words", frozenset({"words"}), lambda _: keyword),
            {model: embedder},
        )
        await indexes.open()
        indexer = OutboxWorker(record.outbox, indexes)
        uses = UseCases(
            retriever=Retriever(lambda: indexes.live, record.store, policies, cap_seconds),
            reader=EntryReader(record.store, record.outbox, indexes, policies),
            writer=EntryWriter(record.store, indexer, lambda: indexes.live, policies),
            indexes=indexes,
            checker=IndexChecker(record.generations, record.outbox, indexes),
            consolidator=Consolidator(
                record.store,
                record.findings,
                record.journal,
                lambda: indexes.live.embedder.model,
                indexer.notice,
            ),
            policies=policies,
            now=record.clock.moment,
            default_deadline_seconds=PATIENCE_S,
        )
        worker = asyncio.create_task(indexer.run()) if indexing else None
        try:
            yield Parts(record, vector, keyword, embedder, indexes, indexer, uses)
        finally:
            if worker is not None:
                worker.cancel()
                await asyncio.gather(worker, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class Served:
    """A running server: its parts, a stub, and the metadata that makes a call somebody's."""

    parts: Parts
    stub: "rpc.RetrievalServiceAsyncStub"
    channel: grpc.aio.Channel
    keys: Mapping[str, str]
    address: str

    def key(self, name: str) -> tuple[tuple[str, str], ...]:
        """Metadata with a key: of ana, bob, cal, root, service, rival, expired or unknown."""
        return (("authorization", f"Bearer {self.keys[name]}"),)

    def acting(self, user: str) -> tuple[tuple[str, str], ...]:
        """Metadata of a service that acts for a user."""
        return (*self.key("service"), (USER_KEY, user))


@asynccontextmanager
async def serve(**options: Any) -> AsyncIterator[Served]:
    """Serve retrieval on a free port, behind the guards that `main` puts before it."""
    made = {
        who.user if who.tenant == "acme" else who.tenant: generate(who.tenant, who.user, who.role)
        for who in (AS_ANA, AS_BOB, AS_CAL, AS_ADMIN, AS_RIVAL)
    }
    made["service"] = generate("acme", "curation", Role.SERVICE)
    made["expired"] = generate("acme", "ana", Role.MEMBER, expires=T0)
    keys = {record.key_id: record for _, record in made.values()}
    texts = {name: text for name, (text, _) in made.items()}
    texts["unknown"] = generate("acme", "ana", Role.MEMBER)[0]
    async with open_parts(**options) as parts:
        verifier = ApiKeyVerifier(lambda: keys, parts.record.clock)
        guards = standard_guards(CredentialAuthenticator(verifier, None), TABLE)
        server = grpc.aio.server(interceptors=[Guarded(guards)])
        rpc.add_RetrievalServiceServicer_to_server(RetrievalServicer(parts.uses), server)
        checks = health.HealthServicer()
        await checks.set(SERVICE_NAME, HealthCheckResponse.SERVING)
        health_pb2_grpc.add_HealthServicer_to_server(checks, server)
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        try:
            async with grpc.aio.insecure_channel(address) as channel:
                stub: Any = rpc.RetrievalServiceStub(channel)
                yield Served(parts, stub, channel, texts, address)
        finally:
            await server.stop(None)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not await holds():  # noqa: ASYNC110 - whatever it is, it is told by asking
            await asyncio.sleep(0.01)
