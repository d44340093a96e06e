"""Letta: agent files (``.af``, both formats) and lists of archival passages.

An agent file is an object with ``agents`` and ``blocks``, or, in the older format, one agent with
``core_memory`` and ``messages``. It carries no archival memory: passages come as the list that the
API answers, alone or under ``passages``. No file names a user, so an owner has to be given.

| Letta                                    | Entry                                             |
|------------------------------------------|---------------------------------------------------|
| a block that isn't empty                 | MEMORY, category ``<label>``                      |
| its ``description``                      | title                                             |
| a passage that isn't deleted             | MEMORY of category ``archive``, id ``letta:<id>`` |
| its ``tags``, ``created_at``, …          | tags, create_time, update_time                    |
| a message of a user or an assistant      | EPISODE, ``role: text``                           |
| its place among those, from 0            | origin.position; origin.thread ``<agent>``        |

System messages, reasoning and tool calls are the machinery of the agent and left out, except for
what older agents say through the tool ``send_message``; older user messages are unwrapped from
their JSON. Ids inside an agent file (``block-0``) are numbers in that one file. So a block is known
by agent and label, a message by agent, time and text, and the next export of the same agent finds
the same entries.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import orjson

from hilvan.common.v1.entry_pb2 import LAYER_EPISODE, LAYER_MEMORY, Entry, Origin, Owner
from hilvan_client.importers import items
from hilvan_client.importers.items import BadRecord, ImportItem, Record

_KIND = "import:letta"
_TITLE_LENGTH = 256


def recognises(document: object) -> bool:
    """Whether a parsed file looks like an agent file or a list of passages."""
    if isinstance(document, Mapping):
        names = document.keys()
        return {"agents", "blocks"} <= names or "core_memory" in names or "passages" in names
    first = document[0] if isinstance(document, list) and document else None
    return isinstance(first, Mapping) and "text" in first and "archive_id" in first


def read(document: Any, owner: Owner | None = None) -> Iterator[ImportItem]:
    """Read blocks, passages and messages for ``owner``; BadRecord without one."""
    if not owner:
        raise BadRecord("a file of Letta names no user: give an owner for the import")
    file = document if isinstance(document, Mapping) else {"passages": document}
    blocks = {str(block.get("id")): block for block in _mappings(items.listed(file, "blocks"))}
    agents = [file] if "core_memory" in file else _mappings(items.listed(file, "agents"))
    seen: set[Any] = set()
    for agent in agents:
        name = agent.get("name") if isinstance(agent.get("name"), str) else "agent"
        named = [blocks[key] for key in map(str, items.listed(agent, "block_ids")) if key in blocks]
        own = [block for block in named if _first_time(block, seen)]
        yield from _read_agent(agent, str(name), own, owner)
    for place, passage in enumerate(items.listed(file, "passages")):
        yield from items.attempt(f"passage {place}", partial(_passage, passage, owner))


def _read_agent(
    agent: Record, name: str, blocks: list[Record], owner: Owner
) -> Iterator[ImportItem]:
    for place, block in enumerate([*blocks, *items.listed(agent, "core_memory")]):
        yield from items.attempt(f"{name}, block {place}", partial(_block, block, name, owner))
    position = 0  # of what is kept, so that a question and its answer are neighbours
    for place, message in enumerate(items.listed(agent, "messages")):
        origin = Origin(kind=_KIND, thread=name, position=position)
        make = partial(_message, message, origin, owner)
        for item in items.attempt(f"{name}, message {place}", make):
            position += isinstance(item, Entry)
            yield item


def _mappings(values: list[Any]) -> list[Record]:
    return [item for item in values if isinstance(item, Mapping)]


def _first_time(block: Record, seen: set[Any]) -> bool:
    """False for a block that a former agent of the file shares."""
    key = str(block.get("id"))
    known = key in seen
    seen.add(key)
    return not known


def _block(block: Any, agent: str, owner: Owner) -> Entry | None:
    record = items.mapping(block, "the block")
    label = items.required_text(record, "label")
    if not items.text(record, "value").strip():
        return None
    return Entry(
        id=items.entry_id("letta", agent, label),
        layer=LAYER_MEMORY,
        owner=owner,
        category=label.lower(),
        title=items.text(record, "description")[:_TITLE_LENGTH],
        text=items.text(record, "value").strip(),
        create_time=items.time(record, "created_at"),
        origin=Origin(kind=_KIND, thread=agent),
    )


def _passage(passage: Any, owner: Owner) -> Entry | None:
    record = items.mapping(passage, "the passage")
    if record.get("is_deleted"):
        return None
    return Entry(
        id=items.entry_id("letta", items.required_text(record, "id")),
        layer=LAYER_MEMORY,
        owner=owner,
        category="archive",
        text=items.required_text(record, "text"),
        tags=items.texts(record, "tags"),
        create_time=items.time(record, "created_at"),
        update_time=items.time(record, "updated_at"),
        origin=Origin(kind=_KIND, uri=items.text(record, "archive_id")),
    )


def _message(message: Any, origin: Origin, owner: Owner) -> Entry | None:
    record = items.mapping(message, "the message")
    role = items.required_text(record, "role")
    said = {"user": _user_text, "assistant": _assistant_text}.get(role, _nothing)(record).strip()
    if not said:
        return None
    created = items.text(record, "created_at")
    return Entry(
        id=items.entry_id("letta", origin.thread, items.digest(created, role, said)),
        layer=LAYER_EPISODE,
        owner=owner,
        text=f"{role}: {said}",
        create_time=items.time(record, "created_at"),
        origin=origin,
    )


def _nothing(_record: Record) -> str:
    return ""


def _user_text(record: Record) -> str:
    """The words of a user; nothing for heartbeats and logins, which are JSON of another type."""
    plain = _content(record)
    wrapped = _json(plain)
    if not isinstance(wrapped, Mapping) or "type" not in wrapped:
        return plain
    return items.text(wrapped, "message") if wrapped["type"] == "user_message" else ""


def _assistant_text(record: Record) -> str:
    """What ``send_message`` was called with, else the content.

    Agents that speak through the tool use the content for their thoughts.
    """
    for call in _mappings(items.listed(record, "tool_calls")):
        function = items.mapping(call.get("function") or {}, "function")
        if function.get("name") == "send_message":
            arguments = _json(items.text(function, "arguments"))
            return items.text(items.mapping(arguments, "arguments"), "message")
    return "" if record.get("tool_calls") else _content(record)


def _content(record: Record) -> str:
    """The text of a message: a string, or a list of parts of which those of type text count."""
    content = record.get("content") or record.get("text") or ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BadRecord(f"content must be a string or a list, not {type(content).__name__}")
    parts = [items.text(part, "text") for part in _mappings(content) if part.get("type") == "text"]
    return "\n".join(part for part in parts if part)


def _json(value: str) -> Any:
    """``value`` parsed, or None when it is no JSON."""
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
