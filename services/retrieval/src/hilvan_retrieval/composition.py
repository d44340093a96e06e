"""How retrieval's parts are joined, by the settings."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

import structlog

from hilvan_retrieval.adapters.embedding.cache import CachedEmbedder
from hilvan_retrieval.adapters.embedding.description import bundled_description, describe
from hilvan_retrieval.adapters.embedding.guarded import GuardedEmbedder
from hilvan_retrieval.adapters.embedding.hashing import HashingEmbedder
from hilvan_retrieval.adapters.embedding.http import HttpEmbedder
from hilvan_retrieval.adapters.embedding.onnx import OnnxEmbedder
from hilvan_retrieval.adapters.keyword.tantivy.index import TantivyIndex
from hilvan_retrieval.adapters.record import (
    Database,
    SqlConsolidationInput,
    SqlConsolidationJournal,
    SqlEntryStore,
    SqlGenerationStore,
    SqlOutbox,
    SqlPolicyStore,
    migrate,
    open_record,
)
from hilvan_retrieval.adapters.vector.edge import EdgeProcess
from hilvan_retrieval.adapters.vector.qdrant import QdrantIndex
from hilvan_retrieval.core.analysis import ANALYSIS_VERSION
from hilvan_retrieval.errors import EngineMisconfigured, SourceError
from hilvan_retrieval.model.generation import Generation
from hilvan_retrieval.ports.embedding import Embedder
from hilvan_retrieval.ports.index import KeywordIndex, VectorIndex
from hilvan_retrieval.rpc.uses import UseCases
from hilvan_retrieval.settings import RetrievalSettings
from hilvan_retrieval.usecases.candidate import Retriever
from hilvan_retrieval.usecases.consolidation import Consolidator
from hilvan_retrieval.usecases.entry import EntryWriter
from hilvan_retrieval.usecases.entry_read import EntryReader
from hilvan_retrieval.usecases.generation import Engine, Live, OpenIndexes
from hilvan_retrieval.usecases.index import IndexChecker
from hilvan_retrieval.usecases.outbox import OutboxWorker
from hilvan_retrieval.usecases.policy import PolicyBook

Ping = Callable[[], Awaitable[None]]
_log = structlog.get_logger()


def make_embedders(settings: RetrievalSettings) -> list[Embedder]:
    """The embedder of the settings, and the next one if they name one; each with its cache."""
    made = [_embedder(settings, "")]
    if settings.next_embedder:
        made.append(_embedder(settings, "next_"))
    return [CachedEmbedder(each, settings.query_cache) for each in made]


def _embedder(settings: RetrievalSettings, prefix: str) -> Embedder:
    """The embedder that the settings with this prefix describe."""

    def value(name: str) -> str:
        return str(getattr(settings, prefix + name))

    kind = value("embedder")
    if kind.startswith("hashing"):
        _, _, dimensions = kind.partition("-")
        return HashingEmbedder(int(dimensions or 256))
    if kind == "http":
        return GuardedEmbedder(
            HttpEmbedder(
                value("embedding_url"),
                value("embedding_name"),
                bundled_description(value("model_description")),
                api_key=value("embedding_key") or None,
            )
        )
    folder = getattr(settings, f"{prefix}model_dir")
    description = describe(folder, value("model_description"))
    return OnnxEmbedder(folder, description, threads=settings.model_threads)


@asynccontextmanager
async def open_vector_engine(
    settings: RetrievalSettings, embedders: dict[str, Embedder], wanted: str
) -> AsyncIterator[Engine]:
    """Qdrant: a server, or an engine process of our own."""
    async with AsyncExitStack() as stack:
        target, authorities = settings.qdrant_url, _authorities(settings)
        if not target:
            edge = await EdgeProcess.start(settings.data_dir / "vectors")
            stack.push_async_callback(edge.close)
            target = edge.target

        def connect(generation: Generation) -> VectorIndex:
            return QdrantIndex.connect(
                target,
                embedders[generation.recipe].model.dimensions,
                _numbered(settings.collection, generation),
                api_key=settings.qdrant_api_key,
                tls=settings.qdrant_tls,
                ca=authorities,
                key_in_clear=settings.qdrant_key_in_clear,
                exact=not settings.qdrant_url,
            )

        name = "qdrant" if settings.qdrant_url else "qdrant-edge"
        yield Engine(name, wanted, frozenset(embedders), connect)


def _authorities(settings: RetrievalSettings) -> bytes:
    """What Qdrant's certificate is checked by; nothing: what the system trusts."""
    path = settings.qdrant_ca_file
    try:
        return path.read_bytes() if path else b""
    except OSError as error:
        raise EngineMisconfigured(f"Qdrant's authorities: {path}: {error.strerror}") from error


