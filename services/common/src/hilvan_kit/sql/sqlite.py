"""SQLite: one file, many readers, one writer."""

import asyncio
import fcntl
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import Dialect, Select, event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.util import await_only

from hilvan_kit.sql.database import Database, Failure, Row
from hilvan_kit.sql.errors import DatabaseUnavailable

READERS = 4
POOL_TIMEOUT_S = 30
BUSY_TIMEOUT_MS = 10_000
KEYS_STEP = 16
WAL_PAUSE_S = 0.02

PRAGMAS = (
    f"busy_timeout={BUSY_TIMEOUT_MS}",
    "synchronous=FULL",
    "foreign_keys=ON",
    "cache_size=-65536",
    "mmap_size=1073741824",
    "temp_store=MEMORY",
)


def open_sqlite(path: Path, failure: Failure = DatabaseUnavailable) -> Database:
    """Open or make a SQLite file: WAL, every commit on disk before it is acknowledged."""
    url = f"sqlite+aiosqlite:///{path}"
    writing = create_async_engine(
        url, pool_size=1, max_overflow=0, pool_timeout=POOL_TIMEOUT_S, hide_parameters=True
    )
    # A read is one statement, so that it needs neither BEGIN nor ROLLBACK around it.
    reading = create_async_engine(
        url,
        pool_size=READERS,
        max_overflow=0,
        pool_timeout=POOL_TIMEOUT_S,
        isolation_level="AUTOCOMMIT",
        pool_reset_on_return=None,
        skip_autocommit_rollback=True,
        hide_parameters=True,
    )
    _set_pragmas(writing)
    _set_pragmas(reading)

    @event.listens_for(writing.sync_engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return Database(reading, writing, _Sqlite(path, reading.dialect), failure)


class _Sqlite:
    """See `hilvan_kit.sql.database.Driver`."""

    def __init__(self, path: Path, dialect: Dialect) -> None:
        self._path = path
        self._dialect = dialect
        self._texts: dict[tuple[Select[Any], int], str] = {}

    async def fetch(
        self, connection: Any, statement: Select[Any], keys: Sequence[str]
    ) -> Sequence[Row]:
        # Lists are filled up with a key again, so that there are few texts to parse and keep.
        padded = [*keys, *[keys[0]] * (-len(keys) % KEYS_STEP)]
        try:
            rows: Sequence[Row] = await connection.execute_fetchall(
                self._text(statement, padded), padded
            )
        except sqlite3.Error as error:
            raise DatabaseUnavailable from error
        return rows

    def _text(self, statement: Select[Any], keys: Sequence[str]) -> str:
        known = self._texts.get((statement, len(keys)))
        if known is None:
            compiled = statement.params(keys=keys).compile(
                dialect=self._dialect, compile_kwargs={"render_postcompile": True}
            )
            known = self._texts[statement, len(keys)] = str(compiled)
        return known

    async def begin(
        self, connection: AsyncConnection, locks: Sequence[str], patience_seconds: float
    ) -> None:
        """BEGIN IMMEDIATE has taken the one lock that there is."""

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[bool]:
        """Lock a file beside the database: the kernel lets go of it with the process."""
        marker = self._path.with_name(f"{self._path.name}.{name.replace(' ', '-')}.lock")
        with marker.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True

    def may_repeat(self, error: BaseException | None) -> bool:  # noqa: ARG002 - the argument is the protocol's
        return False

    async def close(self) -> None:
        """Nothing is open."""


def _set_pragmas(engine: AsyncEngine) -> None:
    @event.listens_for(engine.sync_engine, "connect")
    def connect(connection: Any, _: Any) -> None:
        # The driver must not begin transactions by itself: it would begin them DEFERRED.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in PRAGMAS:
            cursor.execute(f"PRAGMA {pragma}")
        _switch_to_wal(cursor)
        cursor.close()


def _switch_to_wal(cursor: Any) -> None:
    """Of several that open a new file one switches it, and busy_timeout does not hold for that."""
    for attempt in count(1):
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if attempt * WAL_PAUSE_S >= BUSY_TIMEOUT_MS / 1000:
                raise
            await_only(asyncio.sleep(WAL_PAUSE_S))
        else:
            return
