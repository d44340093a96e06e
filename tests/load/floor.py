"""What the raw parts of a call cost on the same data: the model, the engines, a bare hop.

The services are stopped by then. Embedded engines are opened in this process, called as they come.
"""

import asyncio
import multiprocessing
import random
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import grpc
from load.load_engines import Engines, keyword_share, vector_share
from load.synthetic import people, topics
from qdrant_edge import EdgeShard, QueryBatchRequest

from hilvan_retrieval.adapters.embedding.description import describe
from hilvan_retrieval.adapters.embedding.onnx import OnnxEmbedder
from hilvan_retrieval.adapters.keyword.tantivy.index import TantivyIndex
from hilvan_retrieval.adapters.vector.edge import translate
from hilvan_retrieval.adapters.vector.qdrant.codec import Codec
from hilvan_retrieval.model.embedding import Vector
from hilvan_retrieval.model.entry import Layer
from hilvan_retrieval.model.index import Filter, KeywordQuery, VectorQuery

CALLS = 120
LIMIT = 100
HOPS = 3
PAYLOAD = b"x" * 32_768
"""About what a hop of a call carries."""

_METHOD = "/floor/Echo"
LAYERS = (Layer.MEMORY, Layer.EPISODE, Layer.PROCEDURE)


@dataclass(frozen=True, slots=True)
class Floor:
    """Median milliseconds of each part.

    ``shares`` are what an adapter adds to what its engine tells: p50 and p95, servers only.
    """

    embed: float
    vector: float
    keyword: float
    hop: float
    shares: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def total_p50(self) -> float:
        """Embedding, the slower engine, three bare hops."""
        return self.embed + max(self.vector, self.keyword) + HOPS * self.hop

    def figures(self) -> dict[str, float]:
        """For the machine-readable line."""
        parts = {"embed": self.embed, "vector": self.vector, "keyword": self.keyword}
        parts |= {"hop": self.hop, "total": self.total_p50}
        for name, (p50, p95) in self.shares.items():
            parts |= {f"{name}_share_p50": p50, f"{name}_share_p95": p95}
        return {name: round(value, 2) for name, value in parts.items()}

    def table(self) -> str:
        """For people."""
        ours = "".join(
            f"\n{name}: our share over the engine's own time p50 {p50:.1f} ms, p95 {p95:.1f} ms"
            for name, (p50, p95) in self.shares.items()
        )
        return (
            f"floor (raw parts, one call at a time, p50): embed {self.embed:.1f} ms, "
            f"vector {self.vector:.1f} ms, keyword {self.keyword:.1f} ms, "
            f"bare hop {self.hop:.2f} ms; total {self.total_p50:.1f} ms"
            f"{ours}"
        )


async def measure_floor(
    home: Path, model: Path, total: int, engines: Engines | None = None
) -> Floor:
    """Measure each part alone on the data that the services left.

    Of servers, what they tell of their own time counts, and what our adapters add is told.
    """
    rng = random.Random(2)
    sentences = topics()
    whos = people(total)
    embedder = OnnxEmbedder(model, describe(model, model.name))
    texts = [f"{rng.choice(sentences)}? [{number}]" for number in range(CALLS)]
    embed, vectors = await _embed(embedder, texts)
    await embedder.close()
    filters = [_filters(who.tenant, who.user) for who in rng.choices(whos, k=CALLS)]
    if engines is not None and engines.environment:
        meaning = await vector_share(engines, filters, vectors)
        words = await keyword_share(engines, filters, texts)
        shares = {"vector": meaning.rest, "keyword": words.rest}
        return Floor(embed, meaning.own_p50, words.own_p50, await _hop(), shares)
    return Floor(
        embed=embed,
        vector=_vector(home, filters, vectors),
        keyword=await _keyword(home, filters, texts),
        hop=await _hop(),
    )


def _filters(tenant: str, user: str) -> list[Filter]:
    now = int(time.time() * 1000)
    return [Filter(tenant, frozenset([f"user:{user}"]), layer, now) for layer in LAYERS]


async def _embed(embedder: OnnxEmbedder, texts: list[str]) -> tuple[float, list[Vector]]:
    times, vectors = [], []
    for text in texts:
        started = time.perf_counter()
        vectors.append(await embedder.embed_query(text))
        times.append(time.perf_counter() - started)
    return _median(times), vectors


def _vector(home: Path, filters: list[list[Filter]], vectors: list[Vector]) -> float:
    """The engine's own call on prepared queries, in this process."""
    shard = EdgeShard.load(str(home / "retrieval" / "vectors" / "hilvan"))
    codec = Codec("hilvan", len(vectors[0]), exact=True)
    times = []
    for chosen, vector in zip(filters, vectors, strict=True):
        queries = [VectorQuery(each, vector, LIMIT) for each in chosen]
        batch = QueryBatchRequest([translate.query(codec.query(q, LIMIT)) for q in queries])
        started = time.perf_counter()
        shard.query_batch(batch)
        times.append(time.perf_counter() - started)
    shard.close()
    return _median(times)


async def _keyword(home: Path, filters: list[list[Filter]], texts: list[str]) -> float:
    index = TantivyIndex.open(home / "retrieval" / "keywords")
    times = []
    for chosen, text in zip(filters, texts, strict=True):
        queries = [KeywordQuery(each, text, LIMIT) for each in chosen]
        started = time.perf_counter()
        await index.search(queries)
        times.append(time.perf_counter() - started)
    await index.close()
    return _median(times)


async def _hop() -> float:
    """A bare unary call to another process and back."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    port = await asyncio.to_thread(ours.recv)
    times = []
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        echo: Any = channel.unary_unary(_METHOD)
        for _ in range(20 * CALLS):
            started = time.perf_counter()
            await echo(PAYLOAD)
            times.append(time.perf_counter() - started)
    server.kill()
    return _median(times)


def _serve(pipe: Connection) -> None:
    asyncio.run(_echo(pipe))


async def _echo(pipe: Connection) -> None:
    async def echo(request: bytes, _: object) -> bytes:
        return request

    server = grpc.aio.server()
    handlers: dict[str, Any] = {"Echo": grpc.unary_unary_rpc_method_handler(echo)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("floor", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    pipe.send(port)
    await server.wait_for_termination()


def _median(seconds: list[float]) -> float:
    return 1000 * statistics.median(seconds)
