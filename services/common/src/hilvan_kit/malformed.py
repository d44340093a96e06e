"""Names the fields of a message that could not be parsed.

protobuf says only that parsing failed. This walks the wire format by the descriptor, on that path
alone, and tells which text is not UTF-8 and where the bytes stop making sense.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from google.protobuf.descriptor import Descriptor, FieldDescriptor

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_DEPTH = 100  # protobuf's own limit
_MAX_VARINT_BITS = 70
_CUT = "the message is cut off or is not protobuf"


class _CutOffError(Exception):
    pass


def undecodable_fields(data: bytes, descriptor: Descriptor | None) -> list[tuple[str, str]]:
    """List (field path, description) pairs; the path is empty when nothing better is known."""
    faults: list[tuple[str, str]] = []
    if descriptor is not None:
        with suppress(_CutOffError):
            faults.extend(_walk(data, descriptor, "", 0))
    return faults or [("", _CUT)]


def _walk(
    data: bytes, descriptor: Descriptor, prefix: str, depth: int
) -> Iterator[tuple[str, str]]:
    if depth > _MAX_DEPTH:
        raise _CutOffError
    position = 0
    seen: Counter[int] = Counter()
    while position < len(data):
        tag, position = _varint(data, position)
        value, position = _payload(data, position, tag & 7)
        field = descriptor.fields_by_number.get(tag >> 3)
        if field is None or value is None:
            continue
        path = f"{prefix}{field.name}"
        if field.is_repeated and not _is_map(field):
            path += f"[{seen[field.number]}]"
            seen[field.number] += 1
        if field.type == FieldDescriptor.TYPE_STRING:
            try:
                value.decode()
            except UnicodeDecodeError:
                yield path, "is not UTF-8 (a lone surrogate perhaps)"
        elif field.message_type is not None:
            try:
                yield from _walk(value, field.message_type, f"{path}.", depth + 1)
            except _CutOffError:
                yield path, _CUT


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _payload(data: bytes, position: int, wire_type: int) -> tuple[bytes | None, int]:
    """The bytes of a length-delimited value, None for a number, and where the next tag begins."""
    if wire_type == _VARINT:
        return None, _varint(data, position)[1]
    if wire_type == _BYTES:
        length, start = _varint(data, position)
        end = start + length
        if end > len(data):
            raise _CutOffError
        return data[start:end], end
    if wire_type in (_FIXED64, _FIXED32):
        return None, position + (8 if wire_type == _FIXED64 else 4)
    raise _CutOffError


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, _MAX_VARINT_BITS, 7):
        if position >= len(data):
            raise _CutOffError
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 (the continuation bit)
            return value, position
    raise _CutOffError
