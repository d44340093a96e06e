"""Mem0: what ``get_all`` answers, of the library (``{"results": […]}``) and of the platform.

A list of memories, bare or under ``results`` or ``memories``.

| Mem0                           | Entry                                                      |
|--------------------------------|------------------------------------------------------------|
| ``id``                         | id ``mem0:<id>``                                           |
| ``memory``                     | text; MEMORY                                               |
| ``user_id``                    | the owner: user                                            |
| ``categories``                 | the first: category; the others: tags                      |
| ``metadata.category``          | category, when there are no ``categories``                 |
| ``created_at``, ``updated_at`` | create_time, update_time                                   |
| ``expiration_date``            | valid_until, the start of the next day in UTC: Mem0 counts |
|                                | the date itself as valid                                   |
| ``run_id``                     | origin.thread; origin.kind ``import:mem0``                 |
| ``agent_id``                   | tag ``agent:<agent_id>``                                   |

``hash``, ``score`` and other metadata are left behind.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from functools import partial
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from hilvan.common.v1.entry_pb2 import LAYER_MEMORY, Entry, Origin, Owner
from hilvan_client.importers import items
from hilvan_client.importers.items import BadRecord, ImportItem, Record


def recognises(document: object) -> bool:
    """Whether a parsed file looks like memories of Mem0."""
    memories = _memories(document)
    first = memories[0] if isinstance(memories, list) and memories else None
    return isinstance(first, Mapping) and "memory" in first


def read(document: Any, owner: Owner | None = None) -> Iterator[ImportItem]:
    """Read the memories; ``owner`` replaces their users."""
    for place, memory in enumerate(_memories(document)):
        yield from items.attempt(f"memory {place}", partial(_entry, memory, owner))


def _memories(document: Any) -> Any:
    if isinstance(document, Mapping):
        return document.get("results") or document.get("memories")
    return document


def _entry(memory: Any, owner: Owner | None) -> Entry:
    record = items.mapping(memory, "the memory")
    metadata = items.mapping(record.get("metadata") or {}, "metadata")
    categories = items.texts(record, "categories") or [items.text(metadata, "category")]
    agent = items.text(record, "agent_id")
    return Entry(
        id=items.entry_id("mem0", items.required_text(record, "id")),
        layer=LAYER_MEMORY,
        owner=items.owner_or_user(owner, record, "user_id"),
        category=categories[0].lower(),
        text=items.required_text(record, "memory"),
        create_time=items.time(record, "created_at"),
        update_time=items.time(record, "updated_at"),
        valid_until_time=_end(record),
        tags=[*categories[1:], *([f"agent:{agent}"] if agent else [])],
        origin=Origin(kind="import:mem0", thread=items.text(record, "run_id")),
    )


def _end(record: Record) -> Timestamp | None:
    value = items.text(record, "expiration_date")
    if not value:
        return None
    stamp = Timestamp()
    try:
        next_day = date.fromisoformat(value[:10]) + timedelta(days=1)
        stamp.FromDatetime(datetime.combine(next_day, time_of_day.min, UTC))
    except (ValueError, OverflowError):
        raise BadRecord(f"expiration_date is no date: {value[:64]!r}") from None
    return stamp
