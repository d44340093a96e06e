"""PostgreSQL: a server that several processes share."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import blake2b
from typing import Any

import asyncpg
import structlog
from sqlalchemy import BigInteger, Dialect, Select, bindparam, event, func, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError, InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from hilvan_kit.sql.database import PATIENCE_S, Database, Failure, Row
from hilvan_kit.sql.errors import DatabaseMisconfigured, DatabaseUnavailable

CONNECTIONS = 8
CONNECT_TIMEOUT_S = 5
POOL_TIMEOUT_S = 10
STATEMENT_TIMEOUT_S = 30
LOCK_TIMEOUT_S = 10
IDLE_TIMEOUT_S = 60

# Serialization failure, deadlock, the ways in which a server says that it goes away, and a key that
# another transaction added meanwhile, which the next attempt sees.
_UNDONE = frozenset({"40001", "40P01", "57P01", "57P02", "57P03", "23505"})
_ONE_KEY = "IN ($1::VARCHAR)"
_ANY_KEY = "= ANY ($1::VARCHAR[])"

_log = structlog.get_logger()


def check_address(address: str) -> None:
    """Raise DatabaseMisconfigured unless it is ``postgresql://user:password@host:port/database``.

    Parameters as libpq has them may follow: ``sslmode``, ``sslrootcert``, ``host`` (a folder with
    a socket, or several hosts), ``target_session_attrs``. The message doesn't repeat the address.
    """
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.drivername not in {"postgresql", "postgres"} or not url.database:
        raise DatabaseMisconfigured(
            "must be postgresql://user:password@host:port/database; "
            "a password's special characters must be percent-encoded"
        )


def open_postgres(
    address: str,
    namespace: str,
    connections: int = CONNECTIONS,
    failure: Failure = DatabaseUnavailable,
) -> Database:
    """Open a database of a PostgreSQL server; the first use connects.

    ``namespace`` keeps the locks of services apart that share the database, and names its
    connections. Half of the ``connections``, 2 up, read and half of them write: writes that wait
    must not keep reads waiting. Raises DatabaseMisconfigured as `check_address`.
    """
    check_address(address)
    pool = {"pool_size": max(1, connections // 2), "max_overflow": 0}
    pool |= {"pool_timeout": POOL_TIMEOUT_S}
    reading = _engine(
        address,
        namespace,
        **pool,
        isolation_level="AUTOCOMMIT",
        pool_reset_on_return=None,
        skip_autocommit_rollback=True,
    )
    # Not as the server has it: a snapshot from before the lock would show what is no more.
    writing = _engine(address, namespace, **pool, isolation_level="READ COMMITTED")
    for engine in (reading, writing):
        _find_closed(engine)
    apart = _engine(address, namespace, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    return Database(reading, writing, _Postgres(reading.dialect, apart, namespace), failure)


def _engine(address: str, namespace: str, **options: Any) -> AsyncEngine:
    async def connect(*_: Any, **__: Any) -> Any:
        try:
            return await asyncpg.connect(
                address, timeout=CONNECT_TIMEOUT_S, server_settings=_session(namespace)
            )
        except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            # The log alone says why, and not in words: they may repeat the address.
            state = getattr(error, "sqlstate", None)
            _log.warning("database_refuses", error=type(error).__name__, sqlstate=state)
        # Out here, so that nothing leads from it to the driver's own error.
        raise DatabaseUnavailable

    # The address is the driver's to read, and nothing of it is in the engine to be printed.
    return create_async_engine(
        "postgresql+asyncpg://", async_creator=connect, hide_parameters=True, **options
    )


def _session(namespace: str) -> dict[str, str]:
    return {
        "application_name": f"hilvan-{namespace}",
        "statement_timeout": f"{STATEMENT_TIMEOUT_S}s",
        "lock_timeout": f"{LOCK_TIMEOUT_S}s",
        "idle_in_transaction_session_timeout": f"{IDLE_TIMEOUT_S}s",
        # Its compiler costs more than any of these statements.
        "jit": "off",
    }


def _find_closed(engine: AsyncEngine) -> None:
    """Replace connections that a server closed; unlike a ping before each use, it costs nothing."""

    @event.listens_for(engine.sync_engine, "checkout")
    def checkout(connection: Any, *_: Any) -> None:
        if connection.driver_connection.is_closed():
            raise InvalidatePoolError("the server closed it, and so all that are as old")


class _Postgres:
    """See `hilvan_kit.sql.database.Driver`."""

    def __init__(self, dialect: Dialect, apart: AsyncEngine, namespace: str) -> None:
        self._dialect = dialect
        self._apart = apart
        self._namespace = namespace
        self._texts: dict[Select[Any], str] = {}

    async def fetch(
        self, connection: Any, statement: Select[Any], keys: Sequence[str]
    ) -> Sequence[Row]:
        try:
            rows: Sequence[Row] = await connection.fetch(self._text(statement), list(keys))
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise DatabaseUnavailable from error
        return rows

    def _text(self, statement: Select[Any]) -> str:
        """The statement with one array for its list, so that every length is the same text."""
        known = self._texts.get(statement)
        if known is None:
            compiled = str(
                statement.params(keys=[""]).compile(
                    dialect=self._dialect, compile_kwargs={"render_postcompile": True}
                )
            )
            before, _, after = compiled.partition(_ONE_KEY)
            known = self._texts[statement] = f"{before}{_ANY_KEY}{after}"
        return known

    async def begin(
        self, connection: AsyncConnection, locks: Sequence[str], patience_seconds: float
    ) -> None:
        if patience_seconds > PATIENCE_S:
            for name in ("statement", "lock", "idle_in_transaction_session"):
                limit = f"{round(patience_seconds)}s"
                await connection.exec_driver_sql(f"SET LOCAL {name}_timeout = '{limit}'")
        for name in locks:
            await connection.execute(_LOCK, {"key": self._key(name)})

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[bool]:
        key = self._key(f"hold {name}")
        async with self._apart.connect() as connection:
            is_mine = bool(await connection.scalar(select(func.pg_try_advisory_lock(key))))
            yield is_mine
            if is_mine and not await connection.scalar(select(func.pg_advisory_unlock(key))):
                raise DatabaseUnavailable

    def may_repeat(self, error: BaseException | None) -> bool:
        return isinstance(error, DBAPIError) and (
            error.connection_invalidated or getattr(error.orig, "sqlstate", None) in _UNDONE
        )

    async def close(self) -> None:
        await self._apart.dispose()

    def _key(self, name: str) -> int:
        digest = blake2b(f"{self._namespace}\0{name}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)


_LOCK = select(func.pg_advisory_xact_lock(bindparam("key", type_=BigInteger())))
