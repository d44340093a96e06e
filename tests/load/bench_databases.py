"""The record in SQLite against PostgreSQL: one run, in turn, on one disk.

    PYTHONPATH=tests python -m load.bench_databases [--entries 10000] [--rounds 40]

Prints medians in milliseconds, and each ratio.
"""

import argparse
import asyncio
import random
import signal
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from support.engines.postgres_process import free_port, make_cluster, programs, ready, spawn
from support.retrieval.record import MODEL, T0, entry

from hilvan_retrieval.adapters.record import (
    Database,
    SqlEntryStore,
    SqlGenerationStore,
    migrate,
    open_record,
    open_sqlite,
)
from hilvan_retrieval.adapters.record.stored import by_uid
from hilvan_retrieval.model.entry import Answer, Change, EntryQuery, Uid, entry_uid
from hilvan_retrieval.model.generation import GenerationState
from hilvan_retrieval.model.index import Source

DIMENSIONS = 384
BATCH = 500
CROWD = 8

Step = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two databases."""

    database: Database
    store: SqlEntryStore
    count: int

    def uids(self, count: int) -> list[Uid]:
        """Some uids, others each time."""
        return [entry_uid("acme", f"m{n}") for n in random.sample(range(self.count), count)]


@contextmanager
def new_folder(place: Path | None) -> Iterator[Path]:
    """Give a folder that the server's account can reach, with one of its own in it."""
    with tempfile.TemporaryDirectory(dir=place) as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "pg").mkdir()
        yield folder


@asynccontextmanager
async def postgres(folder: Path) -> AsyncIterator[Database]:
    """Start a server in a folder, safe against a crash."""
    home = programs()
    password = make_cluster(home, folder)
    port = free_port()
    process = spawn(home, folder, port)
    try:
        if not ready(folder, process):
            raise RuntimeError((folder / "postgres.log").read_text())
        address = f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres"
        database = open_record(address, folder, 16)
        yield database
        await database.close()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


async def filled(database: Database, count: int) -> Side:
    """Migrate and fill."""
    await migrate(database)
    store = SqlEntryStore(database)
    for source in Source:
        generations = SqlGenerationStore(database)
        await generations.begin(source, "bench", MODEL, GenerationState.LIVE)
    noise = np.random.default_rng(7)
    for first in range(0, count, BATCH):
        ids = [f"m{n}" for n in range(first, min(first + BATCH, count))]
        puts = tuple(entry(each, f"a statement of some thirty words {each} " * 5) for each in ids)
        made = noise.standard_normal((len(ids), DIMENSIONS)).astype(np.float32)
        change = Change(Answer("x"), puts, vectors=dict(zip(ids, made, strict=True)), model=MODEL)
        await store.change("acme", [], lambda _, change=change: change)  # type: ignore[misc] # a default
    if database.dialect == "postgresql":
        async with database.read() as connection:
            await connection.exec_driver_sql("ANALYZE")
    return Side(database, store, count)


def steps(side: Side) -> dict[str, Step]:
    """What is timed, by name."""
    store, database = side.store, side.database
    same = side.uids(300)
    number = iter(range(10**9))

    async def put(tenant: str = "acme") -> object:
        made = entry(f"w{next(number)}")
        return await store.change(tenant, [made.id], lambda _: Change(Answer("x"), (made,)))

    async def crowd() -> object:
        return await asyncio.gather(*(put(f"t{n}") for n in range(CROWD)))

    async def one_tenant() -> object:
        return await asyncio.gather(*(put() for _ in range(CROWD)))

    async def by_sqlalchemy() -> object:
        async with database.read() as connection:
            return (await connection.execute(by_uid(MODEL), {"keys": side.uids(300)})).all()

    return {
        "300 rows with vectors, others each time": lambda: store.hydrate(
            "acme", side.uids(300), model=MODEL
        ),
        "300 rows with vectors, the same": lambda: store.hydrate("acme", same, model=MODEL),
        "50 rows without vectors": lambda: store.hydrate("acme", side.uids(50), model=None),
        "4 rows with vectors": lambda: store.hydrate("acme", side.uids(4), model=MODEL),
        "the 300 rows alone, read_keys": lambda: database.read_keys(by_uid(MODEL), side.uids(300)),
        "the 300 rows alone, SQLAlchemy": by_sqlalchemy,
        "a page of 50": lambda: store.page(
            EntryQuery("acme", None, frozenset(), frozenset(), T0, 50)
        ),
        "a ping": store.ping,
        "a write of one entry": put,
        f"{CROWD} writes at once, one tenant": one_tenant,
        f"{CROWD} writes at once, as many tenants": crowd,
    }


async def timed(step: Step) -> float:
    """How long a step takes, in milliseconds."""
    begin = time.perf_counter()
    await step()
    return (time.perf_counter() - begin) * 1000


async def main(count: int, rounds: int, place: Path | None) -> None:
    """Fill both, then time each step of one and of the other in turn."""
    random.seed(7)
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(new_folder(place))
        light = open_sqlite(folder / "record.sqlite")
        stack.push_async_callback(light.close)
        heavy = await stack.enter_async_context(postgres(folder / "pg"))
        sides = [await filled(each, count) for each in (light, heavy)]
        tables = [steps(side) for side in sides]
        print(f"| medians of {rounds}, ms | SQLite | PostgreSQL | ratio |\n|---|---|---|---|")
        for name in tables[0]:
            taken: tuple[list[float], list[float]] = ([], [])
            for turn in range(rounds + 3):
                for table, into in zip(tables, taken, strict=True):
                    took = await timed(table[name])
                    if turn >= 3:
                        into.append(took)
            one, two = (statistics.median(each) for each in taken)
            best = " / ".join(f"{min(each):.2f}" for each in taken)
            print(f"| {name} | {one:.2f} | {two:.2f} | {two / one:.2f} | (best {best})", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--place", type=Path, help="where the databases are; default: /tmp")
    given = parser.parse_args()
    asyncio.run(main(given.entries, given.rounds, given.place))
