"""Column types."""

from sqlalchemy import BigInteger, Integer, String, Text
from sqlalchemy.types import TypeEngine


def key_text(length: int | None = None) -> TypeEngine[str]:
    """Text of at most ``length`` characters that sorts by code point, as it does in SQLite.

    PostgreSQL would sort by the locale that the database happened to be made with, more slowly.
    """
    kind = Text if length is None else String
    return kind(length).with_variant(kind(length, collation="C"), "postgresql")


def serial() -> TypeEngine[int]:
    """A number that rows get by themselves: SQLite gives one only to an INTEGER primary key."""
    return BigInteger().with_variant(Integer(), "sqlite")
