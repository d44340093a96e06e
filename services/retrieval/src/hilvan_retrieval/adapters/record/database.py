"""The record's database: where it is, and its migrations."""

from pathlib import Path

from sqlalchemy import Connection, inspect, select

from hilvan_kit import sql
from hilvan_kit.sql import Database, DatabaseMisconfigured, Migrations, Row
from hilvan_retrieval.adapters.record.tables import meta
from hilvan_retrieval.errors import EngineMisconfigured, RecordUnavailable

__all__ = ["MIGRATIONS", "Database", "Row", "migrate", "open_record", "open_sqlite"]

NAMESPACE = "retrieval"
FIRST_SCHEMA = "1"


def open_record(address: str, folder: Path, connections: int = 8) -> Database:
    """Open the record at a PostgreSQL address, or in a folder when the address is empty.

    Raises EngineMisconfigured for what is no such address.
    """
    if not address:
        folder.mkdir(parents=True, exist_ok=True)
        return open_sqlite(folder / "record.sqlite")
    try:
        return sql.open_postgres(address, NAMESPACE, connections, _unavailable)
    except DatabaseMisconfigured as error:
        raise EngineMisconfigured(f"the record's address {error}") from None


def open_sqlite(path: Path) -> Database:
    """Open or make a SQLite file."""
    return sql.open_sqlite(path, _unavailable)


async def migrate(database: Database, *, may_change: bool = True) -> None:
    """Bring the record to this release's schema, unless it must not be changed.

    Raises EngineMisconfigured for a record of another release.
    """
    try:
        await MIGRATIONS.apply(database, may_change=may_change)
    except DatabaseMisconfigured as error:
        raise EngineMisconfigured(f"the record: {error}") from error


def _unavailable(what: str) -> RecordUnavailable:
    return RecordUnavailable(f"the record {what}")


def _adopt(connection: Connection) -> str | None:
    """Know a record from before there were migrations: its `meta` names its schema."""
    if not inspect(connection).has_table(meta.name):
        return None
    schema = connection.scalar(select(meta.c.value).where(meta.c.key == "schema"))
    if schema not in (None, FIRST_SCHEMA):
        raise DatabaseMisconfigured(
            f"it was written with schema {schema!r}: use the release that wrote it"
        )
    return "0001"


MIGRATIONS = Migrations(Path(__file__).parent / "migrations", "retrieval_migrations", _adopt)
