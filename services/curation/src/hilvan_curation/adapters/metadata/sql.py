"""`MetadataStore` in SQL: SQLite now, PostgreSQL by the same statements."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Index,
    MetaData,
    String,
    Table,
    Text,
    delete,
    event,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from hilvan_curation.errors import MetadataUnavailable, SessionNotFound
from hilvan_curation.model import Members, NoteMark, Session

metadata = MetaData()

vaults = Table(
    "vaults",
    metadata,
    Column("tenant", String(128), primary_key=True),
    Column("path", Text, primary_key=True),
)

members = Table(
    "members",
    metadata,
    Column("tenant", String(128), primary_key=True),
    Column("space_id", String(128), primary_key=True),
    Column("readers", Text, nullable=False),
    Column("writers", Text, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("tenant", String(128), nullable=False),
    Column("user", String(128), nullable=False),
    Column("scope", String(128), nullable=False),
    Column("open_us", BigInteger, nullable=False),
    Column("acknowledged", Boolean, nullable=False),
    Column("notes", Text, nullable=False),
    Index("sessions_by_scope", "tenant", "user", "scope", "open_us"),
)

_acknowledged = sessions.c.acknowledged.is_(True)
_newest_first = (sessions.c.open_us.desc(), sessions.c.id.desc())

OPEN_MOST = 20
"""Sessions of a scope that are kept until somebody acknowledges them: each holds what it saw of
every note, and not every caller acknowledges."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class SqlMetadata:
    """What people set; see `hilvan_curation.ports.MetadataStore`."""

    keeps = True

    def __init__(self, engine: AsyncEngine) -> None:
        """Take over an engine; `open_sqlite` makes one."""
        self._engine = engine

    @staticmethod
    async def open_sqlite(path: Path) -> "SqlMetadata":
        """Open or make a SQLite file: WAL, every commit on disk before it is acknowledged.

        Raises MetadataUnavailable where that can't be done.
        """
        engine = create_async_engine(f"sqlite+aiosqlite:///{path}", pool_size=1, max_overflow=0)

        @event.listens_for(engine.sync_engine, "connect")
        def connect(connection: Any, _: Any) -> None:
            connection.isolation_level = None
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=10000"):
                connection.execute(f"PRAGMA {pragma}")

        @event.listens_for(engine.sync_engine, "begin")
        def begin(connection: Any) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

        store = SqlMetadata(engine)
        try:
            async with store._begin() as connection:
                await connection.run_sync(metadata.create_all)
        except MetadataUnavailable:
            await store.close()
            raise
        return store

    async def vaults(self) -> dict[str, tuple[Path, ...]]:
        """The vaults of every tenant."""
        found: dict[str, tuple[Path, ...]] = {}
        async with self._begin() as connection:
            rows = await connection.execute(select(vaults).order_by(vaults.c.path))
            for row in rows:
                found[row.tenant] = (*found.get(row.tenant, ()), Path(row.path))
        return found

    async def add_vault(self, tenant: str, path: Path) -> None:
        """Keep a vault."""
        key = {"tenant": tenant, "path": str(path)}
        await self._replace(vaults, key, {})

    async def members(self, tenant: str) -> dict[str, Members]:
        """Members by space."""
        async with self._begin() as connection:
            rows = await connection.execute(select(members).where(members.c.tenant == tenant))
            return {
                row.space_id: Members(
                    frozenset(orjson.loads(row.readers)), frozenset(orjson.loads(row.writers))
                )
                for row in rows
            }

    async def set_members(self, tenant: str, space_id: str, given: Members) -> None:
        """Replace a space's members."""
        values = {
            "readers": orjson.dumps(sorted(given.readers)).decode(),
            "writers": orjson.dumps(sorted(given.writers)).decode(),
        }
        await self._replace(members, {"tenant": tenant, "space_id": space_id}, values)

    async def open_session(self, session: Session, marks: Mapping[str, NoteMark]) -> None:
        """Keep an open session with what it saw, and forget those that nobody acknowledges."""
        notes = {name: [mark.title, mark.content_hash] for name, mark in marks.items()}
        async with self._begin() as connection:
            await connection.execute(
                insert(sessions).values(
                    id=session.id,
                    tenant=session.tenant,
                    user=session.user,
                    scope=session.scope,
                    open_us=(session.open_time - _EPOCH) // _MICROSECOND,
                    acknowledged=False,
                    notes=orjson.dumps(notes).decode(),
                )
            )
            waiting = (*_of_scope(session.tenant, session.user, session.scope), ~_acknowledged)
            kept = select(sessions.c.id).where(*waiting).order_by(*_newest_first).limit(OPEN_MOST)
            await connection.execute(delete(sessions).where(*waiting, sessions.c.id.not_in(kept)))

    async def last_acknowledged(
        self, tenant: str, user: str, scope: str
    ) -> tuple[datetime, dict[str, NoteMark]] | None:
        """The last acknowledged session of a scope: when it began and what it saw."""
        statement = (
            select(sessions.c.open_us, sessions.c.notes)
            .where(*_of_scope(tenant, user, scope), _acknowledged)
            .order_by(*_newest_first)
            .limit(1)
        )
        async with self._begin() as connection:
            row = (await connection.execute(statement)).first()
        if row is None:
            return None
        marks = {name: NoteMark(*pair) for name, pair in orjson.loads(row.notes).items()}
        return _EPOCH + timedelta(microseconds=row.open_us), marks

    async def acknowledge(self, tenant: str, user: str, session_id: str) -> None:
        """Mark a session, and forget the acknowledged ones of its scope before it."""
        own = (
            sessions.c.id == session_id,
            sessions.c.tenant == tenant,
            sessions.c.user == user,
        )
        async with self._begin() as connection:
            row = (await connection.execute(select(sessions).where(*own))).first()
            if row is None:
                raise SessionNotFound(session_id)
            await connection.execute(update(sessions).where(*own).values(acknowledged=True))
            older = (_acknowledged, sessions.c.open_us < row.open_us)
            await connection.execute(
                delete(sessions).where(*_of_scope(tenant, user, row.scope), *older)
            )

    async def ping(self) -> None:
        """Read one value."""
        async with self._begin() as connection:
            await connection.execute(text("SELECT 1"))

    async def close(self) -> None:
        """Close the database."""
        await self._engine.dispose()

    @asynccontextmanager
    async def _begin(self) -> AsyncIterator[AsyncConnection]:
        try:
            async with self._engine.begin() as connection:
                yield connection
        except (DBAPIError, PoolTimeout) as error:
            raise MetadataUnavailable("the metadata database does not answer") from error

    async def _replace(self, table: Table, key: dict[str, str], values: dict[str, str]) -> None:
        async with self._begin() as connection:
            await connection.execute(
                delete(table).where(*(table.c[name] == value for name, value in key.items()))
            )
            await connection.execute(insert(table).values(**key, **values))


def _of_scope(tenant: str, user: str, scope: str) -> tuple[ColumnElement[bool], ...]:
    return sessions.c.tenant == tenant, sessions.c.user == user, sessions.c.scope == scope
