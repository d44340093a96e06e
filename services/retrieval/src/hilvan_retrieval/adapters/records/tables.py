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
    Column("decay_us", BigInteger),
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
    Column("model", String(128), primary_key=True),
    Column("text_hash", String(64), nullable=False),
    Column("vector", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

generations = Table(
    "generations",
    metadata,
    Column("source", String(16), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("engine", String(32), nullable=False),
    Column("recipe", String(128), nullable=False),
    Column("state", String(16), nullable=False),
    Column("filled", Integer, nullable=False),
)

outbox = Table(
    "outbox",
    metadata,
    Column("seq", _Serial, primary_key=True, autoincrement=True),
    Column("feed", String(32), nullable=False),
    Column("uid", String(36), nullable=False),
    Column("tenant", String(128), nullable=False),
    Column("entry_id", String(128), nullable=False),
    Column("create_us", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("due_us", BigInteger, nullable=False, default=0),
    Column("parked", Boolean, nullable=False, default=False),
    Column("error", Text, nullable=False, default=""),
    # Led by uid, because every write looks its entries up here.
    UniqueConstraint("uid", "feed"),
    Index("outbox_by_seq", "feed", "parked", "seq"),
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

conflicts = Table(
    "conflicts",
    metadata,
    Column("tenant", String(128), primary_key=True),
    Column("older_id", String(128), primary_key=True),
    Column("newer_id", String(128), primary_key=True),
    Column("older_hash", String(64), nullable=False),
    Column("newer_hash", String(64), nullable=False),
    Column("evidence", Text, nullable=False),
    Column("first_us", BigInteger, nullable=False),
    Column("last_us", BigInteger, nullable=False),
    Column("seen_count", Integer, nullable=False),
)

consolidations = Table(
    "consolidations",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("tenant", String(128), nullable=False),
    Column("state", String(16), nullable=False),
    Column("begin_us", BigInteger, nullable=False),
    Column("end_us", BigInteger),
    Column("position", Text, nullable=False),
    Index("consolidations_by_tenant", "tenant", "begin_us"),
)

consolidation_steps = Table(
    "consolidation_steps",
    metadata,
    Column("run_id", String(36), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("action", String(16), nullable=False),
    Column("entry_id", String(128), nullable=False),
    Column("other_id", String(128), nullable=False),
    Column("reason", Text, nullable=False),
    Column("before", Text, nullable=False),
    Column("after", Text, nullable=False),
    Column("undo_us", BigInteger),
)
