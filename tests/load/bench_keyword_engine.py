"""How long OpenSearch as the keyword index takes, and where that goes: Python, hop, or engine.

Usage: python tests/load/bench_keyword_engine.py [documents ...]

Tenants are Zipf-like, the biggest owns 20 %; one call asks three layers with three owners, a mute
and validity. It starts an OpenSearch of its own, or asks HILVAN_TEST_OPENSEARCH_URL.
"""

import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.engines.leash import leashed
from support.engines.opensearch_index import fresh_index
from support.engines.opensearch_process import await_healthy, spawn

from hilvan_retrieval.adapters.keyword.opensearch import OpenSearchIndex, codec
from hilvan_retrieval.model.entry import FOREVER_MS, Layer, entry_uid
from hilvan_retrieval.model.index import Filter, IndexDocument, KeywordQuery

CALLS = 200
WARM_UP = 600
LAYERS = (Layer.MEMORY, Layer.EPISODE, Layer.PROCEDURE)
TENANTS = 200
OWNERS = 5
BATCH = 2_000
WORDS = 20_000
NOW_MS = 1_700_000_000_000


def main() -> None:
    """Load each size, and time the same queries as a whole and by their parts."""
    sizes = [int(size) for size in sys.argv[1:]] or [10_000, 100_000]
    with node() as (url, pid), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        for size in sizes:
            runner.run(_measure(url, pid, size))


@contextmanager
def node() -> Iterator[tuple[str, int]]:
    """Give an OpenSearch: its address, and its process or 0 where that is not ours."""
    if url := os.environ.get("HILVAN_TEST_OPENSEARCH_URL"):
        yield url, int(os.environ.get("BENCH_PID", "0"))
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        process = spawn(folder, daemon=True)  # which is compiled as in production
        with leashed(process, folder):
            yield await_healthy(folder, process), process.pid


async def _measure(url: str, pid: int, count: int) -> None:
    async with fresh_index(url) as index:
        await index.ensure()
        await _load(index, count)
        _say(f"{count} documents, {await _told(index, '_stats/store,segments')}")
        for limit in (50, 100):
            for name, tenants in (("biggest", np.zeros(CALLS, dtype=int)), ("each", _tenants())):
                await _time(f"{name} tenant, limit {limit}", index, pid, _calls(tenants, limit))
        await _time_writes(index)


