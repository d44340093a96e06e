"""The YAML frontmatter of a note: read it whole, edit one value, leave all other bytes alone.

Every scalar is text (``title: no`` is "no"); what a field means is decided in
`hilvan_curation.core.fields`. Reading never fails: what can't be understood becomes a fault. An
edit is read back and refused with `FrontmatterBroken` whenever anything but its one value would
differ.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from hilvan_curation.core import yaml_text
from hilvan_curation.core.fields import Field, bare_tag
from hilvan_curation.core.yaml_text import Scalar, Value
from hilvan_curation.errors import FrontmatterBroken
from hilvan_curation.model.note import Fault

MAX_FRONTMATTER_BYTES = 65_536

_BOM = b"\xef\xbb\xbf"
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*(\r\n|\n|\r)")
_CLOSING = re.compile(rb"(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NOT_IN_TAG = re.compile(r"""[\s,#\[\]{}"'\\:&*!|>%@`?]""")


@dataclass(frozen=True, slots=True)
class Document:
    r"""A note's file: the fields of its frontmatter, and the body, its line ends made ``\\n``."""

    fields: Mapping[str, Field]
    body: str
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class _Parts:
    """A file cut at its fences: ``head + block + fence + body`` are its bytes."""

    head: bytes
    block: bytes
    fence: bytes
    body: bytes
    eol: str

    def with_block(self, block: str) -> bytes:
        return self.head + block.encode() + self.fence + self.body


def parse(raw: bytes, path: str = "") -> Document:
    """Read a file, whatever its bytes are; broken frontmatter gives no fields and a fault."""
    faults = _encoding_faults(raw, path)
    fields: dict[str, Field] = {}
    body = raw.removeprefix(_BOM)
    try:
        parts = _split(raw)
        if parts:
            body = parts.body
            fields = read_fields(parts.block, first_line=2)
    except FrontmatterBroken as broken:
        faults.append(Fault(path, broken.line, broken.message))
    return Document(fields, _text(body), tuple(faults))


def read_fields(block: bytes, first_line: int = 1) -> dict[str, Field]:
    """Read a YAML mapping, fields without a value left out.

    Raises:
        FrontmatterBroken: too large, no valid YAML, no mapping, a key twice, or with aliases.
    """
    if len(block) > MAX_FRONTMATTER_BYTES:
        raise FrontmatterBroken(first_line, f"is longer than {MAX_FRONTMATTER_BYTES} bytes")
    try:
        entries = yaml_text.entries(block.decode(errors="replace"))
    except FrontmatterBroken as broken:
        raise FrontmatterBroken(broken.line - 1 + first_line, broken.message) from broken
    return {
        key: Field(yaml_text.value(node), node.start_mark.line + first_line)
        for key, (_, node) in entries.items()
        if not yaml_text.is_null(node)
    }


def set_tag(raw: bytes, tag: str, *, present: bool) -> bytes:
    """Add a tag at the end of the tags of a file, or remove it wherever it stands.

    Doing it again changes nothing. Removing a tag that was added to a list of others gives the
    original bytes.

    Raises:
        ValueError: the tag is empty or has spaces, commas or other signs that YAML reads.
        FrontmatterBroken: the frontmatter is broken, or the tags can't be edited in place.
    """
    if not tag or not tag.isprintable() or _NOT_IN_TAG.search(tag):
        raise ValueError(f"{tag!r} can't be a tag")
    parts = _editable(raw)
    before = block = parts.block.decode()
    while (tag in (tags := _tags(block))) is not present:
        if present:
            block = yaml_text.append_word(block, "tags", tag, parts.eol)
            expected = [*tags, tag]
        else:
            last = len(tags) - 1 - tags[::-1].index(tag)
            block = yaml_text.cut_word(block, "tags", last)
            expected = tags[:last] + tags[last + 1 :]
        _check(block, "tags", found=_tags(block), wanted=expected)
    return raw if block == before else _rejoin(parts, before, block, "tags")


def set_field(raw: bytes, key: str, value: Scalar | None) -> bytes:
    """Set a field that holds one value; None removes it with its line.

    A field that has the value already is left as it is written.

    Raises:
        ValueError: the key is no plain word.
        FrontmatterBroken: the frontmatter is broken, or the field can't be edited in place.
    """
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} can't be a field")
    parts = _editable(raw)
    before = parts.block.decode()
    if value is None:
        after, wanted = yaml_text.cut(before, key), None
    else:
        written = yaml_text.render(value)
        wanted = read_fields(f"{key}: {written}".encode())[key].value
        if _value(before, key) == wanted:
            return raw
        after = yaml_text.put(before, key, written, parts.eol)
    _check(after, key, found=_value(after, key), wanted=wanted)
    return raw if after == before else _rejoin(parts, before, after, key)


def _split(raw: bytes) -> _Parts | None:
    opening = _OPENING.match(raw)
    if not opening:
        return None
    closing = _CLOSING.search(raw, opening.end())
    if not closing:
        raise FrontmatterBroken(1, "the frontmatter has no closing ---")
    start, end = opening.end(), closing.start()
    eol = opening[1].decode()
    return _Parts(raw[:start], raw[start:end], closing[0], raw[closing.end() :], eol)


def _editable(raw: bytes) -> _Parts:
    """Cut a file for an edit, with an empty frontmatter when it has none."""
    faults = _encoding_faults(raw, "")
    if faults:
        raise FrontmatterBroken(faults[0].line, faults[0].message)
    parts = _split(raw)
    if parts:
        read_fields(parts.block, first_line=2)
        return parts
    line_end = _LINE_END.search(raw)
    eol = line_end[0] if line_end else b"\n"
    body = raw.removeprefix(_BOM)
    mark = raw[: len(raw) - len(body)]
    return _Parts(mark + b"---" + eol, b"", b"---" + eol, body, eol.decode())


def _rejoin(parts: _Parts, before: str, after: str, key: str) -> bytes:
    """Join an edited file; refuses when another field than ``key`` came out different."""
    found, wanted = _everything(after), _everything(before)
    found.pop(key, None)
    wanted.pop(key, None)
    _check(after, key, found=found, wanted=wanted)
    return parts.with_block(after)


def _check(block: str, key: str, *, found: object, wanted: object) -> None:
    if found != wanted:
        entry = yaml_text.entries(block).get(key)
        line = entry[1].start_mark.line + 2 if entry else 2
        raise FrontmatterBroken(line, f"{key} can't be edited in place")


def _everything(block: str) -> dict[object, object]:
    """Read all of a checked block, however deep."""
    try:
        return yaml.load(block, Loader=yaml.CBaseLoader) or {}  # noqa: S506 - makes texts only
    except yaml.YAMLError as error:
        raise FrontmatterBroken(2, "has keys that are no texts") from error


def _value(block: str, key: str) -> Value:
    field = read_fields(block.encode()).get(key)
    return field.value if field else None


def _tags(block: str) -> list[str]:
    """Every word of the tags in its place, empty ones too, so that its index is its own."""
    return [bare_tag(word) for word in yaml_text.words(block, "tags")]


def _encoding_faults(raw: bytes, path: str) -> list[Fault]:
    faults = []
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        faults.append(Fault(path, raw.count(b"\n", 0, error.start) + 1, "is not valid UTF-8"))
    if (nul := raw.find(b"\0")) >= 0:
        faults.append(Fault(path, raw.count(b"\n", 0, nul) + 1, "has a NUL byte"))
    return faults


def _text(data: bytes) -> str:
    text = data.decode(errors="replace").replace("\0", "\ufffd")
    return text.replace("\r\n", "\n").replace("\r", "\n")
