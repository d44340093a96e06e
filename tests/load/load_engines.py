"""Which engines a latency benchmark runs on, and what they cost without the services."""

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from prometheus_client import REGISTRY
from support.engines.notes import OPENSEARCH, POSTGRESQL, QDRANT
from support.engines.postgres_databases import address_of, on_server
from support.engines.run import QDRANT_URL, RUN
from support.engines.vector import running_engine

from hilvan_retrieval.adapters.keyword.opensearch import OpenSearchIndex
from hilvan_retrieval.adapters.vector.qdrant import QdrantIndex
from hilvan_retrieval.model.embedding import Vector
from hilvan_retrieval.model.index import Filter, KeywordQuery, VectorQuery

LIMIT = 100


@dataclass(frozen=True, slots=True)
class Engines:
    """Engines by their names in the settings; none are the embedded ones."""

    environment: Mapping[str, str] = field(default_factory=dict)
    named: str = "embedded"


@dataclass(frozen=True, slots=True)
class Share:
    """Milliseconds of searches through an adapter: whole, and as the engine tells its own."""

    whole: list[float]
    own: list[float]

    @property
    def own_p50(self) -> float:
        """The engine's own median."""
        return statistics.median(self.own)

    @property
    def rest(self) -> tuple[float, float]:
        """What is ours and the way: p50 and p95."""
        p50, p95 = np.percentile(np.subtract(self.whole, self.own), (50, 95))
        return float(p50), float(p95)


@contextmanager
def server_engines(home: Path) -> Iterator[Engines]:
    """Start OpenSearch, PostgreSQL, and a Qdrant double where no address names a server."""
    opensearch, postgres = RUN.engine(OPENSEARCH), RUN.engine(POSTGRESQL)
    database = f"bench_{os.getpid()}"
    asyncio.run(on_server(postgres.address, f'CREATE DATABASE "{database}"'))
    environment = {
        "HILVAN_RETRIEVAL_OPENSEARCH_URL": opensearch.address,
        "HILVAN_RETRIEVAL_RECORD_URL": address_of(postgres.address, database),
        "HILVAN_RETRIEVAL_COLLECTION": database,
    }
    names = f"OpenSearch {opensearch.version}, PostgreSQL {postgres.version}"
    try:
        if os.environ.get(QDRANT_URL):
            qdrant = RUN.engine(QDRANT)
            environment |= {
                "HILVAN_RETRIEVAL_QDRANT_URL": qdrant.address,
                "HILVAN_RETRIEVAL_QDRANT_API_KEY": qdrant.key,
                "HILVAN_RETRIEVAL_QDRANT_TLS": str(qdrant.secure),
                "HILVAN_RETRIEVAL_QDRANT_KEY_IN_CLEAR": "true",
            }
            yield Engines(environment, f"{names}, Qdrant {qdrant.version}")
            return
        with running_engine(home / "double", "--address", "127.0.0.1:0") as target:
            environment["HILVAN_RETRIEVAL_QDRANT_URL"] = target
            yield Engines(environment, f"{names}, Qdrant's engine behind our wire double")
    finally:
        asyncio.run(on_server(postgres.address, f'DROP DATABASE "{database}" WITH (FORCE)'))
        RUN.close()


async def vector_share(
    engines: Engines, filters: list[list[Filter]], vectors: list[Vector]
) -> Share:
    """Search through the adapter, alone."""
    settings = engines.environment
    index = QdrantIndex.connect(
        settings["HILVAN_RETRIEVAL_QDRANT_URL"],
        len(vectors[0]),
        settings["HILVAN_RETRIEVAL_COLLECTION"],
        exact=False,
        api_key=settings.get("HILVAN_RETRIEVAL_QDRANT_API_KEY", ""),
        tls=settings.get("HILVAN_RETRIEVAL_QDRANT_TLS", "") == "True",
        key_in_clear=True,
    )
    calls = [
        [VectorQuery(each, vector, LIMIT) for each in chosen]
        for chosen, vector in zip(filters, vectors, strict=True)
    ]
    try:
        return await _share("qdrant", [partial(index.search, each) for each in calls])
    finally:
        await index.close()


async def keyword_share(engines: Engines, filters: list[list[Filter]], texts: list[str]) -> Share:
    """The same of words."""
    settings = engines.environment
    index = OpenSearchIndex.connect(
        settings["HILVAN_RETRIEVAL_OPENSEARCH_URL"], settings["HILVAN_RETRIEVAL_COLLECTION"]
    )
    calls = [
        [KeywordQuery(each, text, LIMIT) for each in chosen]
        for chosen, text in zip(filters, texts, strict=True)
    ]
    try:
        return await _share("opensearch", [partial(index.search, each) for each in calls])
    finally:
        await index.close()


async def _share(engine: str, calls: list[Callable[[], Awaitable[object]]]) -> Share:
    share = Share([], [])
    for number, call in enumerate([*calls[:20], *calls]):
        told = _told(engine)
        started = time.perf_counter()
        await call()
        whole = time.perf_counter() - started
        if number >= len(calls[:20]):  # the first are to warm up
            share.whole.append(1000 * whole)
            share.own.append(1000 * (_told(engine) - told))
    return share


def _told(engine: str) -> float:
    """Seconds that an engine has told so far in this process."""
    return REGISTRY.get_sample_value("hilvan_engine_seconds_sum", {"engine": engine}) or 0.0
