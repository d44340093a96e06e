"""A YAML mapping as text: what it holds, and how to splice one value without touching others.

A splice trusts the positions that the parser reports; odd but valid YAML can make the result
wrong, so callers read it back and compare (see `hilvan_curation.core.frontmatter`). Positions
are in code points.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from hilvan_curation.errors import FrontmatterBroken

Scalar = str | bool | int | datetime
"""What can be written as the value of a field."""

Value = str | tuple[str, ...] | None
"""A text, a list of texts, or None for anything deeper."""

Entries = dict[str, tuple[Node, Node]]
"""The key and value nodes of a mapping, by the key's text."""

Span = tuple[int, int]

WORD = re.compile(r"[^\s,]+")
"""A word of a list that is written as one text."""

_LINE_END = re.compile(r"\r\n|\n|\r|\Z")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_ONE_LINE = 1 << 30  # a width that the emitter never reaches, so it never folds


def compose(text: str) -> Node | None:
    """Parse one YAML document into nodes; all scalars are text, None is an empty document.

    Raises:
        FrontmatterBroken: it is no valid YAML, or has an alias (nothing here needs one, and
            neither a bomb of them nor an edit through one has to be thought of).
    """
    try:
        root = yaml.compose(text, Loader=yaml.CBaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FrontmatterBroken(mark.line + 1 if mark else 1, error.problem or "") from error
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        raise FrontmatterBroken(line, "control characters are not allowed") from error
    seen = set()
    nodes = [root] if root else []
    while nodes:
        node = nodes.pop()
        if id(node) in seen:
            raise FrontmatterBroken(node.start_mark.line + 1, "aliases are not allowed")
        seen.add(id(node))
        if isinstance(node, MappingNode):
            nodes.extend(chain.from_iterable(node.value))
        elif isinstance(node, SequenceNode):
            nodes.extend(node.value)
    return root


def entries(text: str) -> Entries:
    """Read a mapping's entries; keys that are no text are left out.

    Raises:
        FrontmatterBroken: as `compose`; or it is no mapping, or has a key twice.
    """
    root = compose(text)
    if root is None:
        return {}
    if not isinstance(root, MappingNode):
        raise FrontmatterBroken(root.start_mark.line + 1, "is not a mapping of fields")
    found: Entries = {}
    for key, node in root.value:
        if isinstance(key, ScalarNode):
            if key.value in found:
                raise FrontmatterBroken(key.start_mark.line + 1, f"{key.value!r} is there twice")
            found[key.value] = (key, node)
    return found


def is_null(node: Node) -> bool:
    """Tell whether a value is left out, or a plain ``~`` or ``null``."""
    return isinstance(node, ScalarNode) and not node.style and node.value in _NULLS


def value(node: Node) -> Value:
    """Read a text or a list of texts; None for anything deeper."""
    if isinstance(node, ScalarNode):
        return str(node.value)
    if isinstance(node, SequenceNode) and all(isinstance(i, ScalarNode) for i in node.value):
        return tuple("" if is_null(item) else str(item.value) for item in node.value)
    return None


def render(scalar: Scalar) -> str:
    """Write a value on one line, quoted only where it would be read as something else."""
    if isinstance(scalar, datetime):  # the emitter would add a type tag to it
        return scalar.astimezone(UTC).isoformat().replace("+00:00", "Z")
    style = '"' if isinstance(scalar, str) and not scalar.isprintable() else None
    listed: str = yaml.safe_dump(
        [scalar],
        default_flow_style=True,
        default_style=style,
        allow_unicode=True,
        width=_ONE_LINE,
    )
    return listed.strip()[1:-1]


def put(text: str, key: str, written: str, eol: str) -> str:
    """Give an entry one value, written already; a new entry comes last."""
    entry = _single(text, key)
    if entry:
        return _replace(text, entry[1], written)
    root = compose(text)
    if not isinstance(root, MappingNode) or not root.flow_style:
        indent = " " * root.start_mark.column if root else ""
        return f"{text}{indent}{key}: {written}{eol}"
    spans = [(name.start_mark.index, node.end_mark.index) for name, node in root.value]
    return _append(text, spans, root, f"{key}: {written}", ", ")


def cut(text: str, key: str) -> str:
    """Remove an entry that has one value with its lines; as it is when there is none."""
    entry = _single(text, key)
    if not entry:
        return text
    return _cut_lines(text, entry[0].start_mark.index, _span(text, entry[1])[1])


def words(text: str, key: str) -> list[str]:
    """Read a list of words: the items of a sequence, or the words of a text."""
    node = _listed(text, key)
    content = None if node is None or is_null(node) else value(node)
    return WORD.findall(content) if isinstance(content, str) else list(content or ())


def append_word(text: str, key: str, word: str, eol: str) -> str:
    """Add a word to a list of words in the style that the list is written in."""
    node = _listed(text, key)
    if node is None or (not words(text, key) and isinstance(node, ScalarNode)):
        return put(text, key, f"[{render(word)}]", eol)
    if isinstance(node, ScalarNode):
        spans = _word_spans(text, node)
        separator = " " if len(spans) > 1 and "," not in node.value else ", "
        return _append(text, spans, node, word, separator)
    spans = [_span(text, item) for item in node.value]
    if node.flow_style:
        return _append(text, spans, node, render(word), ", ")
    at = _line_end(text, spans[-1][1])
    return f"{text[:at]}{' ' * node.start_mark.column}- {render(word)}{eol}{text[at:]}"


def cut_word(text: str, key: str, index: int) -> str:
    """Remove one word of a list of words, with its separator or its line; IndexError without it."""
    node = _listed(text, key)
    if not isinstance(node, SequenceNode):
        return _cut_between(text, _word_spans(text, node) if node else [], index)
    spans = [_span(text, item) for item in node.value]
    if node.flow_style:
        return _cut_between(text, spans, index)
    start, end = spans[index]
    return _cut_lines(text, text.rindex("-", 0, start), end)


def _listed(text: str, key: str) -> ScalarNode | SequenceNode | None:
    entry = entries(text).get(key)
    node = entry[1] if entry else None
    if node is None or (isinstance(node, (ScalarNode, SequenceNode)) and value(node) is not None):
        return node
    raise FrontmatterBroken(node.start_mark.line + 1, f"{key} is not a list of texts")


def _single(text: str, key: str) -> tuple[Node, Node] | None:
    entry = entries(text).get(key)
    if entry and not isinstance(entry[1], ScalarNode):
        raise FrontmatterBroken(entry[1].start_mark.line + 1, f"{key} is not a single value")
    return entry


def _span(text: str, node: Node) -> Span:
    """Where a value stands, without the white space that ends a block."""
    start, end = node.start_mark.index, node.end_mark.index
    return start, start + len(text[start:end].rstrip())


def _word_spans(text: str, node: ScalarNode) -> list[Span]:
    start, end = _span(text, node)
    if node.style in {"'", '"'}:
        start, end = start + 1, end - 1
    elif node.style:  # the words of a block begin on the line after its sign
        start = min(_line_end(text, start), end)
    spans = [word.span() for word in WORD.finditer(text, start, end)]
    if len(spans) != len(WORD.findall(node.value)):
        raise FrontmatterBroken(node.start_mark.line + 1, "has words written as escapes")
    return spans


def _replace(text: str, node: Node, written: str) -> str:
    start, end = _span(text, node)
    gap = " " if start == end and text[start - 1 : start] == ":" else ""
    return text[:start] + gap + written + text[end:]


def _append(text: str, spans: Sequence[Span], node: Node, written: str, separator: str) -> str:
    """Add after the last of several parts, or just inside the bracket when there is none."""
    if not spans:
        at = node.start_mark.index + 1
        return text[:at] + written + text[at:]
    at = spans[-1][1]
    return text[:at] + separator + written + text[at:]


def _cut_between(text: str, spans: Sequence[Span], index: int) -> str:
    """Remove one of several parts and the separator before it (after it, for the first)."""
    start, end = spans[index]
    if index > 0 and "#" not in text[spans[index - 1][1] : start]:
        start = spans[index - 1][1]
    elif index + 1 < len(spans):
        end = spans[index + 1][0]
    elif comma := re.compile(r"\s*,").match(text, end):
        end = comma.end()
    return text[:start] + text[end:]


def _cut_lines(text: str, start: int, end: int) -> str:
    """Remove whole lines; refuses when something else begins on the first of them."""
    before = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    if text[before:start].strip():
        raise FrontmatterBroken(text.count("\n", 0, start) + 1, "shares its line")
    return text[:before] + text[_line_end(text, end) :]


def _line_end(text: str, position: int) -> int:
    """The position after the next line end."""
    found = _LINE_END.search(text, position)
    return found.end() if found else len(text)
