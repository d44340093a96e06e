"""The tables of the first release, as they were. They never change again."""

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

from hilvan_kit.sql.types import key_text, serial

revision = "0001"
down_revision = None

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("key", key_text(64), primary_key=True),
    Column("value", Text, nullable=False),
)

entries = Table(
    "entries",
    metadata,
    Column("uid", key_text(36), primary_key=True),
    Column("tenant", key_text(128), nullable=False),
    Column("id", key_text(128), nullable=False),
    Column("layer", key_text(16), nullable=False),
    Column("owner", key_text(160), nullable=False),
    Column("category", key_text(64), nullable=False),
    Column("title", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("importance", Float),
    Column("confidence", Float),
    Column("access_count", BigInteger, nullable=False),
    Column("reinforcement_count", BigInteger, nullable=False),
    Column("create_us", BigInteger, nullable=False),
    Column("update_us", BigInteger, nullable=False),
    Column("last_access_us", BigInteger),
    Column("valid_from_us", BigInteger),
    Column("valid_until_us", BigInteger),
    Column("superseded_by", key_text(128), nullable=False),
    Column("supersede_us", BigInteger),
    Column("details", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    UniqueConstraint("tenant", "id"),
    Index("entries_by_owner", "tenant", "owner", "layer"),
    Index("entries_by_link", "tenant", "superseded_by"),
    sqlite_with_rowid=False,
)
# Falling, as pages are read: a page then starts at its place in the index.
Index("entries_by_update", entries.c.tenant, entries.c.update_us.desc(), entries.c.id)

vectors = Table(
    "vectors",
    metadata,
    Column("uid", key_text(36), primary_key=True),
    Column("text_hash", key_text(64), nullable=False),
    Column("vector", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

outbox = Table(
    "outbox",
    metadata,
    Column("seq", serial(), primary_key=True, autoincrement=True),
    Column("source", key_text(16), nullable=False),
    Column("uid", key_text(36), nullable=False),
    Column("tenant", key_text(128), nullable=False),
    Column("entry_id", key_text(128), nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("due_us", BigInteger, nullable=False, default=0),
    Column("parked", Boolean, nullable=False, default=False),
    Column("error", Text, nullable=False, default=""),
    # Led by uid, because every write looks its entries up here.
    UniqueConstraint("uid", "source"),
    Index("outbox_by_seq", "source", "parked", "seq"),
    sqlite_autoincrement=True,
)

requests = Table(
    "requests",
    metadata,
    Column("tenant", key_text(128), primary_key=True),
    Column("request_id", key_text(36), primary_key=True),
    Column("digest", key_text(64), nullable=False),
    Column("answer", Text, nullable=False),
    Column("create_us", BigInteger, nullable=False, index=True),
)

space_policies = Table(
    "space_policies",
    metadata,
    Column("tenant", key_text(128), primary_key=True),
    Column("space_id", key_text(128), primary_key=True),
    Column("policy", Text, nullable=False),
)

user_mutes = Table(
    "user_mutes",
    metadata,
    Column("tenant", key_text(128), primary_key=True),
    Column("user", key_text(128), primary_key=True),
    Column("mutes", Text, nullable=False),
)


def upgrade() -> None:
    """Make them all."""
    metadata.create_all(op.get_bind(), checkfirst=False)
