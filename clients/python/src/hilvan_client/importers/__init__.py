"""From files of memory systems to entries: one bad record never stops the others.

Reading is lazy and changes nothing. Ids come from the source's own, so importing a file again
changes nothing either. Each module's docstring has its mapping.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from hilvan.common.v1.entry_pb2 import Owner
from hilvan_client.importers import jsonl, letta, locomo, mem0, zep
from hilvan_client.importers.items import BadRecord, Fault, ImportItem

__all__ = ["BadRecord", "Fault", "Format", "ImportItem", "UnknownFormat", "detect", "read_file"]

_BOM = b"\xef\xbb\xbf"
# A file whose first lines are broken may still be JSON Lines.
_LINES_TO_TRY = 20


class Format(StrEnum):
    """What can be read."""

    JSONL = "jsonl"
    LOCOMO = "locomo"
    MEM0 = "mem0"
    ZEP = "zep"
    LETTA = "letta"


class UnknownFormat(ValueError):
    """The file is none of the formats, or not of the one that it was said to be."""


Reader = Callable[[Any, Owner | None], Iterator[ImportItem]]

_READERS: Mapping[Format, Reader] = MappingProxyType(
    {
        Format.JSONL: jsonl.read,
        Format.LOCOMO: locomo.read,
        Format.MEM0: mem0.read,
        Format.ZEP: zep.read,
        Format.LETTA: letta.read,
    }
)
# In this order: what says more of its format comes first.
_DOCUMENTS: Mapping[Format, Callable[[object], bool]] = MappingProxyType(
    {
        Format.LOCOMO: locomo.recognises,
        Format.LETTA: letta.recognises,
        Format.MEM0: mem0.recognises,
        Format.ZEP: zep.recognises,
    }
)


def detect(path: Path) -> Format:
    """The format of a file, by its content.

    Raises:
        UnknownFormat: it is none of them.
        OSError: it can't be read.
    """
    return _open(path, None)[0]


def read_file(
    path: Path, form: Format | None = None, owner: Owner | None = None
) -> Iterator[ImportItem]:
    """Read a file of any format; ``owner`` replaces those that the file names.

    A record whose id came before in the file is a fault: storing both would change the entry
    with every import.

    Raises:
        UnknownFormat: the file is none of the formats, or not ``form``.
        BadRecord: the file as a whole can't be read, such as one that names no owner.
        OSError: it can't be read.
    """
    found, content = _open(path, form)
    return _without_repeats(_READERS[found](content, owner))


def _open(path: Path, form: Format | None) -> tuple[Format, Any]:
    """The format, and the document or the lines."""
    content = path.read_bytes().removeprefix(_BOM)
    lines = content.splitlines()
    if form is Format.JSONL or (form is None and _is_jsonl(lines)):
        return Format.JSONL, lines
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise UnknownFormat(f"{path} is neither JSON Lines of entries nor JSON: {error}") from error
    for candidate, recognises in _DOCUMENTS.items():
        if form in (None, candidate) and recognises(document):
            return candidate, document
    expected = form or "any known format (" + ", ".join(Format) + ")"
    raise UnknownFormat(f"{path} does not look like {expected}")


def _is_jsonl(lines: list[bytes]) -> bool:
    return any(map(_is_entry, islice(filter(bytes.strip, lines), _LINES_TO_TRY)))


def _is_entry(line: bytes) -> bool:
    try:
        return jsonl.recognises(orjson.loads(line))
    except orjson.JSONDecodeError:
        return False


def _without_repeats(found: Iterator[ImportItem]) -> Iterator[ImportItem]:
    seen: set[str] = set()
    for item in found:
        if isinstance(item, Fault):
            yield item
        elif item.id in seen:
            yield Fault(item.id, "this id came before in the file")
        else:
            seen.add(item.id)
            yield item
