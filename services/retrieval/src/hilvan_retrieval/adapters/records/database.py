"""Opening the database, and the ways in: read, read by keys, and write one at a time."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Select, event, func, insert, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from hilvan_retrieval.adapters.records.tables import meta, metadata
from hilvan_retrieval.errors import EngineMisconfigured, SourceUnavailable

SCHEMA = "1"
READERS = 4
BUSY_TIMEOUT_MS = 10_000
KEYS_STEP = 16

T = TypeVar("T")
Row = Sequence[Any]

FetchAll = Callable[[Any, str, Sequence[Any]], Awaitable[Sequence[Row]]]
"""All rows of a text with positional parameters, asked of the driver's own connection at once.

Raises SourceUnavailable when the database can't answer.
"""


class Database:
    """A reading and a writing engine over one database."""

    def __init__(self, reading: AsyncEngine, writing: AsyncEngine, fetch_all: FetchAll) -> None:
        """Take engines of one dialect: one that commits by itself, and one that begins.

        For SQLite the writing engine has one connection, which begins IMMEDIATE.
        """
        self._reading = reading
        self._writing = writing
        self._fetch_all = fetch_all
        self._is_closed = False
        self._writes: set[asyncio.Task[Any]] = set()
        self._texts: dict[tuple[Select[Any], int], str] = {}
        self._held: set[str] = set()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection to read from; raises SourceUnavailable when the database can't.

        Each statement sees what is committed when it begins.
        """
        self._require_open()
        try:
            async with self._reading.connect() as connection:
                yield connection
        except (DBAPIError, PoolTimeoutError) as error:
            raise SourceUnavailable("the record can't be read") from error

    async def read_keys(self, statement: Select[Any], keys: Sequence[str]) -> Sequence[Row]:
        """All rows of a statement whose one parameter is an expanding list of keys.

        The hottest read: one step of the driver instead of one for each of cursor, execute,
        fetch and close. Raises as `read`.
        """
        if not keys:
            return []
        # Lists are filled up with a key again, so that there are few texts to parse and keep.
        padded = [*keys, *[keys[0]] * (-len(keys) % KEYS_STEP)]
        async with self.read() as connection:
            raw = await connection.get_raw_connection()
            text = self._text(statement, padded)
            return await self._fetch_all(raw.driver_connection, text, padded)

    def _text(self, statement: Select[Any], keys: Sequence[str]) -> str:
        known = self._texts.get((statement, len(keys)))
        if known is None:
            compiled = statement.params(keys=keys).compile(
                dialect=self._reading.dialect, compile_kwargs={"render_postcompile": True}
            )
            known = self._texts[statement, len(keys)] = str(compiled)
        return known

    async def write(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Do the work in one transaction, durable when this returns; an exception undoes it all.

        The work is finished even when the caller is cancelled: the driver's thread can't be told
        to stop, and a transaction that is left in the middle locks the database for all others.
        Raises SourceUnavailable when the database can't be written.
        """
        self._require_open()
        task = asyncio.create_task(self._transaction(work))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # Nobody is left to hear of its failure.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise

    @asynccontextmanager
    async def exclusive(self, name: str) -> AsyncIterator[bool]:
        """Hold a name that nobody else holds, or yield False; a process that dies lets go.

        Raises SourceUnavailable when the database can't be asked, and on leaving when the hold
        was lost meanwhile.
        """
        if name in self._held:
            yield False
            return
        self._held.add(name)
        try:
            if self._reading.dialect.name == "postgresql":
                async with self._advisory_lock(name) as is_mine:
                    yield is_mine
            else:  # SQLite: one process has the file
                yield True
        finally:
            self._held.discard(name)

    @asynccontextmanager
    async def _advisory_lock(self, name: str) -> AsyncIterator[bool]:
        key = func.hashtextextended(name, 0)
        async with self.read() as connection:
            is_mine = bool(await connection.scalar(select(func.pg_try_advisory_lock(key))))
            yield is_mine
            if is_mine and not await connection.scalar(select(func.pg_advisory_unlock(key))):
                raise SourceUnavailable(f"the hold of {name} was lost")

    def _require_open(self) -> None:
        if self._is_closed:
            raise SourceUnavailable("the record is closed")

    async def _transaction(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        try:
            async with self._writing.begin() as connection:
                return await work(connection)
        except (DBAPIError, PoolTimeoutError) as error:
            raise SourceUnavailable("the record can't be written") from error

    async def prepare(self, embedding_model: str) -> None:
        """Create what is missing; refuse a record of another schema or embedding model."""
        expected = (
            ("schema", SCHEMA, "use the release that wrote it"),
            ("embedding_model", embedding_model, "set that model, or use an empty folder"),
        )

        async def work(connection: AsyncConnection) -> None:
            await connection.run_sync(metadata.create_all)
            for key, value, fix in expected:
                found = await connection.scalar(select(meta.c.value).where(meta.c.key == key))
                if found is None:
                    await connection.execute(insert(meta).values(key=key, value=value))
                elif found != value:
                    raise EngineMisconfigured(
                        f"the record was written with {key} {found!r}, not {value!r}: {fix}"
                    )

        await self.write(work)

    async def close(self) -> None:
        """Let running writes end and close all connections; may be called twice."""
        self._is_closed = True
        await asyncio.gather(*self._writes, return_exceptions=True)
        await self._reading.dispose()
        await self._writing.dispose()


def open_sqlite(path: Path) -> Database:
    """Open or make a SQLite file: WAL, every commit on disk before it is acknowledged."""
    url = f"sqlite+aiosqlite:///{path}"
    writing = create_async_engine(url, pool_size=1, max_overflow=0, pool_timeout=30)
    # A read is one statement, so that it needs neither BEGIN nor ROLLBACK around it.
    reading = create_async_engine(
        url,
        pool_size=READERS,
        max_overflow=0,
        pool_timeout=30,
        isolation_level="AUTOCOMMIT",
        pool_reset_on_return=None,
        skip_autocommit_rollback=True,
    )
    _set_pragmas(writing)
    _set_pragmas(reading)

    @event.listens_for(writing.sync_engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return Database(reading, writing, _fetch_sqlite)


async def _fetch_sqlite(connection: Any, text: str, parameters: Sequence[Any]) -> Sequence[Row]:
    try:
        rows: Sequence[Row] = await connection.execute_fetchall(text, parameters)
    except sqlite3.Error as error:
        raise SourceUnavailable("the record can't be read") from error
    return rows


def _set_pragmas(engine: AsyncEngine) -> None:
    @event.listens_for(engine.sync_engine, "connect")
    def connect(connection: Any, _: Any) -> None:
        # The driver must not begin transactions by itself: it would begin them DEFERRED.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            f"busy_timeout={BUSY_TIMEOUT_MS}",
            "foreign_keys=ON",
            "cache_size=-65536",
            "mmap_size=1073741824",
            "temp_store=MEMORY",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()
