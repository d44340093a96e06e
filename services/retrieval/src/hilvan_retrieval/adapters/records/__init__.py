"""The record in SQL: SQLite now, PostgreSQL by the same statements."""

from hilvan_retrieval.adapters.records.database import Database, open_sqlite
from hilvan_retrieval.adapters.records.outbox import SqlOutbox
from hilvan_retrieval.adapters.records.policies import SqlPolicyStore
from hilvan_retrieval.adapters.records.store import SqlEntryStore

__all__ = ["Database", "SqlEntryStore", "SqlOutbox", "SqlPolicyStore", "open_sqlite"]
