"""Zep: the graph and the threads of a user, as its API and Graphiti give them.

Zep has no export of its own; a file is an object with any of these lists, as the reading calls of
the SDK answer them, and ``user_id`` (or ``user.user_id``) once for all:

| Zep                                         | Entry                                         |
|---------------------------------------------|-----------------------------------------------|
| an edge of ``edges`` (or ``facts``)         | MEMORY, id ``zep:<uuid>``                     |
| ``fact``                                    | text                                          |
| ``name``, the relation                      | category, in lower case                       |
| ``created_at``                              | create_time                                   |
| ``valid_at``                                | valid_from                                    |
| ``invalid_at``: it stopped being true       | valid_until                                   |
| ``expired_at``: Zep found that out          | valid_until, where there is no ``invalid_at`` |
| ``rating``                                  | importance                                    |
| a node of ``nodes`` with a summary          | MEMORY of category ``entity``; name → title   |
| an episode of ``episodes``                  | EPISODE; ``role: content``                    |
| a message of ``threads``/``sessions``       | EPISODE; ``role: content``                    |
| ``thread_id`` or ``session_id``             | origin.thread                                 |
| the place in the thread, from 0             | origin.position; origin.kind ``import:zep``   |

Threads hold ``messages``. An episode that stands in both lists has one uuid, so it is one entry.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from hilvan.common.v1.entry_pb2 import LAYER_EPISODE, LAYER_MEMORY, Entry, Origin, Owner
from hilvan_client.importers import items
from hilvan_client.importers.items import Fault, ImportItem, Record

_KIND = "import:zep"
_LISTS = ("edges", "facts", "nodes", "episodes", "threads", "sessions")


def recognises(document: object) -> bool:
    """Whether a parsed file looks like a graph or threads of Zep."""
    return isinstance(document, Mapping) and any(
        isinstance(document.get(name), list) for name in _LISTS
    )


def read(document: Any, owner: Owner | None = None) -> Iterator[ImportItem]:
    """Read facts, entities, episodes and messages.

    ``owner`` replaces the user; BadRecord when there is neither.
    """
    user = document.get("user")
    named = user if isinstance(user, Mapping) else document
    whose = items.owner_or_user(owner, named, "user_id")
    for place, edge in _each(document, "edges", "facts"):
        yield from items.attempt(place, partial(_fact, edge, whose))
    for place, node in _each(document, "nodes"):
        yield from items.attempt(place, partial(_entity, node, whose))
    yield from _read_messages(document, whose)


def _each(document: Record, *names: str) -> Iterator[tuple[str, Any]]:
    """The items of the lists, each with its place."""
    for name in names:
        for place, item in enumerate(items.listed(document, name)):
            yield f"{name} {place}", item


def _fact(edge: Any, owner: Owner) -> Entry:
    record = items.mapping(edge, "the edge")
    return Entry(
        id=items.entry_id("zep", items.required_text(record, "uuid")),
        layer=LAYER_MEMORY,
        owner=owner,
        category=items.text(record, "name").lower(),
        text=items.required_text(record, "fact"),
        importance=items.number(record, "rating"),
        create_time=items.time(record, "created_at"),
        valid_from_time=items.time(record, "valid_at"),
        valid_until_time=items.time(record, "invalid_at") or items.time(record, "expired_at"),
        origin=Origin(kind=_KIND),
    )


def _entity(node: Any, owner: Owner) -> Entry | None:
    record = items.mapping(node, "the node")
    if not items.text(record, "summary").strip():
        return None
    return Entry(
        id=items.entry_id("zep", items.required_text(record, "uuid")),
        layer=LAYER_MEMORY,
        owner=owner,
        category="entity",
        title=items.text(record, "name"),
        text=items.text(record, "summary"),
        create_time=items.time(record, "created_at"),
        origin=Origin(kind=_KIND),
    )


def _read_messages(document: Record, owner: Owner) -> Iterator[ImportItem]:
    seen: set[Any] = set()
    for place, thread in _each(document, "threads", "sessions"):
        if not isinstance(thread, Mapping) or not isinstance(thread.get("messages"), list):
            yield Fault(place, "must be an object with a list of messages")
            continue
        name = _thread(thread) or place
        for position, message in enumerate(thread["messages"]):
            seen.add(message.get("uuid") if isinstance(message, Mapping) else None)
            yield from _message(f"{place}, message {position}", message, owner, name, position)
    positions: Counter[str] = Counter()
    # The API lists the newest first; positions follow time.
    for place, episode in sorted(_each(document, "episodes"), key=_created):
        name = _thread(episode) if isinstance(episode, Mapping) else ""
        if isinstance(episode, Mapping) and episode.get("uuid") in seen:
            continue
        yield from _message(place, episode, owner, name, positions[name] if name else None)
        positions[name] += 1


def _created(placed: tuple[str, Any]) -> str:
    value = placed[1].get("created_at") if isinstance(placed[1], Mapping) else None
    return value if isinstance(value, str) else ""


def _thread(record: Record) -> str:
    names = (
        ("thread_id", "session_id", "uuid") if "messages" in record else ("thread_id", "session_id")
    )
    return next((value for name in names if isinstance(value := record.get(name), str)), "")


def _message(
    place: str, message: Any, owner: Owner, thread: str, position: int | None
) -> Iterator[ImportItem]:
    origin = Origin(kind=_KIND, thread=thread, position=position)
    return items.attempt(place, partial(_episode, message, owner, origin))


def _episode(message: Any, owner: Owner, origin: Origin) -> Entry:
    record = items.mapping(message, "the message")
    content = items.required_text(record, "content")
    speaker = (
        items.text(record, "name") or items.text(record, "role") or items.text(record, "role_type")
    )
    return Entry(
        id=items.entry_id("zep", items.required_text(record, "uuid")),
        layer=LAYER_EPISODE,
        owner=owner,
        text=f"{speaker}: {content}" if speaker else content,
        create_time=items.time(record, "created_at"),
        origin=origin,
    )
