"""The tables. Times are microseconds since 1970, lists and origins are JSON text."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()

# SQLite numbers rows by itself only in an INTEGER primary key.
_Serial = BigInteger().with_variant(Integer(), "sqlite")

meta = Table(
    "meta",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

entries = Table(
    "entries",
    metadata,
    Column("uid", String(36), primary_key=True),
    Column("tenant", String(128), nullable=False),
    Column("id", String(128), nullable=False),
    Column("layer", String(16), nullable=False),
    Column("owner", String(160), nullable=False),
    Column("category", String(64), nullable=False),
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
    Column("superseded_by", String(128), nullable=False),
    Column("supersede_us", BigInteger),
    Column("details", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    UniqueConstraint("tenant", "id"),
    # Falling, as pages are read: a page then starts at its place in the index.
    Index("entries_by_update", "tenant", text("update_us DESC"), "id"),
    Index("entries_by_owner", "tenant", "owner", "layer"),
    Index("entries_by_link", "tenant", "superseded_by"),
    sqlite_with_rowid=False,
)

vectors = Table(
    "vectors",
    metadata,
    Column("uid", String(36), primary_key=True),
    Column("text_hash", String(64), nullable=False),
    Column("vector", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

outbox = Table(
    "outbox",
    metadata,
    Column("seq", _Serial, primary_key=True, autoincrement=True),
    Column("source", String(16), nullable=False),
    Column("uid", String(36), nullable=False),
    Column("tenant", String(128), nullable=False),
    Column("entry_id", String(128), nullable=False),
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
    Column("tenant", String(128), primary_key=True),
    Column("request_id", String(36), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("answer", Text, nullable=False),
    Column("create_us", BigInteger, nullable=False, index=True),
)

space_policies = Table(
    "space_policies",
    metadata,
    Column("tenant", String(128), primary_key=True),
    Column("space_id", String(128), primary_key=True),
    Column("policy", Text, nullable=False),
)

user_mutes = Table(
    "user_mutes",
    metadata,
    Column("tenant", String(128), primary_key=True),
    Column("user", String(128), primary_key=True),
    Column("mutes", Text, nullable=False),
)
