"""When a tenant's policy was last said to hold."""

from alembic import op
from sqlalchemy import BigInteger, Column

from hilvan_kit.sql.types import key_text

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Forward only: the way back is a backup."""
    op.create_table(
        "policy_confirmations",
        Column("tenant", key_text(128), primary_key=True),
        Column("confirm_us", BigInteger, nullable=False),
    )
