"""A note's body cut into passages for search.

A heading begins a passage; inside a section whole paragraphs are packed up to `MOST` words. A
longer paragraph is cut at the ends of sentences and list items, a longer sentence between words,
a longer word between graphemes. A fenced code block is never cut, however long. Headings are
ATX (``# …``); one without text of its own joins the passage below it.
"""

import hashlib
import math
import re
import unicodedata
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hilvan_curation.model.passage import Passage

MOST = 200
"""The most words of a passage, its headings and what can't be cut aside. A CJK character is a
word, and so is each run of 16 other characters: a passage's length is bounded in any script."""

_IDS = uuid.UUID("3c1b4b0e-9a55-5d0c-8d0a-5f2f6f0a7d11")
_LONGEST_HEADING = 200  # characters; a longer line is a paragraph that begins with a sign

_MOST_BARE_HEADINGS = 8

_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_CJK}]|[^\s{_CJK}]{{1,16}}")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=\s|\Z)")
_TOP_HEADING = re.compile(r"^ {0,3}#\s", re.MULTILINE)
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*\Z)|~{3,})")
_CLOSING = re.compile(r"[ \t>]*(`{3,}|~{3,})\s*")
_SENTENCE_END = re.compile(
    r"(?<=[.!?…])[\"'”’»)\]]*\s+"  # a stop, what closes after it, and white space
    r"|(?<=[。！？])[」』）]*"
    r"|\n(?=[ \t>]*(?:[-*+|]|\d{1,9}[.)])[ \t])"  # before a list item or a table row
)
_SPACE = re.compile(r"\s+")
_GRAPHEMES_FROM = 16  # characters of a piece of an endless word
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_JAMO_FIRST = range(0x1100, 0x1160)
_JAMO_NEXT = range(0x1160, 0x1200)
_VIRAMA = 9

_Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Block:
    """A heading (``level`` 1 to 6), a fenced code block or a paragraph."""

    start: int
    end: int
    level: int = 0
    title: str = ""
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part that stays whole, and its size in words."""

    start: int
    end: int
    size: int


def split(note_id: str, body: str) -> tuple[Passage, ...]:
    """Cut a body into passages that together hold all of its text, in its order."""
    seen: Counter[str] = Counter()
    found: list[Passage] = []
    for headings, blocks in _sections(body):
        for start, end in _pack(_section_pieces(body, blocks)):
            start, end = _trim(body, start, end)  # noqa: PLW2901 - the same span, without blanks
            text = body[start:end]
            digest = hashlib.sha256("\x1f".join((*headings, "", text)).encode()).hexdigest()
            key = f"{note_id}\x00{digest}\x00{seen[digest]}"
            seen[digest] += 1
            passage_id = str(uuid.uuid5(_IDS, key))
            found.append(
                Passage(passage_id, note_id, len(found), headings, start, end, text, digest)
            )
    return tuple(found)


def first_heading(body: str) -> str:
    """The text of the first heading of level 1, empty when there is none."""
    if not _TOP_HEADING.search(body):
        return ""
    return next((block.title for block in _blocks(body) if block.level == 1 and block.title), "")


def _blocks(body: str) -> Iterator[_Block]:
    start, fence = -1, ""  # where the open block began; the signs that opened a code block
    for line in _LINE.finditer(body):
        if fence:
            closing = _CLOSING.fullmatch(line[0])
            if closing and closing[1].startswith(fence):
                yield _Block(start, line.end(), fenced=True)
                start, fence = -1, ""
            continue
        heading, opening = _heading(line[0]), _FENCE.match(line[0])
        if start >= 0 and (heading or opening or not line[0].strip()):
            yield _Block(start, line.start())
            start = -1
        if heading:
            yield _Block(line.start(), line.end(), *heading)
        elif start < 0 and line[0].strip():
            start, fence = line.start(), opening[1] if opening else ""
    if start >= 0:
        yield _Block(start, len(body), fenced=bool(fence))


def _heading(line: str) -> tuple[int, str] | None:
    found = _HEADING.match(line) if len(line) <= _LONGEST_HEADING else None
    if not found:
        return None
    title = line[found.end() :].strip()
    without_signs = title.rstrip("#")
    if without_signs == without_signs.rstrip():
        return len(found[1]), title if without_signs else ""
    return len(found[1]), without_signs.rstrip()


def _sections(body: str) -> Iterator[tuple[tuple[str, ...], list[_Block]]]:
    """Group blocks beneath their headings; headings without text go with what follows them."""
    path: list[_Block] = []
    blocks: list[_Block] = []
    for block in _blocks(body):
        if block.level:
            skeleton = blocks and blocks[-1].level and len(blocks) < _MOST_BARE_HEADINGS
            if blocks and not skeleton:
                yield _titles(path), blocks
                blocks = []
            path = [*(above for above in path if above.level < block.level), block]
        blocks.append(block)
    if blocks:
        yield _titles(path), blocks


def _titles(path: Sequence[_Block]) -> tuple[str, ...]:
    return tuple(block.title for block in path if block.title)


def _section_pieces(body: str, blocks: Sequence[_Block]) -> list[_Piece]:
    """The pieces of a section, its headings being part of the first."""
    pieces = []
    for block in blocks:
        if block.fenced:
            pieces.append(_piece(body, block.start, block.end))
        elif not block.level:
            pieces.extend(_cut(body, block.start, block.end, _CUTS))
    end = pieces[0].end if pieces else blocks[-1].end
    return [_piece(body, blocks[0].start, end), *pieces[1:]]


def _pack(pieces: Sequence[_Piece]) -> Iterator[_Span]:
    """Join neighbours into as few spans of at most `MOST` words as it takes, of similar size."""
    total = sum(piece.size for piece in pieces)
    enough = total / math.ceil(total / MOST) if total else 0
    start, end, size = pieces[0].start, pieces[0].end, pieces[0].size
    for piece in pieces[1:]:
        if size >= enough or size + piece.size > MOST:
            yield start, end
            start, size = piece.start, 0
        end, size = piece.end, size + piece.size
    yield start, end


def _cut(body: str, start: int, end: int, cuts: Sequence["_Cut"]) -> Iterator[_Piece]:
    """Cut a span as coarsely as its size allows."""
    piece = _piece(body, start, end)
    if piece.size <= MOST or not cuts:
        yield piece
        return
    for at in (*cuts[0](body, start, end), end):
        if at > start:
            yield from _cut(body, start, at, cuts[1:])
            start = at


def _sentence_ends(body: str, start: int, end: int) -> Iterator[int]:
    return (found.end() for found in _SENTENCE_END.finditer(body, start, end))


def _word_ends(body: str, start: int, end: int) -> Iterator[int]:
    return (found.end() for found in _SPACE.finditer(body, start, end))


def _grapheme_ends(body: str, start: int, end: int) -> Iterator[int]:
    last = start
    for at in range(start + 1, end):
        if at - last >= _GRAPHEMES_FROM and not _are_joined(body[at - 1], body[at]):
            last = at
            yield at


_Cut = Callable[[str, int, int], Iterator[int]]
_CUTS: tuple[_Cut, ...] = (_sentence_ends, _word_ends, _grapheme_ends)


def _are_joined(before: str, after: str) -> bool:
    """Tell whether a cut could part a grapheme (UAX 29); may say so where it would not."""
    left, right = ord(before), ord(after)
    return (
        unicodedata.category(after) in {"Mn", "Mc", "Me", "Cf"}
        or unicodedata.category(before) == "Cf"
        or unicodedata.combining(before) == _VIRAMA
        or right in _SKIN_TONES
        or right in _JAMO_NEXT
        or left in _JAMO_FIRST
        or (left in _FLAG_LETTERS and right in _FLAG_LETTERS)
    )


def _piece(body: str, start: int, end: int) -> _Piece:
    return _Piece(start, end, len(_WORD.findall(body, start, end)))


def _trim(body: str, start: int, end: int) -> _Span:
    text = body[start:end]
    return start + len(text) - len(text.lstrip()), start + len(text.rstrip())
