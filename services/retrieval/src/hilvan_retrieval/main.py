"""The composition root of retrieval: the only place that reads settings and joins parts."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

import grpc
import uvloop
from threadpoolctl import threadpool_limits

from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as rpc
from hilvan_kit.auth import AuthMisconfigured, build_authenticator
from hilvan_kit.guards import standard_guards
from hilvan_kit.logs import configure_logging
from hilvan_kit.server import Server
from hilvan_kit.settings import CredentialSettings, SettingsError, read_settings
from hilvan_retrieval.adapters.embedding.cache import CachedEmbedder
from hilvan_retrieval.adapters.embedding.description import bundled_description, describe
from hilvan_retrieval.adapters.embedding.hashing import HashingEmbedder
from hilvan_retrieval.adapters.embedding.http import HttpEmbedder
from hilvan_retrieval.adapters.embedding.onnx import OnnxEmbedder
from hilvan_retrieval.adapters.keyword_tantivy import TantivyIndex
from hilvan_retrieval.adapters.qdrant import QdrantIndex
from hilvan_retrieval.adapters.qdrant_edge import EdgeProcess
from hilvan_retrieval.adapters.records import (
    SqlEntryStore,
    SqlOutbox,
    SqlPolicyStore,
    open_sqlite,
)
from hilvan_retrieval.errors import RetrievalError
from hilvan_retrieval.ports import Embedder
from hilvan_retrieval.rpc.errors import TABLE
from hilvan_retrieval.rpc.servicer import RetrievalServicer, Uses
from hilvan_retrieval.settings import RetrievalSettings
from hilvan_retrieval.usecases.indexing import Indexer
from hilvan_retrieval.usecases.policies import PolicyBook
from hilvan_retrieval.usecases.reading import Reader
from hilvan_retrieval.usecases.retrieving import Retriever
from hilvan_retrieval.usecases.writing import Writer

Ping = Callable[[], Awaitable[None]]
SERVICE = "hilvan.retrieval.v1.RetrievalService"


def make_embedder(settings: RetrievalSettings) -> Embedder:
    """The embedder that the settings name, with its query cache."""
    inner: Embedder
    if settings.embedder == "hashing":
        inner = HashingEmbedder()
    elif settings.embedder == "http":
        inner = HttpEmbedder(
            settings.embedding_url,
            settings.embedding_name,
            bundled_description(settings.model_description),
            api_key=settings.embedding_key or None,
        )
    else:
        description = describe(settings.model_dir, settings.model_description)
        inner = OnnxEmbedder(settings.model_dir, description, threads=settings.model_threads)
    return CachedEmbedder(inner, settings.query_cache)


@asynccontextmanager
async def open_qdrant(settings: RetrievalSettings, dimensions: int) -> AsyncIterator[QdrantIndex]:
    """The vector index: a server's, or an engine process of our own."""
    async with AsyncExitStack() as stack:
        target = settings.qdrant_url
        if not target:
            edge = await EdgeProcess.start(settings.data_dir / "vectors")
            stack.push_async_callback(edge.close)
            target = edge.target
        index = QdrantIndex.connect(
            target,
            dimensions,
            settings.collection,
            api_key=settings.qdrant_api_key,
            tls=settings.qdrant_tls,
            exact=not settings.qdrant_url,
        )
        stack.push_async_callback(index.close)
        await index.ensure()
        yield index


@asynccontextmanager
async def open_service(settings: RetrievalSettings) -> AsyncIterator[tuple[Uses, Ping]]:
    """Open every adapter, start the workers, and close all of it at the end."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        embedder = make_embedder(settings)
        stack.push_async_callback(embedder.close)
        database = open_sqlite(settings.data_dir / "record.sqlite")
        stack.push_async_callback(database.close)
        await database.prepare(embedder.model.id)
        store, outbox = SqlEntryStore(database), SqlOutbox(database)
        vector = await stack.enter_async_context(open_qdrant(settings, embedder.model.dimensions))
        keyword = TantivyIndex.open(settings.data_dir / "keywords")
        stack.push_async_callback(keyword.close)
        policies = PolicyBook(SqlPolicyStore(database))
        await policies.refresh()
        indexer = Indexer(outbox, vector, keyword, embedder)
        for worker in (indexer.run(), policies.keep_fresh()):
            task = asyncio.create_task(worker)
            stack.push_async_callback(_cancelled, task)
        await embedder.embed_query("warm up")

        async def ping() -> None:
            # One index can be down: the other one still answers, so only these decide.
            await store.ping()
            await embedder.ping()

        yield (
            Uses(
                retriever=Retriever(
                    embedder, vector, keyword, store, policies, settings.source_cap_ms / 1000
                ),
                reader=Reader(store, outbox, (vector, keyword), policies, embedder.model),
                writer=Writer(store, indexer, embedder, vector, policies),
                policies=policies,
                now=lambda: datetime.now(UTC),
                default_deadline_seconds=settings.default_deadline_seconds,
            ),
            ping,
        )


async def serve() -> None:
    """Run the service until it is told to stop."""
    # With a thread a core, numpy's products take 45 ms of processor time a call instead of 30.
    threadpool_limits(1)
    settings = read_settings(RetrievalSettings)
    configure_logging(settings.log_level, "retrieval")
    auth = read_settings(CredentialSettings).to_auth()
    authenticator = build_authenticator(auth, settings.listen, time.time)
    async with open_service(settings) as (uses, ping):

        def add_to(server: grpc.aio.Server) -> None:
            rpc.add_RetrievalServiceServicer_to_server(RetrievalServicer(uses), server)

        guards = standard_guards(authenticator, TABLE)
        await Server(settings, SERVICE, guards, add_to, ping).run()


async def _cancelled(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def main() -> None:
    """Entry point: what can't be used or opened is said in one message, with exit code 1."""
    try:
        uvloop.run(serve())
    except (SettingsError, AuthMisconfigured, RetrievalError) as error:
        sys.exit(f"hilvan-retrieval: {error}")


if __name__ == "__main__":
    main()
