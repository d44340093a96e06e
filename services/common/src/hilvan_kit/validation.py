"""Checks of a request that follow from its descriptor, and a collector for all the others.

Every fault of a request is told at once, with its full field path.
"""

import math
from collections.abc import Iterator
from functools import cache

from google.api import field_behavior_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

_NUL = "\x00"


class Faults:
    """Collects (field path, description) pairs; `pairs` is in the order of finding."""

    def __init__(self) -> None:
        """Start without a fault."""
        self.pairs: list[tuple[str, str]] = []

    def add(self, path: str, description: str) -> None:
        """Note one fault."""
        self.pairs.append((path, description))

    def check(self, holds: bool, path: str, description: str) -> None:  # noqa: FBT001 (reads as a sentence)
        """Note the fault unless the condition holds."""
        if not holds:
            self.add(path, description)

    def length(self, value: str, path: str, most: int, least: int = 0) -> None:
        """Bound a text's characters; an absent required text is found by `scan`."""
        if value or not least:
            self.check(least <= len(value) <= most, path, f"must have {least} to {most} characters")

    def between(self, value: float, path: str, low: float, high: float) -> None:
        """Bound a number; NaN is never inside."""
        self.check(low <= value <= high, path, f"must be from {low:g} to {high:g}")


def scan(message: Message, faults: Faults, prefix: str = "", *, required: bool = True) -> None:
    """Find absent REQUIRED fields, NUL in texts, NaN and infinity in numbers, at any depth.

    Unknown enum values are found too: proto3 keeps them, we don't. ``required=False`` leaves the
    REQUIRED fields of this message (not of those below) to the caller.
    """
    for field, must in _fields(message.DESCRIPTOR):
        path = f"{prefix}{field.name}"
        if must and required and _absent(message, field):
            faults.add(path, "is required")
        for place, value in _values(message, field, path):
            _scan_value(field, value, faults, place)


def _scan_value(field: FieldDescriptor, value: object, faults: Faults, path: str) -> None:
    if isinstance(value, Message):
        if value.DESCRIPTOR.file.package.startswith("hilvan."):
            scan(value, faults, f"{path}.")
        elif value.DESCRIPTOR.full_name == "google.protobuf.Timestamp":
            _scan_timestamp(value, faults, path)
    elif isinstance(value, str):
        faults.check(_NUL not in value, path, "must not contain NUL")
    elif isinstance(value, float):
        faults.check(math.isfinite(value), path, "must be a finite number")
    elif field.enum_type is not None:
        known = value in field.enum_type.values_by_number
        faults.check(known, path, f"is not a {field.enum_type.name}")


def _scan_timestamp(value: Message, faults: Faults, path: str) -> None:
    seconds = getattr(value, "seconds", 0)
    nanos = getattr(value, "nanos", 0)
    # 0001-01-01 to 9999-12-31, as google/protobuf/timestamp.proto bounds it.
    inside = -62_135_596_800 <= seconds <= 253_402_300_799 and 0 <= nanos < 10**9  # noqa: PLR2004 (named above)
    faults.check(inside, path, "is not a time from year 1 to 9999")


@cache
def _fields(descriptor: Descriptor) -> tuple[tuple[FieldDescriptor, bool], ...]:
    behavior = field_behavior_pb2.field_behavior
    required = field_behavior_pb2.FieldBehavior.REQUIRED
    return tuple(
        (field, required in field.GetOptions().Extensions[behavior]) for field in descriptor.fields
    )


def _absent(message: Message, field: FieldDescriptor) -> bool:
    if field.is_repeated:
        return len(getattr(message, field.name)) == 0
    if field.has_presence:
        return not message.HasField(field.name)
    return bool(getattr(message, field.name) == field.default_value)


def _values(message: Message, field: FieldDescriptor, path: str) -> Iterator[tuple[str, object]]:
    if field.is_repeated:
        for index, value in enumerate(getattr(message, field.name)):
            yield f"{path}[{index}]", value
    elif not field.has_presence or message.HasField(field.name):
        yield path, getattr(message, field.name)


class InvalidRequest(Exception):
    """A request has faults; ``pairs`` are all of them as (field path, description)."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        """Keep the faults; the message joins them."""
        self.pairs = tuple(pairs)
        super().__init__("; ".join(f"{path}: {text}" for path, text in pairs))


def refuse(faults: Faults) -> None:
    """Raise `InvalidRequest` if there is any fault."""
    if faults.pairs:
        raise InvalidRequest(faults.pairs)
