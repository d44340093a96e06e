"""`MetadataStore` in SQL: SQLite and PostgreSQL by the same statements."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
from sqlalchemy import ColumnElement, Table, delete, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hilvan_curation.adapters.metadata.database import migrate, open_postgres, open_sqlite
from hilvan_curation.adapters.metadata.tables import members, sessions, vaults
from hilvan_curation.errors import SessionNotFound
from hilvan_curation.model.session import NoteMark, Session
from hilvan_curation.model.space import Members
from hilvan_kit.sql import Database

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

    def __init__(self, database: Database) -> None:
        """Take over a database; `open_sqlite` and `open_postgres` migrate one."""
        self._database = database

    @staticmethod
    async def open_sqlite(path: Path, *, may_change: bool = True) -> "SqlMetadata":
        """Open or make a SQLite file: every commit is on disk before it is acknowledged.

        Raises MetadataUnavailable where that can't be done, and MetadataMisconfigured for a file
        of another release.
        """
        return await _migrated(open_sqlite(path), may_change)

    @staticmethod
    async def open_postgres(
        address: str, connections: int = 4, *, may_change: bool = True
    ) -> "SqlMetadata":
        """Open a database of a PostgreSQL server. Raises as `open_sqlite`."""
        return await _migrated(open_postgres(address, connections), may_change)

    async def vaults(self) -> dict[str, tuple[Path, ...]]:
        """The vaults of every tenant."""
        found: dict[str, tuple[Path, ...]] = {}
        async with self._database.read() as connection:
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
        async with self._database.read() as connection:
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

        async def work(connection: AsyncConnection) -> None:
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

        await self._database.write(work, locks=(session.tenant,))

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
        async with self._database.read() as connection:
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

        async def work(connection: AsyncConnection) -> None:
            row = (await connection.execute(select(sessions).where(*own))).first()
            if row is None:
                raise SessionNotFound(session_id)
            await connection.execute(update(sessions).where(*own).values(acknowledged=True))
            older = (_acknowledged, sessions.c.open_us < row.open_us)
            await connection.execute(
                delete(sessions).where(*_of_scope(tenant, user, row.scope), *older)
            )

        await self._database.write(work, locks=(tenant,))

    async def ping(self) -> None:
        """Read one value."""
        async with self._database.read() as connection:
            await connection.execute(text("SELECT 1"))

    async def close(self) -> None:
        """Close the database."""
        await self._database.close()

    async def _replace(self, table: Table, key: dict[str, str], values: dict[str, str]) -> None:
        matches = [table.c[name] == value for name, value in key.items()]

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(delete(table).where(*matches))
            await connection.execute(insert(table).values(**key, **values))

        await self._database.write(work, locks=(key["tenant"],))


async def _migrated(database: Database, may_change: bool) -> SqlMetadata:  # noqa: FBT001 - private
    try:
        await migrate(database, may_change=may_change)
    except BaseException:
        await database.close()
        raise
    return SqlMetadata(database)


def _of_scope(tenant: str, user: str, scope: str) -> tuple[ColumnElement[bool], ...]:
    return sessions.c.tenant == tenant, sessions.c.user == user, sessions.c.scope == scope
