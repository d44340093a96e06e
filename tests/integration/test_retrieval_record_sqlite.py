"""What is particular to the record in SQLite: its plans, its processes, its refusals."""

import asyncio
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.retrieval.record import MODEL, entry, quick_folder
from support.retrieval.record_statements import statements_of

from hilvan_retrieval.adapters.record import SqlEntryStore, migrate, open_sqlite
from hilvan_retrieval.errors import EngineMisconfigured, SourceUnavailable
from hilvan_retrieval.model.entry import Answer, Change, entry_uid

INCREMENT = """
import asyncio, sys
from dataclasses import replace
from pathlib import Path
from hilvan_retrieval.adapters.record import SqlEntryStore, open_sqlite
from hilvan_retrieval.model.entry import Answer, Change

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
    await migrate(database)
    store = SqlEntryStore(database)
    await store.change("acme", [], lambda _: Change(Answer("x"), puts=(entry(),)))
    command = [sys.executable, "-c", INCREMENT, str(path)]
    writers = [await asyncio.create_subprocess_exec(*command) for _ in range(2)]
    assert [await each.wait() for each in writers] == [0, 0]
    found = (await store.entries("acme", ["m1"]))["m1"]
    await store.close()
    assert (found.access_count, found.version) == (80, 81)


async def test_a_record_of_another_schema_is_refused(path: Path) -> None:
    """A file from before there were migrations, of a schema that nobody knows, is left alone."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE meta (key VARCHAR(64) PRIMARY KEY, value TEXT NOT NULL);
            INSERT INTO meta VALUES ('schema', '0');
        """)
    database = open_sqlite(path)
    with pytest.raises(EngineMisconfigured, match=r"schema '0'.*use the release that wrote it"):
        await migrate(database)
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
        await SqlEntryStore(database).hydrate("acme", [entry_uid("acme", "m1")], model=MODEL)
    await database.close()


async def test_no_statement_walks_through_a_tenant(path: Path) -> None:
    """Each read and write by key, by outbox or by page goes to its rows by an index."""
    database = open_sqlite(path)
    await migrate(database)
    seen = await statements_of(database)
    await database.close()
    assert len(seen) > 20
    with closing(sqlite3.connect(path)) as connection:
        for text, parameters in seen:
            if "FROM generations" in text:
                continue  # a handful of rows
            for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {text}", parameters):
                assert not step.startswith("SCAN"), (text, step)
                assert not step.endswith("(tenant=?)"), (text, step)
                assert "ORDER BY" not in step, (text, step)


async def test_a_new_file_may_be_opened_by_many_at_once() -> None:
    """Each of them reads: one switches the file to WAL, and the others wait for it."""
    with quick_folder() as folder:
        for number in range(20):
            opened = [open_sqlite(folder / f"{number}.sqlite") for _ in range(6)]
            await asyncio.gather(*(SqlEntryStore(each).ping() for each in opened))
            for each in opened:
                await each.close()
