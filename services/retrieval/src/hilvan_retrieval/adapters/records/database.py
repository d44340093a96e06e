"""Opening the database, and the two ways in: read, and write one at a time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import event, insert, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from hilvan_retrieval.adapters.records.tables import meta, metadata
from hilvan_retrieval.errors import EngineMisconfigured, SourceUnavailable

SCHEMA = "1"
READERS = 4
BUSY_TIMEOUT_MS = 10_000


class Database:
    """A reading and a writing engine over one database."""

    def __init__(self, reading: AsyncEngine, writing: AsyncEngine) -> None:
        """For SQLite the writing engine has one connection, which begins IMMEDIATE."""
        self._reading = reading
        self._writing = writing

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection to read from; raises SourceUnavailable when the database can't."""
        try:
            async with self._reading.connect() as connection:
                yield connection
        except DBAPIError as error:
            raise SourceUnavailable("the record can't be read") from error

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction, committed at the end and durable then; rolled back by any exception."""
        try:
            async with self._writing.begin() as connection:
                yield connection
        except DBAPIError as error:
            raise SourceUnavailable("the record can't be written") from error

    async def prepare(self, embedding_model: str) -> None:
        """Create what is missing; refuse a record of another schema or embedding model."""
        async with self.write() as connection:
            await connection.run_sync(metadata.create_all)
            for key, value, fix in (
                ("schema", SCHEMA, "use the release that wrote it"),
                (
                    "embedding_model",
                    embedding_model,
                    "set that model, or use an empty folder",
                ),
            ):
                found = await connection.scalar(select(meta.c.value).where(meta.c.key == key))
                if found is None:
                    await connection.execute(insert(meta).values(key=key, value=value))
                elif found != value:
                    raise EngineMisconfigured(
                        f"the record was written with {key} {found!r}, not {value!r}: {fix}"
                    )

    async def close(self) -> None:
        """Close all connections; may be called twice."""
        await self._reading.dispose()
        await self._writing.dispose()


def open_sqlite(path: Path) -> Database:
    """Open or make a SQLite file: WAL, every commit on disk before it is acknowledged."""
    url = f"sqlite+aiosqlite:///{path}"
    writing = create_async_engine(url, pool_size=1, max_overflow=0, pool_timeout=30)
    reading = create_async_engine(url, pool_size=READERS, max_overflow=0, pool_timeout=30)
    _prepare_sqlite(writing, begin="BEGIN IMMEDIATE")
    _prepare_sqlite(reading, begin="BEGIN")
    return Database(reading, writing)


def _prepare_sqlite(engine: AsyncEngine, begin: str) -> None:
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

    @event.listens_for(engine.sync_engine, "begin")
    def start(connection: Any) -> None:
        connection.exec_driver_sql(begin)
