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
    Table,
    Text,
    UniqueConstraint,
)

from hilvan_kit.sql.types import key_text, serial

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
    Column("decay_us", BigInteger),
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

policy_confirmations = Table(
    "policy_confirmations",
    metadata,
    Column("tenant", key_text(128), primary_key=True),
    Column("confirm_us", BigInteger, nullable=False),
)

user_mutes = Table(
    "user_mutes",
    metadata,
    Column("tenant", key_text(128), primary_key=True),
    Column("user", key_text(128), primary_key=True),
    Column("mutes", Text, nullable=False),
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
