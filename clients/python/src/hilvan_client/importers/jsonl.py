"""Hilvan's own exchange format: JSON Lines, one entry a line, in UTF-8.

    {"id", "layer": "memory" | "episode" | "procedure" | "note",
     "owner": {"axis": "user" | "project" | "space", "id"},
     "category", "title", "text", "importance", "confidence",
     "access_count", "reinforcement_count",
     "create_time", "update_time", "last_access_time", "valid_from", "valid_until",
     "superseded_by", "topics", "outcome", "steps", "tags",
     "origin": {"kind", "uri", "thread", "position"}}

``id``, ``layer``, ``owner`` and ``text`` must be there; what is absent or null is not known. Times
are RFC 3339. Fields that are not in this list are faults: a misspelt one would be lost silently.
`dump` is the exact inverse of `read`, up to what only the server sets (supersede time, content
hash, etag).
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import orjson

from hilvan.common.v1 import entry_pb2
from hilvan.common.v1.entry_pb2 import Entry, Origin, Owner
from hilvan_client.importers import items
from hilvan_client.importers.items import BadRecord, ImportItem, Record

_LAYERS: Mapping[str, int] = MappingProxyType(
    {
        "memory": entry_pb2.LAYER_MEMORY,
        "episode": entry_pb2.LAYER_EPISODE,
        "procedure": entry_pb2.LAYER_PROCEDURE,
        "note": entry_pb2.LAYER_NOTE,
    }
)
_AXES: Mapping[str, int] = MappingProxyType(
    {
        "user": entry_pb2.AXIS_USER,
        "project": entry_pb2.AXIS_PROJECT,
        "space": entry_pb2.AXIS_SPACE,
    }
)

_TEXTS = ("category", "title", "superseded_by", "outcome")
_NUMBERS = ("importance", "confidence")
_COUNTS = ("access_count", "reinforcement_count")
_LISTS = ("topics", "steps", "tags")
# JSON's name of a time, and the message's.
_TIMES: Mapping[str, str] = MappingProxyType(
    {
        "create_time": "create_time",
        "update_time": "update_time",
        "last_access_time": "last_access_time",
        "valid_from": "valid_from_time",
        "valid_until": "valid_until_time",
    }
)
_KNOWN = {"id", "layer", "owner", "text", "origin", *_TEXTS, *_NUMBERS, *_COUNTS, *_LISTS, *_TIMES}
_ORIGIN_TEXTS = ("kind", "uri", "thread")


def recognises(record: object) -> bool:
    """Whether a parsed line looks like an entry."""
    return isinstance(record, Mapping) and {"layer", "text"} <= record.keys()


def read(lines: Iterable[bytes], owner: Owner | None = None) -> Iterator[ImportItem]:
    """Read entries; blank lines count as nothing. ``owner`` replaces that of every entry."""
    for place, line in enumerate(lines, start=1):
        if line.strip():
            yield from items.attempt(f"line {place}", partial(_read_line, line, owner))


def dump(entry: Entry) -> bytes:
    """One line, without its end. ValueError for an entry without layer or owner."""
    message: Any = entry  # the names below are data, which its type can't follow
    record: dict[str, Any] = {
        "id": entry.id,
        "layer": _name(_LAYERS, entry.layer),
        "owner": {"axis": _name(_AXES, entry.owner.axis), "id": entry.owner.id},
        "text": entry.text,
    }
    for name in (*_TEXTS, *_COUNTS, *_LISTS):
        if value := getattr(message, name):
            record[name] = list(value) if name in _LISTS else value
    for name in _NUMBERS:
        if message.HasField(name):
            record[name] = getattr(message, name)
    for name, attribute in _TIMES.items():
        if message.HasField(attribute):
            record[name] = getattr(message, attribute).ToJsonString()
    if entry.HasField("origin"):
        record["origin"] = _dump_origin(entry.origin)
    return orjson.dumps(record)


def _dump_origin(origin: Origin) -> dict[str, Any]:
    found = {name: getattr(origin, name) for name in _ORIGIN_TEXTS}
    record = {name: value for name, value in found.items() if value}
    return record | ({"position": origin.position} if origin.HasField("position") else {})


def _name(choices: Mapping[str, int], value: int) -> str:
    for name, choice in choices.items():
        if choice == value:
            return name
    raise ValueError(f"{value} is none of {', '.join(choices)}")


def _read_line(line: bytes, owner: Owner | None) -> Entry:
    record = items.mapping(orjson.loads(line), "the line")
    unknown = sorted(record.keys() - _KNOWN)
    if unknown:
        raise BadRecord(f"unknown field {', '.join(map(repr, unknown))}")
    fields: dict[str, Any] = {
        "id": items.required_text(record, "id"),
        "layer": _choose(record, "layer", _LAYERS),
        "owner": owner or _read_owner(items.mapping(record.get("owner"), "owner")),
        "text": items.required_text(record, "text"),
        "origin": _read_origin(record),
    }
    fields |= {name: items.text(record, name) for name in _TEXTS}
    fields |= {name: items.number(record, name) for name in _NUMBERS}
    fields |= {name: items.integer(record, name) for name in _COUNTS}
    fields |= {name: items.texts(record, name) for name in _LISTS}
    fields |= {attribute: items.time(record, name) for name, attribute in _TIMES.items()}
    return Entry(**fields)


def _read_owner(record: Record) -> Owner:
    return Owner(axis=_choose(record, "axis", _AXES), id=items.required_text(record, "id"))


def _read_origin(record: Record) -> Origin | None:
    if record.get("origin") is None:
        return None
    origin = items.mapping(record["origin"], "origin")
    return Origin(
        kind=items.text(origin, "kind"),
        uri=items.text(origin, "uri"),
        thread=items.text(origin, "thread"),
        position=items.integer(origin, "position"),
    )


def _choose(record: Record, name: str, choices: Mapping[str, Any]) -> Any:
    value = items.text(record, name)
    if value not in choices:
        raise BadRecord(f"{name} must be {', '.join(choices)}, not {value!r}")
    return choices[value]