async def _load(index: OpenSearchIndex, count: int) -> None:
    start = time.perf_counter()
    documents = _documents(count)
    _say(f"made {count} in {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    for at in range(0, count, BATCH):
        await index.upsert(documents[at : at + BATCH])
    seconds = time.perf_counter() - start
    _say(f"load: {count / seconds:.0f} documents/s, {BATCH} a call")
    await asyncio.sleep(2)  # merges end


async def _told(index: OpenSearchIndex, path: str) -> str:
    told = (await index._call("GET", path, seconds=30.0))["_all"]["primaries"]
    return f"{told['store']['size_in_bytes'] / 1e6:.0f} MB, {told['segments']['count']} segments"


async def _time(
    name: str, index: OpenSearchIndex, pid: int, calls: list[list[KeywordQuery]]
) -> None:
    _say(f"{name}:")
    plan = [codec.questions(call) for call in calls]
    told = [await index._statistics(list(asked.values())) for asked in plan]
    bodies = [
        codec.search_request(asked.values(), known, milliseconds=1000)
        for asked, known in zip(plan, told, strict=True)
    ]
    took: list[float] = []

    async def whole(number: int) -> None:
        await index.search(calls[number])

    async def statistics(number: int) -> None:
        await index._statistics(list(plan[number].values()))

    async def bare(number: int) -> None:
        answer: Any = await index._call("POST", "_msearch", seconds=30.0, body=bodies[number])
        took.extend([answer["took"]] * (len(took) < CALLS))

    async def hop(_: int) -> None:
        await index._client.call("GET", "/", seconds=30.0)

    for number in range(WARM_UP):
        await whole(number % CALLS)
    await _run("search()", pid, whole)
    await _run("of it: statistics", pid, statistics)
    await _run("of it: the bare _msearch", pid, bare)
    await _run("an empty hop", pid, hop)
    parts = []
    for call, known in zip(calls, told, strict=True):
        start = time.process_time()
        asked = codec.questions(call)
        codec.statistics_request(asked.values())
        codec.search_request(asked.values(), known, milliseconds=1000)
        parts.append(time.process_time() - start)
    _say(f"  Python before and between: p50 {np.median(parts) * 1000:.2f} ms")
    _say(f"  OpenSearch's own `took`: p50 {np.percentile(took, 50)} p95 {np.percentile(took, 95)}")


async def _run(name: str, pid: int, call: Callable[[int], Awaitable[None]]) -> None:
    took, here, there = [], time.process_time(), _cpu_seconds(pid)
    for number in range(CALLS):
        start = time.perf_counter()
        await call(number)
        took.append(time.perf_counter() - start)
    p50, p95 = np.percentile(np.array(took) * 1000, [50, 95])
    here, there = time.process_time() - here, _cpu_seconds(pid) - there
    cpu = f"{here / CALLS * 1000:5.2f} + {there / CALLS * 1000:5.2f}"
    _say(f"  {name:26s} p50 {p50:6.2f} ms   p95 {p95:6.2f} ms   CPU here + engine {cpu} ms")


async def _time_writes(index: OpenSearchIndex) -> None:
    for size in (1, 16, 500):
        took = []
        for start in range(20):
            documents = _documents(size, seed=start + 100)
            since = time.perf_counter()
            await index.upsert(documents)
            took.append(time.perf_counter() - since)
        p50, p95 = np.percentile(np.array(took) * 1000, [50, 95])
        _say(f"upsert of {size}, searchable: p50 {p50:.1f} ms, p95 {p95:.1f} ms")


def _cpu_seconds(pid: int) -> float:
    if not pid:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _documents(count: int, seed: int = 1) -> list[IndexDocument]:
    rng = np.random.default_rng(seed)
    tenants = _tenants(count, seed=seed + 1)
    layers = rng.choice(4, count, p=[0.5, 0.2, 0.1, 0.2])
    owners = rng.integers(0, OWNERS, count)
    lengths = rng.integers(8, 60, count)
    words = _words(int(lengths.sum()), seed=seed + 2)
    ends = np.cumsum(lengths)
    return [
        IndexDocument(
            uid=entry_uid(f"tenant-{tenants[i]}", f"{seed}-{i}"),
            tenant=f"tenant-{tenants[i]}",
            layer=list(Layer)[layers[i]],
            owner=f"user:{owners[i]}",
            category=f"category-{i % 12}",
            tags=("red", "blue"),
            live_from_ms=0,
            live_until_ms=FOREVER_MS,
            text=" ".join(words[ends[i] - lengths[i] : ends[i]]),
        )
        for i in range(count)
    ]


def _calls(
    tenants: "np.ndarray[tuple[int], np.dtype[np.int64]]", limit: int
) -> list[list[KeywordQuery]]:
    owners = frozenset(f"user:{i}" for i in range(3))
    muted = frozenset({("user:0", "category-3")})
    words = _words(7 * len(tenants), seed=9)
    return [
        [
            KeywordQuery(
                Filter(f"tenant-{tenant}", owners, layer, NOW_MS, muted=muted),
                " ".join(words[7 * i : 7 * i + 7]),
                limit,
            )
            for layer in LAYERS
        ]
        for i, tenant in enumerate(tenants)
    ]


def _words(count: int, seed: int) -> list[str]:
    """Words of a made-up language whose frequencies fall as Zipf's law says."""
    chance = random.Random(4)
    syllables = [a + b for a in "bcdfglmnprstv" for b in "aeiou"]
    known = ["".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(WORDS)]
    weights = 1 / (np.arange(WORDS) + 2.7)
    drawn = np.random.default_rng(seed).choice(WORDS, count, p=weights / weights.sum())
    return [known[number] for number in drawn]


def _tenants(count: int = CALLS, seed: int = 5) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    weights = 1 / np.arange(1, TENANTS + 1)
    weights[1:] *= 0.8 / weights[1:].sum()
    weights[0] = 0.2
    return np.random.default_rng(seed).choice(TENANTS, count, p=weights)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
