"""What is particular to the record in SQLite: its plans, its processes, its refusals."""

import asyncio
import sqlite3
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from retrieval_record import ANA, MODEL, T0, entry, quick_folder, unit
from sqlalchemy import event

from hilvan_retrieval.adapters.records import SqlEntryStore, SqlOutbox, open_sqlite
from hilvan_retrieval.adapters.records.loading import WITH_VECTORS, WITHOUT_VECTORS
from hilvan_retrieval.errors import EngineMisconfigured, SourceUnavailable
from hilvan_retrieval.model import (
    Answer,
    Change,
    EntryQuery,
    Layer,
    RequestKey,
    Source,
    entry_uid,
)

INCREMENT = """
import asyncio, sys
from dataclasses import replace
from pathlib import Path
from hilvan_retrieval.adapters.records import SqlEntryStore, open_sqlite
from hilvan_retrieval.model import Answer, Change

def increment(current):
    old = current["m1"]
    new = replace(old, access_count=old.access_count + 1)
    return Change(Answer("x", new), puts=(new,))

async def main():
    database = open_sqlite(Path(sys.argv[1]))
    store = SqlEntryStore(database)
    for _ in range(40):
        await store.change("acme", ["m1"], increment)
    await database.close()

asyncio.run(main())
"""


@pytest.fixture
def path() -> Iterator[Path]:
    """Gives the path of a database that is not there yet."""
    with quick_folder() as folder:
        yield folder / "record.sqlite"


async def test_writers_of_two_processes_lose_nothing(path: Path) -> None:
    """Forty increments by each of two processes add up to eighty."""
    database = open_sqlite(path)
    await database.prepare(MODEL)
    store = SqlEntryStore(database)
    await store.change("acme", [], lambda _: Change(Answer("x"), puts=(entry(),)))
    command = [sys.executable, "-c", INCREMENT, str(path)]
    writers = [await asyncio.create_subprocess_exec(*command) for _ in range(2)]
    assert [await each.wait() for each in writers] == [0, 0]
    found = (await store.entries("acme", ["m1"]))["m1"]
    await store.close()
    assert (found.access_count, found.version) == (80, 81)


async def test_a_record_of_another_model_or_schema_is_refused(path: Path) -> None:
    """The message says which is which and what to do; the right one opens again."""
    database = open_sqlite(path)
    await database.prepare("a-model")
    with pytest.raises(EngineMisconfigured, match=r"'a-model', not 'b-model'.*set that model"):
        await database.prepare("b-model")
    await database.prepare("a-model")
    await database.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = '0' WHERE key = 'schema'")
    connection.close()
    database = open_sqlite(path)
    with pytest.raises(EngineMisconfigured, match=r"schema '0'.*use the release that wrote it"):
        await database.prepare("a-model")
    await database.close()


@pytest.fixture
def broken(path: Path) -> Path:
    """Gives the path of a file that is no database."""
    path.write_text("not a database, and long enough to be taken for one" * 100)
    return path


async def test_a_database_that_cannot_be_used_is_unavailable(broken: Path) -> None:
    """Reads and writes of a file that is no database say so in retrieval's words."""
    database = open_sqlite(broken)
    store = SqlEntryStore(database)
    with pytest.raises(SourceUnavailable, match="read"):
        await store.ping()
    with pytest.raises(SourceUnavailable, match="read"):
        await store.entries("acme", ["m1"])
    with pytest.raises(SourceUnavailable, match="written"):
        await store.change("acme", [], lambda _: Change(Answer("x")))
    await database.close()


async def test_a_missing_table_is_unavailable_by_the_short_way_too(path: Path) -> None:
    """The read that asks the driver itself translates its errors."""
    database = open_sqlite(path)
    with pytest.raises(SourceUnavailable, match="read"):
        await SqlEntryStore(database).hydrate("acme", [entry_uid("acme", "m1")], vectors=True)
    await database.close()


async def test_no_statement_walks_through_a_tenant(path: Path) -> None:
    """Each read and write by key, by outbox or by page goes to its rows by an index."""
    database = open_sqlite(path)
    await database.prepare(MODEL)
    store, outbox = SqlEntryStore(database), SqlOutbox(database)
    seen: list[tuple[str, Sequence[Any]]] = []
    for engine in (database._reading, database._writing):

        @event.listens_for(engine.sync_engine, "before_cursor_execute")
        def note(*call: Any) -> None:
            _, _, text, parameters, *_ = call
            seen.append((text, parameters))

    ids = [f"m{number}" for number in range(40)]
    linked = tuple(entry(each, superseded_by=f"{each}x") for each in ids)
    change = Change(Answer("x"), puts=linked, deletes=("gone",), vectors={"m1": unit(1, 0)})
    await store.change("acme", ids, lambda _: change, RequestKey(str(uuid.UUID(int=1)), "d"))
    await store.count_accesses("acme", ids, None, T0, None)
    await store.recent_vectors("acme", ANA, Layer.MEMORY)
    everything = frozenset({ANA.key}), frozenset({Layer.MEMORY}), frozenset({"stack"})
    await store.page(EntryQuery("acme", *everything, None, 10, (10, "m1")))
    await store.page(EntryQuery("acme", *everything, T0, 10))
    rows = await outbox.due(Source.VECTOR, 10)
    await outbox.unsettled([row.uid for row in rows])
    made = await outbox.load(rows)
    await outbox.save_vectors({uid: replace(each, vector=unit(1, 0)) for uid, each in made.items()})
    await outbox.postpone(Source.VECTOR, rows[0], "broken", 1)
    await outbox.settle(Source.VECTOR, rows)
    for statement in (WITH_VECTORS, WITHOUT_VECTORS):
        compiled = statement.params(keys=ids).compile(
            dialect=database._reading.dialect, compile_kwargs={"render_postcompile": True}
        )
        seen.append((str(compiled), ids))
    await database.close()
    with closing(sqlite3.connect(path)) as connection:
        for text, parameters in seen:
            if text.startswith("BEGIN"):
                continue
            steps = connection.execute(f"EXPLAIN QUERY PLAN {text}", one_row(parameters))
            for *_, step in steps:
                assert not step.startswith("SCAN"), (text, step)
                assert not step.endswith("(tenant=?)"), (text, step)
                assert "ORDER BY" not in step, (text, step)


def one_row(parameters: Sequence[Any]) -> Sequence[Any]:
    """Take the first row of a statement that is executed for many."""
    return parameters[0] if parameters and isinstance(parameters[0], tuple) else parameters
