"""The ways into a database: read, read by keys, write in one transaction, hold a name."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

from sqlalchemy import Select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from hilvan_kit.sql.errors import DatabaseUnavailable

PATIENCE_S = 40.0
"""Longest read or write: it ends what a network that swallows packets would keep for a quarter of
an hour."""

ATTEMPTS = 4
PAUSE_S = 0.02

T = TypeVar("T")
Row = Sequence[Any]
Failure = Callable[[str], Exception]

# The drivers let some errors of the network through as they are.
FAILURES = (DBAPIError, PoolTimeoutError, OSError, DatabaseUnavailable)


class Driver(Protocol):
    """What the kinds of database do differently."""

    async def fetch(
        self, connection: Any, statement: Select[Any], keys: Sequence[str]
    ) -> Sequence[Row]:
        """All rows of a statement by keys, asked of the driver's own connection.

        Raises DatabaseUnavailable when it can't answer.
        """

    async def begin(
        self, connection: AsyncConnection, locks: Sequence[str], patience_seconds: float
    ) -> None:
        """Begin a transaction that decides on nothing that another one of these locks changes."""

    def hold(self, name: str) -> AbstractAsyncContextManager[bool]:
        """Hold a name among all processes, or yield False. Raises as `fetch`."""

    def may_repeat(self, error: BaseException | None) -> bool:
        """Whether a transaction that failed so before its COMMIT may succeed when repeated."""

    async def close(self) -> None:
        """Close what the driver has of its own."""


class Database:
    """A reading and a writing engine over one database."""

    def __init__(
        self,
        reading: AsyncEngine,
        writing: AsyncEngine,
        driver: Driver,
        failure: Failure = DatabaseUnavailable,
    ) -> None:
        """Take engines of one dialect: one that commits by itself, and one that begins.

        ``failure`` makes the exception of a database that can't be asked, from words such as
        ``can't be read``: a service has one of its own.
        """
        self._reading = reading
        self._writing = writing
        self._driver = driver
        self._failure = failure
        self._is_closed = False
        self._writes: set[asyncio.Task[Any]] = set()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._held: set[str] = set()

    @property
    def dialect(self) -> str:
        """``sqlite`` or ``postgresql``."""
        return self._reading.dialect.name

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection to read from; raises the failure when the database can't.

        Each statement sees what is committed when it begins.
        """
        self._require_open()
        try:
            async with asyncio.timeout(PATIENCE_S), self._reading.connect() as connection:
                yield connection
        except FAILURES as error:
            raise self._failure("can't be read") from error

    async def read_keys(self, statement: Select[Any], keys: Sequence[str]) -> Sequence[Row]:
        """All rows of a statement whose one parameter is an expanding list of ``keys``.

        The hottest read: one step of the driver instead of one for each of cursor, execute,
        fetch and close. Raises as `read`.
        """
        if not keys:
            return []
        async with self.read() as connection:
            raw = await connection.get_raw_connection()
            return await self._driver.fetch(raw.driver_connection, statement, keys)

    async def write(
        self,
        work: Callable[[AsyncConnection], Awaitable[T]],
        *,
        locks: Sequence[str] = (),
        patience_seconds: float = PATIENCE_S,
    ) -> T:
        """Do the work in one transaction, durable when this returns; an exception undoes it all.

        Writes that share a lock come one after the other, whatever process they are of: what the
        work reads is what it may decide on. (In SQLite all writes do.) The work may be called
        again when the database undid it, so it must change nothing else.

        It is finished even when the caller is cancelled: the driver can't be told to stop in the
        middle, and a transaction that is left there locks the database for all others.
        Raises the failure when the database can't be written, or may not have been.
        """
        self._require_open()
        task = asyncio.create_task(self._in_turn(work, sorted(set(locks)), patience_seconds))
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

        Raises the failure when the database can't be asked, and on leaving when the hold was lost
        meanwhile.
        """
        if name in self._held:
            yield False
            return
        self._require_open()
        self._held.add(name)
        hold = self._driver.hold(name)
        try:
            with self._translated("can't be asked"):
                is_mine = await hold.__aenter__()
            try:
                yield is_mine
            finally:
                with self._translated("did not keep what was held"):
                    await hold.__aexit__(None, None, None)
        finally:
            self._held.discard(name)

    async def close(self) -> None:
        """Let running writes end and close all connections; may be called twice."""
        self._is_closed = True
        await asyncio.gather(*self._writes, return_exceptions=True)
        await self._driver.close()
        await self._reading.dispose()
        await self._writing.dispose()

    def _require_open(self) -> None:
        if self._is_closed:
            raise self._failure("is closed")

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except FAILURES as error:
            raise self._failure(what) from error

    async def _in_turn(
        self,
        work: Callable[[AsyncConnection], Awaitable[T]],
        locks: Sequence[str],
        patience_seconds: float,
    ) -> T:
        # Waiting here and not in the database, a crowd on one lock takes one connection.
        async with AsyncExitStack() as turns:
            for name in locks:
                await turns.enter_async_context(self._turns.setdefault(name, asyncio.Lock()))
            with self._translated("can't be written"):
                return await self._until_done(work, locks, patience_seconds)

    async def _until_done(
        self,
        work: Callable[[AsyncConnection], Awaitable[T]],
        locks: Sequence[str],
        patience_seconds: float,
    ) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                async with asyncio.timeout(patience_seconds):
                    return await self._transaction(work, locks, patience_seconds)
            except _Undone as undone:
                cause = undone.__cause__
                if attempt == ATTEMPTS or not self._driver.may_repeat(cause):
                    raise DatabaseUnavailable from cause
            await asyncio.sleep(random.uniform(PAUSE_S, 2 * PAUSE_S) * attempt)  # noqa: S311 - a pause
        raise AssertionError("unreachable")

    async def _transaction(
        self,
        work: Callable[[AsyncConnection], Awaitable[T]],
        locks: Sequence[str],
        patience_seconds: float,
    ) -> T:
        async with self._writing.connect() as connection:
            transaction = await connection.begin()
            try:
                await self._driver.begin(connection, locks, patience_seconds)
                result = await work(connection)
            except DBAPIError as error:
                raise _Undone from error
            # A connection that is lost from here on leaves nobody who knows what was done, so
            # nothing behind this line may be repeated.
            await transaction.commit()
            return result


class _Undone(Exception):
    """A transaction failed before its COMMIT was sent: nothing of it is there."""
