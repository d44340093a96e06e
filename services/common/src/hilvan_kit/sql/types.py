"""Column types."""

from sqlalchemy import BigInteger, Integer, String
from sqlalchemy.types import TypeEngine


def key_text(length: int) -> TypeEngine[str]:
    """Text of at most ``length`` characters that sorts by code point, as it does in SQLite.

    PostgreSQL would sort by the locale that the database happened to be made with, more slowly.
    """
    return String(length).with_variant(String(length, collation="C"), "postgresql")


def serial() -> TypeEngine[int]:
    """A number that rows get by themselves: SQLite gives one only to an INTEGER primary key."""
    return BigInteger().with_variant(Integer(), "sqlite")