def keyword_engine(settings: RetrievalSettings) -> Engine:
    """OpenSearch, or tantivy inside this process."""

    def connect(generation: Generation) -> KeywordIndex:
        if not settings.opensearch_url:
            return TantivyIndex(settings.data_dir / _numbered("keywords", generation))
        # The package takes most of a second to import.
        from hilvan_retrieval.adapters.keyword.opensearch import OpenSearchIndex

        return OpenSearchIndex.connect(
            settings.opensearch_url,
            _numbered(settings.collection, generation),
            username=settings.opensearch_user,
            password=settings.opensearch_password,
            ca_file=settings.opensearch_ca_file,
        )

    recipe = f"analysis-{ANALYSIS_VERSION}"
    name = "opensearch" if settings.opensearch_url else "tantivy"
    return Engine(name, recipe, frozenset({recipe}), connect)


@asynccontextmanager
async def open_service(settings: RetrievalSettings) -> AsyncIterator[tuple[UseCases, Ping]]:
    """Open every adapter, start the workers, and close all of it at the end.

    Raises EngineMisconfigured for an engine that answers and can't be used as it is.
    """
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        embedders = {}
        for embedder in make_embedders(settings):
            stack.push_async_callback(embedder.close)
            embedders[embedder.model.id] = embedder
        database = open_record(settings.record_url, settings.data_dir, settings.record_connections)
        stack.push_async_callback(database.close)
        await migrate(database, may_change=settings.record_migrate)
        await stack.enter_async_context(_own_indexes(settings, database))
        store, outbox = SqlEntryStore(database), SqlOutbox(database)
        generations = SqlGenerationStore(database)
        wanted = list(embedders)[-1]
        vector = await stack.enter_async_context(open_vector_engine(settings, embedders, wanted))
        indexes = OpenIndexes(generations, outbox, vector, keyword_engine(settings), embedders)
        stack.push_async_callback(indexes.close)
        await indexes.open()
        policies = PolicyBook(SqlPolicyStore(database))
        await policies.refresh()
        indexer = OutboxWorker(outbox, indexes)
        for worker in (indexer.run(), indexes.keep_fresh(), policies.keep_fresh()):
            task = asyncio.create_task(worker)
            stack.push_async_callback(_cancelled, task)
        await _warm_up(indexes.live.embedder)

        def live() -> Live:
            return indexes.live

        yield (
            UseCases(
                retriever=Retriever(live, store, policies, settings.source_cap_ms / 1000),
                reader=EntryReader(store, outbox, indexes, policies),
                writer=EntryWriter(store, indexer, live, policies),
                indexes=indexes,
                checker=IndexChecker(generations, outbox, indexes),
                consolidator=Consolidator(
                    store,
                    SqlConsolidationInput(database),
                    SqlConsolidationJournal(database),
                    lambda: indexes.live.embedder.model,
                    indexer.notice,
                ),
                policies=policies,
                now=lambda: datetime.now(UTC),
                default_deadline_seconds=settings.default_deadline_seconds,
            ),
            # Without an engine or the embedder the others still answer: the record alone decides.
            store.ping,
        )


@asynccontextmanager
async def _own_indexes(settings: RetrievalSettings, database: Database) -> AsyncIterator[None]:
    """Keep a second process away while an index is embedded: each would feed only its own."""
    if settings.qdrant_url and settings.opensearch_url:
        yield
        return
    async with database.exclusive("embedded indexes") as is_mine:
        if not is_mine:
            raise EngineMisconfigured(
                "another retrieval process keeps embedded indexes of this record: stop it, or give "
                "all of them HILVAN_RETRIEVAL_QDRANT_URL and HILVAN_RETRIEVAL_OPENSEARCH_URL"
            )
        yield


async def _warm_up(embedder: Embedder) -> None:
    """Let a model load before the first call; one that is remote and down is no reason to wait."""
    try:
        await embedder.embed_query("warm up")
    except SourceError as error:
        _log.warning("the embedder does not answer", error=str(error))


def _numbered(name: str, generation: Generation) -> str:
    """The name of a generation's index: the first has the plain one."""
    return name if generation.number == 1 else f"{name}-{generation.number}"


async def _cancelled(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
