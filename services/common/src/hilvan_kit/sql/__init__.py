"""A database by its address: SQLite in a file, or PostgreSQL. One way in for both."""

from hilvan_kit.sql.database import PATIENCE_S, Database, Row
from hilvan_kit.sql.errors import DatabaseMisconfigured, DatabaseUnavailable
from hilvan_kit.sql.migrations import Migrations
from hilvan_kit.sql.postgres import check_address, open_postgres
from hilvan_kit.sql.sqlite import open_sqlite

__all__ = [
    "PATIENCE_S",
    "Database",
    "DatabaseMisconfigured",
    "DatabaseUnavailable",
    "Migrations",
    "Row",
    "check_address",
    "open_postgres",
    "open_sqlite",
]
