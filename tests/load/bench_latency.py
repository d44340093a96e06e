"""Assemble under load, over gRPC, against the floor of the raw parts in the same run.

    make bench-latency N=100000
    make bench-latency N=100000 ENGINES=server

Loads N synthetic entries of many tenants, then calls Assemble open-loop: requests start on
schedule, whether or not earlier ones are back, at the rate that keeps the wanted number of calls
in flight. Every query is new, so no query vector comes from the cache. Tenants ask as often as
they have entries, so most calls search the big ones.
"""

import argparse
import asyncio
import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import orjson
from load.floor import Floor, measure_floor
from load.load_engines import Engines, server_engines
from load.load_services import Running, running_services
from load.synthetic import Who, people, records, topics

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.retrieval.v1 import retrieval_service_pb2 as retrieval_pb
from hilvan_client import Hilvan
from hilvan_retrieval.adapters.embedding.description import describe
from hilvan_retrieval.adapters.embedding.onnx import OnnxEmbedder

MODEL = Path(".cache/models/multilingual-e5-small")
WARM_UP = 60
DEADLINE_SECONDS = 5.0


@dataclass(slots=True)
class Load:
    """What the calls took, in milliseconds, by stage and as a whole."""

    calls: list[float] = field(default_factory=list)
    stages: dict[str, list[float]] = field(default_factory=dict)
    degraded: int = 0
    failed: int = 0
    in_flight: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)


class Caller:
    """Asks one new question a call, each for another tenant's user."""

    def __init__(self, hilvan: Hilvan, whos: Sequence[Who], sentences: Sequence[str]) -> None:
        """Draw questions and callers from a seeded generator."""
        self._hilvan = hilvan
        self._whos = whos
        self._sentences = sentences
        self._rng = random.Random(1)
        self._numbers = itertools.count()
        self._running = 0

    async def call(self, load: Load) -> None:
        """One Assemble, noted in the load."""
        (who,) = self._rng.choices(self._whos, [each.entries for each in self._whos])
        sentence = self._rng.choice(self._sentences)
        request = pb.AssembleRequest(
            query=f"{sentence}? ({next(self._numbers)})",
        )
        self._running += 1
        load.in_flight.append(self._running)
        started = time.perf_counter()
        try:
            metadata = (("hilvan-tenant", who.tenant), ("hilvan-user", who.user))
            answer = await self._hilvan.assembler.Assemble(request, metadata=metadata)
        except Exception as error:  # noqa: BLE001 (a failed call is a figure of the bench)
            load.failed += 1
            print(f"failed: {error!r}")
            return
        finally:
            self._running -= 1
        load.calls.append(1000 * (time.perf_counter() - started))
        load.degraded += bool(answer.degraded)
        load.tokens.append(answer.token_count)
        for each in answer.timings:
            elapsed = each.elapsed_duration
            stage = load.stages.setdefault(each.stage, [])
            stage.append(elapsed.seconds * 1000 + elapsed.nanos / 1e6)


async def open_loop(caller: Caller, rate: float, seconds: float) -> Load:
    """Start calls on schedule, and wait for the last one."""
    load = Load()
    started = time.perf_counter()
    tasks = []
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, started + number / rate - time.perf_counter()))
        tasks.append(asyncio.create_task(caller.call(load)))
    await asyncio.gather(*tasks)
    return load


