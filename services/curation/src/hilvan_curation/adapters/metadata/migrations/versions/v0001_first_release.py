"""The tables of the first release, as they were. They never change again."""

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Index, MetaData, Table, Text

from hilvan_kit.sql.types import key_text

revision = "0001"
down_revision = None

metadata = MetaData()

vaults = Table(
    "vaults",
    metadata,
    Column("tenant", key_text(128), primary_key=True),
    Column("path", key_text(), primary_key=True),
)

members = Table(
    "members",
    metadata,
    Column("tenant", key_text(128), primary_key=True),
    Column("space_id", key_text(128), primary_key=True),
    Column("readers", Text, nullable=False),
    Column("writers", Text, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", key_text(36), primary_key=True),
    Column("tenant", key_text(128), nullable=False),
    Column("user", key_text(128), nullable=False),
    Column("scope", key_text(128), nullable=False),
    Column("open_us", BigInteger, nullable=False),
    Column("acknowledged", Boolean, nullable=False),
    Column("notes", Text, nullable=False),
    Index("sessions_by_scope", "tenant", "user", "scope", "open_us"),
)


def upgrade() -> None:
    """Make them all."""
    metadata.create_all(op.get_bind(), checkfirst=False)
