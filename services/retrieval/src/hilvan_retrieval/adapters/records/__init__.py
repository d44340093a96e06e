"""The record in SQL: SQLite and PostgreSQL by the same statements."""

from hilvan_retrieval.adapters.records.database import (
    Database,
    migrate,
    open_record,
    open_sqlite,
)
from hilvan_retrieval.adapters.records.findings import SqlFindings
from hilvan_retrieval.adapters.records.generations import SqlGenerations
from hilvan_retrieval.adapters.records.journal import SqlJournal
from hilvan_retrieval.adapters.records.outbox import SqlOutbox
from hilvan_retrieval.adapters.records.policies import SqlPolicyStore
from hilvan_retrieval.adapters.records.store import SqlEntryStore

__all__ = [
    "Database",
    "SqlEntryStore",
    "SqlFindings",
    "SqlGenerations",
    "SqlJournal",
    "SqlOutbox",
    "SqlPolicyStore",
    "migrate",
    "open_record",
    "open_sqlite",
]