async def closed_loop(caller: Caller, workers: int, calls: int) -> Load:
    """A fixed number of callers, each with one call in flight."""
    load = Load()

    async def work() -> None:
        for _ in range(calls // workers):
            await caller.call(load)

    await asyncio.gather(*(work() for _ in range(workers)))
    return load


async def fill(services: Running, total: int, model: Path) -> list[str]:
    """Import the synthetic store and wait until both indexes have it; return the topics."""
    sentences = topics()
    embedder = OnnxEmbedder(model, describe(model, model.name))
    vectors = await embedder.embed_passages(sentences)
    await embedder.close()
    started = time.monotonic()
    for place, who in enumerate(people(total)):
        async with services.connect(timeout=60, tenant=who.tenant) as hilvan:
            made = records(place, who.entries, sentences, np.asarray(vectors), embedder.model.id)
            await hilvan.import_entries(made, batch_size=500)
    async with services.connect(timeout=60) as hilvan:
        await settled(hilvan)
    seconds = time.monotonic() - started
    print(f"{total} entries imported and indexed in {seconds:.0f} s ({total / seconds:.0f}/s)")
    return sentences


async def settled(hilvan: Hilvan) -> None:
    """Wait until both indexes have everything, and the engines had time to settle."""
    while True:
        state = await hilvan.retrieval.GetIndexState(retrieval_pb.GetIndexStateRequest())
        if not sum(index.pending_count for index in state.indexes):
            break
        await asyncio.sleep(0.5)
    await asyncio.sleep(20)


def percentiles(values: Sequence[float]) -> tuple[float, float, float]:
    """p50, p95 and p99."""
    p50, p95, p99 = np.percentile(values, (50, 95, 99))
    return float(p50), float(p95), float(p99)


def show(title: str, load: Load) -> None:
    """Print one table."""
    mean = statistics.fmean(load.in_flight)
    print(
        f"\n{title}: {len(load.calls)} calls, {mean:.1f} in flight, "
        f"{load.failed} failed, {load.degraded} degraded, "
        f"{statistics.fmean(load.tokens):.0f} tokens a prompt"
    )
    print(f"{'ms':12} {'p50':>7} {'p95':>7} {'p99':>7}")
    for stage, values in [("call", load.calls), *sorted(load.stages.items())]:
        print(f"{stage:12} " + " ".join(f"{value:7.1f}" for value in percentiles(values)))


async def measure(services: Running, total: int, seconds: float, model: Path) -> dict[str, Load]:
    """Fill, warm up, and drive one, two and four calls in flight."""
    sentences = await fill(services, total, model)
    loads: dict[str, Load] = {}
    async with services.connect(timeout=DEADLINE_SECONDS) as hilvan:
        caller = Caller(hilvan, people(total), sentences)
        await closed_loop(caller, 2, WARM_UP)
        loads["alone"] = await closed_loop(caller, 1, int(seconds * 10))
        both = await closed_loop(caller, 2, int(seconds * 20))
        loads["closed, 2 in flight"] = both
        # Little's law: at three quarters of what two callers get through, about 2 are in flight.
        rate = 0.75 * 2000 / statistics.fmean(both.calls)
        loads[f"open, {rate:.0f}/s"] = await open_loop(caller, rate, seconds)
    return loads


def report(total: int, loads: dict[str, Load], floor: Floor) -> dict[str, object]:
    """Print the tables; return the machine-readable figures."""
    for title, load in loads.items():
        show(title, load)
    figures: dict[str, object] = {"bench": "latency", "entries": total, "floor": floor.figures()}
    print(f"\n{floor.table()}")
    for title, load in loads.items():
        p50, p95, p99 = percentiles(load.calls)
        ratio = p50 / floor.total_p50
        print(f"{title:24} p50 {p50:6.1f} ms, p95 {p95:6.1f} ms, {ratio:.2f} x the floor's p50")
        figures[title.split(",", maxsplit=1)[0]] = {
            "p50": round(p50, 1),
            "p95": round(p95, 1),
            "p99": round(p99, 1),
            "ratio_p50": round(ratio, 2),
            "failed": load.failed,
            "degraded": load.degraded,
        }
    return figures


def main() -> None:
    """Print the tables, and the figures as one line at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--engines", choices=("embedded", "server"), default="embedded")
    parser.add_argument("--model", type=Path, default=MODEL)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hilvan-bench-")))
        engines = Engines()
        if arguments.engines == "server":
            engines = stack.enter_context(server_engines(home))
        print(f"engines: {engines.named}")
        variables = {**engines.environment, "HILVAN_RETRIEVAL_MODEL_DIR": str(arguments.model)}
        with running_services(home, **variables) as up:
            loads = asyncio.run(measure(up, arguments.entries, arguments.seconds, arguments.model))
        floor = asyncio.run(measure_floor(home, arguments.model, arguments.entries, engines))
        figures = report(arguments.entries, loads, floor) | {"engines": arguments.engines}
    print(orjson.dumps(figures).decode())


if __name__ == "__main__":
    main()
