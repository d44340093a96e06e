"""The record in SQL: SQLite and PostgreSQL by the same statements."""

from hilvan_retrieval.adapters.record.consolidation import SqlConsolidationInput
from hilvan_retrieval.adapters.record.consolidation_journal import SqlConsolidationJournal
from hilvan_retrieval.adapters.record.database import Database, migrate, open_record, open_sqlite
from hilvan_retrieval.adapters.record.entry import SqlEntryStore
from hilvan_retrieval.adapters.record.generation import SqlGenerationStore
from hilvan_retrieval.adapters.record.outbox import SqlOutbox
from hilvan_retrieval.adapters.record.policy import SqlPolicyStore

__all__ = [
    "Database",
    "SqlConsolidationInput",
    "SqlConsolidationJournal",
    "SqlEntryStore",
    "SqlGenerationStore",
    "SqlOutbox",
    "SqlPolicyStore",
    "migrate",
    "open_record",
    "open_sqlite",
]
