"""What the fields of a frontmatter or a marker mean: texts, tags, flags, times and the like."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from hilvan_curation.core.yaml_text import WORD, Value
from hilvan_curation.model.note import Fault

_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")
_LONGEST_ID = 128

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Field:
    """A top-level field of a frontmatter and the line of the file (from 1) where its value is."""

    value: Value
    line: int


@dataclass(slots=True)
class Reader:
    """Reads the fields of one file; what is not as expected becomes a fault and the default."""

    path: str
    fields: Mapping[str, Field]
    faults: list[Fault] = field(default_factory=list)

    def take(self, key: str, read: Callable[[Value], T], default: T) -> T:
        """Read one field."""
        found = self.fields.get(key)
        if not found:
            return default
        try:
            return read(found.value)
        except ValueError as error:
            self.faults.append(Fault(self.path, found.line, f"{key} {error}"))
            return default


def as_text(value: Value) -> str:
    """Read a text; ValueError for anything deeper."""
    if not isinstance(value, str):
        raise ValueError("is not a text")  # noqa: TRY004 - the file is at fault, not the caller
    return value.strip()


def as_tags(value: Value) -> tuple[str, ...]:
    """Read tags from a list, or from a text with commas or spaces; a leading ``#`` is dropped."""
    if value is None:
        raise ValueError("is not a list of texts")
    words = WORD.findall(value) if isinstance(value, str) else value
    return tuple(dict.fromkeys(tag for tag in map(bare_tag, words) if tag))


def as_flag(value: Value) -> bool:
    """Read true/yes/on or false/no/off in any case; ValueError for anything else."""
    flag = _FLAGS.get(as_text(value).lower())
    if flag is None:
        raise ValueError("is neither true nor false")
    return flag


def as_time(value: Value) -> datetime:
    """Read a date (its first moment) or a time in ISO 8601, UTC unless it says otherwise."""
    try:
        time = datetime.fromisoformat(as_text(value))
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError("is not a date or time such as 2025-03-07T18:00:00Z") from error


def as_integer(value: Value) -> int:
    """Read a whole number of at most nine digits; ValueError for anything else."""
    text = as_text(value)
    if not _INTEGER.fullmatch(text):
        raise ValueError("is not a whole number")
    return int(text)


def as_id(value: Value) -> str:
    """Read an id; ValueError where it could not stand in a handle or a table."""
    text = as_text(value)
    if not text.isprintable() or "/" in text or not 0 < len(text) <= _LONGEST_ID:
        raise ValueError(f"has to be 1 to {_LONGEST_ID} printable characters without /")
    return text


def as_choice(choices: type[E]) -> Callable[[Value], E]:
    """Make a function that reads one of several words; ValueError for anything else."""

    def read(value: Value) -> E:
        text = as_text(value)
        if text not in {choice.value for choice in choices}:
            raise ValueError(f"is none of {', '.join(choice.value for choice in choices)}")
        return choices(text)

    return read


def bare_tag(word: str) -> str:
    """A tag without the sign and the blanks around it."""
    return word.strip().lstrip("#").strip()
