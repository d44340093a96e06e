"""What importers yield, and how they read the fields of records that others wrote."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from google.protobuf.timestamp_pb2 import Timestamp

from hilvan.common.v1.entry_pb2 import AXIS_USER, Entry, Owner

_ID = re.compile(r"[A-Za-z0-9._:@/-]{1,128}")
_OWNER_ID = re.compile(r"[A-Za-z0-9._@-]{1,128}")
# Beyond microseconds, which is where datetime ends and Timestamp does not.
_NANOSECONDS = re.compile(r"[.,]\d{7,}")


@dataclass(frozen=True, slots=True)
class Fault:
    """A record that is left out: where it stands, and what is wrong with it."""

    where: str
    description: str


ImportItem = Entry | Fault

Record = Mapping[str, Any]


class BadRecord(ValueError):
    """A record can't become an entry; the message says why. Becomes a `Fault`."""


def attempt(where: str, make: Callable[[], Entry | None]) -> Iterator[ImportItem]:
    """Yield what ``make`` makes, nothing for None, and a fault for a record that it refuses."""
    try:
        entry = make()
    except UnicodeEncodeError:
        # Its own message would repeat the text.
        yield Fault(where, "text has characters that are no valid Unicode (a lone surrogate)")
    except (ValueError, TypeError, OverflowError) as error:
        yield Fault(where, str(error))
    else:
        if entry is not None:
            yield entry


def mapping(value: object, name: str) -> Record:
    """``value`` if it is a JSON object."""
    return value if isinstance(value, Mapping) else _refuse(name, "an object", value)


def text(record: Record, name: str) -> str:
    """A string; empty when it is absent or null."""
    value = record.get(name)
    if value is None:
        return ""
    return value if isinstance(value, str) else _refuse(name, "a string", value)


def required_text(record: Record, name: str) -> str:
    """A string that has more than white space in it."""
    value = text(record, name)
    if not value.strip():
        raise BadRecord(f"{name} is missing or empty")
    return value


def number(record: Record, name: str) -> float | None:
    """A number; None when it is absent or null."""
    value = record.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(name, "a number", value)
    return float(value)


def integer(record: Record, name: str) -> int | None:
    """A whole number; None when it is absent or null."""
    value = record.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        _refuse(name, "a whole number", value)
    return int(value)


def texts(record: Record, name: str) -> list[str]:
    """A list of strings; empty when it is absent or null."""
    value = record.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        _refuse(name, "a list of strings", value)
    return list(value)


def listed(record: Record, name: str) -> list[Any]:
    """The items of a list; what is no list counts as one item, and so becomes its own fault."""
    value = record.get(name)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def time(record: Record, name: str) -> Timestamp | None:
    """An ISO 8601 time, UTC unless it says otherwise; None when it is absent, null or empty."""
    value = text(record, name)
    if not value:
        return None
    stamp = Timestamp()
    try:
        if _NANOSECONDS.search(value):
            stamp.FromJsonString(value)
        else:
            moment = datetime.fromisoformat(value)
            stamp.FromDatetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise BadRecord(f"{name} is no ISO 8601 time: {value[:64]!r}") from None
    return stamp


def entry_id(source: str, own: str, *more: str) -> str:
    """A stable id: ``source:own``, or a digest where the source's own ids can't stand in an id.

    ``more`` are further parts that identify the record.
    """
    plain = ":".join((source, own, *more))
    if own and _ID.fullmatch(plain):
        return plain
    return f"{source}:{digest(own, *more)}"


def digest(*parts: str) -> str:
    """32 hexadecimal digits that stand for the parts."""
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()[:32]


def owner_or_user(owner: Owner | None, record: Record, name: str) -> Owner:
    """The given owner, else the user whom the record names."""
    if owner:
        return owner
    user = text(record, name)
    if not user:
        raise BadRecord(f"{name} is missing, so nobody owns it: give an owner for the import")
    if not _OWNER_ID.fullmatch(user):
        raise BadRecord(f"{name} can't be an owner's id ({user[:64]!r}): give an owner")
    return Owner(axis=AXIS_USER, id=user)


def _refuse(name: str, expected: str, value: object) -> NoReturn:
    raise BadRecord(f"{name} must be {expected}, not {type(value).__name__}")
