"""What people set that files don't hold: SQLite, PostgreSQL, or `none`."""

from hilvan_curation.adapters.metadata.none import NoMetadata
from hilvan_curation.adapters.metadata.sql import SqlMetadata

__all__ = ["NoMetadata", "SqlMetadata"]
