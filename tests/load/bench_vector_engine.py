"""How long the vector index takes, and where that goes: adapter, hop, or engine.

Usage: python tests/load/bench_vector_engine.py [documents] [dimensions]

Tenants are Zipf-like, the biggest owns 20 %; one call asks three layers with limit 100.
"""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import uvloop

from hilvan_retrieval.adapters.vector.edge import EdgeProcess
from hilvan_retrieval.adapters.vector.qdrant import QdrantIndex
from hilvan_retrieval.adapters.vector.qdrant.codec import Codec
from hilvan_retrieval.adapters.vector.qdrant.stubs import qdrant
from hilvan_retrieval.model.embedding import Matrix
from hilvan_retrieval.model.entry import FOREVER_MS, Layer, entry_uid
from hilvan_retrieval.model.index import Filter, IndexDocument, VectorQuery

CALLS = 300
LAYERS = (Layer.MEMORY, Layer.EPISODE, Layer.PROCEDURE)
TENANTS = 200
OWNERS = 5
BATCH = 500


def main() -> None:
    """Load, settle, and time the same queries through the adapter and on the bare engine."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    dimensions = int(sys.argv[2]) if len(sys.argv) > 2 else 384
    folder = Path(tempfile.mkdtemp(prefix="bench-vector-"))
    queries = {
        "biggest tenant": _queries(dimensions, np.zeros(CALLS, dtype=int)),
        "a tenant each call": _queries(dimensions, _tenants(CALLS, seed=5)),
    }
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_through_adapter(folder, count, dimensions, queries))
        _on_engine(folder, dimensions, queries)
    finally:
        shutil.rmtree(folder)


async def _through_adapter(
    folder: Path, count: int, dimensions: int, queries: dict[str, list[list[VectorQuery]]]
) -> None:
    engine = await EdgeProcess.start(folder)
    index = QdrantIndex.connect(engine.target, dimensions, timeout=30.0)
    await index.ensure()
    documents = _documents(count, dimensions)
    stalls: list[float] = []
    watch = asyncio.create_task(_watch(index, stalls))
    start = time.perf_counter()
    for at in range(0, count, BATCH):
        await index.upsert(documents[at : at + BATCH])
    seconds = time.perf_counter() - start
    _say(f"load: {count / seconds:.0f} points/s, longest stall {max(stalls):.2f} s")
    stalls.clear()
    await asyncio.sleep(3)  # idle, so the engine settles
    await index.ping()
    await asyncio.sleep(0.1)
    _say(f"settling: longest stall {max(stalls):.2f} s")
    watch.cancel()
    await _time("empty hop (HealthCheck)", engine.pid, lambda _: _hop(index))
    for name, calls in queries.items():
        await _time(f"adapter, {name}", engine.pid, partial(_search, index, calls))
    await index.close()
    await engine.close()


def _on_engine(folder: Path, dimensions: int, queries: dict[str, list[list[VectorQuery]]]) -> None:
    import qdrant_edge

    from hilvan_retrieval.adapters.vector.edge import translate

    shard = qdrant_edge.EdgeShard.load(str(folder / "hilvan"))
    codec = Codec("hilvan", dimensions, exact=True)
    for name, calls in queries.items():
        took, here = [], 0.0
        for call in calls:
            requests = [translate.query(codec.query(query, query.limit + 8)) for query in call]
            batch = qdrant_edge.QueryBatchRequest(requests)
            start, cpu = time.perf_counter(), time.process_time()
            shard.query_batch(batch)
            took.append(time.perf_counter() - start)
            here += time.process_time() - cpu
        _print(f"bare engine, {name}", took, here=here)
    shard.close()


async def _search(index: QdrantIndex, calls: list[list[VectorQuery]], number: int) -> None:
    await index.search(calls[number])


async def _hop(index: QdrantIndex) -> None:
    await index._connection.service.HealthCheck(qdrant.HealthCheckRequest())


async def _watch(index: QdrantIndex, stalls: list[float]) -> None:
    while True:
        start = time.perf_counter()
        await index.ping()
        stalls.append(time.perf_counter() - start)
        await asyncio.sleep(0.01)


async def _time(name: str, engine: int, call: Callable[[int], Awaitable[object]]) -> None:
    took, here, there = [], time.process_time(), _cpu_seconds(engine)
    for i in range(CALLS):
        start = time.perf_counter()
        await call(i)
        took.append(time.perf_counter() - start)
    _print(name, took, here=time.process_time() - here, there=_cpu_seconds(engine) - there)


def _print(name: str, took: list[float], *, here: float, there: float = 0.0) -> None:
    p50, p95 = np.percentile(np.array(took) * 1000, [50, 95])
    cpu = f"{here / CALLS * 1000:5.2f} + {there / CALLS * 1000:5.2f}"
    _say(f"{name:32s} p50 {p50:6.2f} ms   p95 {p95:6.2f} ms   CPU here + engine {cpu} ms")


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _documents(count: int, dimensions: int) -> list[IndexDocument]:
    rng = np.random.default_rng(3)
    vectors, tenants = _vectors(count, dimensions, seed=1), _tenants(count, seed=2)
    layers = rng.choice(4, count, p=[0.5, 0.2, 0.1, 0.2])
    owners = rng.integers(0, OWNERS, count)
    return [
        IndexDocument(
            uid=entry_uid(f"tenant-{tenants[i]}", str(i)),
            tenant=f"tenant-{tenants[i]}",
            layer=list(Layer)[layers[i]],
            owner=f"user:{owners[i]}",
            category=f"category-{i % 12}",
            tags=("red", "blue"),
            live_from_ms=0,
            live_until_ms=FOREVER_MS,
            text="",
            vector=vectors[i],
        )
        for i in range(count)
    ]


def _queries(
    dimensions: int, tenants: "np.ndarray[tuple[int], np.dtype[np.int64]]"
) -> list[list[VectorQuery]]:
    owners = frozenset(f"user:{i}" for i in range(3))
    return [
        [
            VectorQuery(Filter(f"tenant-{tenant}", owners, layer, 1_700_000_000_000), vector, 100)
            for layer in LAYERS
        ]
        for tenant, vector in zip(tenants, _vectors(CALLS, dimensions, seed=7), strict=True)
    ]


def _tenants(count: int, seed: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    weights = 1 / np.arange(1, TENANTS + 1)
    weights[1:] *= 0.8 / weights[1:].sum()
    weights[0] = 0.2
    return np.random.default_rng(seed).choice(TENANTS, count, p=weights)


def _vectors(count: int, dimensions: int, seed: int) -> Matrix:
    """Clusters in 48 latent dimensions, like embeddings of texts."""
    latent = np.random.default_rng(0)
    basis = latent.standard_normal((48, dimensions))
    centres = latent.standard_normal((400, 48))
    rng = np.random.default_rng(seed)
    rows = centres[rng.integers(0, 400, count)] + 0.5 * rng.standard_normal((count, 48))
    vectors = rows @ basis
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(unit, dtype=np.float32)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
