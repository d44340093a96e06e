"""The metadata's database: where it is, and its migrations."""

from pathlib import Path

from sqlalchemy import Connection, inspect

from hilvan_curation.adapters.metadata.tables import vaults
from hilvan_curation.errors import MetadataMisconfigured, MetadataUnavailable
from hilvan_kit import sql
from hilvan_kit.sql import Database, DatabaseMisconfigured, Migrations

NAMESPACE = "curation"


def open_postgres(address: str, connections: int) -> Database:
    """Open the metadata at a PostgreSQL address.

    Raises MetadataMisconfigured for what is no such address.
    """
    try:
        return sql.open_postgres(address, NAMESPACE, connections, _unavailable)
    except DatabaseMisconfigured as error:
        raise MetadataMisconfigured(f"the metadata's address {error}") from None


def open_sqlite(path: Path) -> Database:
    """Open or make a SQLite file."""
    return sql.open_sqlite(path, _unavailable)


async def migrate(database: Database, *, may_change: bool = True) -> None:
    """Bring the metadata to this release's schema, unless it must not be changed.

    Raises MetadataMisconfigured for a database of another release.
    """
    try:
        await MIGRATIONS.apply(database, may_change=may_change)
    except DatabaseMisconfigured as error:
        raise MetadataMisconfigured(f"the metadata: {error}") from error


def _unavailable(what: str) -> MetadataUnavailable:
    return MetadataUnavailable(f"the metadata database {what}")


def _adopt(connection: Connection) -> str | None:
    """Know a database from before there were migrations."""
    return "0001" if inspect(connection).has_table(vaults.name) else None


MIGRATIONS = Migrations(Path(__file__).parent / "migrations", "curation_migrations", _adopt)
