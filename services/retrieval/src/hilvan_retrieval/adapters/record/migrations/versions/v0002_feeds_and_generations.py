"""Feeds of the outbox, generations of indexes, vectors of several models, consolidation."""

import time

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from hilvan_kit.sql.types import key_text, serial

revision = "0002"
down_revision = "0001"

metadata = MetaData()

vectors = Table(
    "vectors",
    metadata,
    Column("uid", key_text(36), primary_key=True),
    Column("model", key_text(128), primary_key=True),
    Column("text_hash", key_text(64), nullable=False),
    Column("vector", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

generations = Table(
    "generations",
    metadata,
    Column("source", key_text(16), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("engine", key_text(32), nullable=False),
    Column("recipe", key_text(128), nullable=False),
    Column("state", key_text(16), nullable=False),
    Column("filled", Integer, nullable=False),
)

outbox = Table(
    "outbox",
    metadata,
    Column("seq", serial(), primary_key=True, autoincrement=True),
    Column("feed", key_text(32), nullable=False),
    Column("uid", key_text(36), nullable=False),
    Column("tenant", key_text(128), nullable=False),
    Column("entry_id", key_text(128), nullable=False),
    Column("create_us", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due_us", BigInteger, nullable=False),
    Column("parked", Boolean, nullable=False),
    Column("error", Text, nullable=False),
    UniqueConstraint("uid", "feed"),
    Index("outbox_by_seq", "feed", "parked", "seq"),
    sqlite_autoincrement=True,
)

conflicts = Table(
    "conflicts",
    metadata,
    Column("tenant", key_text(128), primary_key=True),
    Column("older_id", key_text(128), primary_key=True),
    Column("newer_id", key_text(128), primary_key=True),
    Column("older_hash", key_text(64), nullable=False),
    Column("newer_hash", key_text(64), nullable=False),
    Column("evidence", Text, nullable=False),
    Column("first_us", BigInteger, nullable=False),
    Column("last_us", BigInteger, nullable=False),
    Column("seen_count", Integer, nullable=False),
)

consolidations = Table(
    "consolidations",
    metadata,
    Column("id", key_text(36), primary_key=True),
    Column("tenant", key_text(128), nullable=False),
    Column("state", key_text(16), nullable=False),
    Column("begin_us", BigInteger, nullable=False),
    Column("end_us", BigInteger),
    Column("position", Text, nullable=False),
    Index("consolidations_by_tenant", "tenant", "begin_us"),
)

consolidation_steps = Table(
    "consolidation_steps",
    metadata,
    Column("run_id", key_text(36), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("action", key_text(16), nullable=False),
    Column("entry_id", key_text(128), nullable=False),
    Column("other_id", key_text(128), nullable=False),
    Column("reason", Text, nullable=False),
    Column("before", Text, nullable=False),
    Column("after", Text, nullable=False),
    Column("undo_us", BigInteger),
    Column("declined", Boolean, nullable=False),
)

VECTORS = """
INSERT INTO vectors (uid, model, text_hash, vector)
SELECT uid, coalesce((SELECT value FROM meta WHERE key = 'embedding_model'), ''), text_hash, vector
FROM vectors_before
"""
# What an index does not have yet, its first generation does not have yet.
OUTBOX = """
INSERT INTO outbox
  (feed, uid, tenant, entry_id, create_us, attempts, due_us, parked, error)
SELECT source || '.1', uid, tenant, entry_id, :now, attempts, due_us, parked, error
FROM outbox_before ORDER BY seq
"""


def upgrade() -> None:
    """Give the kept vectors the record's model, and the waiting rows the first feeds."""
    for name in ("vectors", "outbox"):
        op.execute(f"CREATE TABLE {name}_before AS SELECT * FROM {name}")  # noqa: S608 - two names
        op.drop_table(name)
    metadata.create_all(op.get_bind(), checkfirst=False)
    op.execute(VECTORS)
    op.execute(text(OUTBOX).bindparams(now=time.time_ns() // 1000))
    for name in ("vectors", "outbox"):
        op.drop_table(f"{name}_before")
    op.add_column("entries", Column("decay_us", BigInteger))
    # The release from before there were migrations refuses a schema that it does not know.
    op.execute("DELETE FROM meta WHERE key = 'schema'")
    op.execute("INSERT INTO meta (key, value) VALUES ('schema', 'migrations')")
