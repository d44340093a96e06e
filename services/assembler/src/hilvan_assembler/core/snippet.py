"""The part of a text that a query is about."""

import re
import unicodedata

SNIPPET_CHARACTERS = 240

_WORD = re.compile(r"\w{3,}")
_JOINED, _JOINER = frozenset({"Mn", "Mc", "Me", "Cf", "Sk"}), "\u200d"
"""Categories of what belongs to the character before it, and what joins the one behind."""
_MARKS = re.compile("[\u0300-\u036f]")


def snippet(text: str, query: str) -> str:
    """At most `SNIPPET_CHARACTERS` of the text around the first word that the query has too.

    Cut at spaces, else between characters as people see them, with an ellipsis where something
    is left out.
    """
    flat = " ".join(_composed(text).split())
    if len(flat) <= SNIPPET_CHARACTERS:
        return flat
    wanted = {_folded(word) for word in _WORD.findall(_composed(query))}
    hit = next((m.start() for m in _WORD.finditer(flat) if _folded(m[0]) in wanted), 0)
    start = max(0, min(hit - SNIPPET_CHARACTERS // 4, len(flat) - SNIPPET_CHARACTERS))
    if start:
        start = flat.find(" ", start, start + 40) + 1 or _edge(flat, start)
    end = start + SNIPPET_CHARACTERS
    if end < len(flat):
        space = flat.rfind(" ", start + SNIPPET_CHARACTERS // 2, end)
        end = space if space > 0 else _edge(flat, end)
    return ("…" if start else "") + flat[start:end].strip() + ("…" if end < len(flat) else "")


def _composed(text: str) -> str:
    """NFC: a letter and its accents are one, so that a word is whole."""
    return unicodedata.normalize("NFC", text)


def _edge(text: str, at: int) -> int:
    """The nearest place up to ``at`` that does not part a character from what it is joined to."""
    while at > 0 and (unicodedata.category(text[at]) in _JOINED or text[at - 1] == _JOINER):
        at -= 1
    return at


def _folded(word: str) -> str:
    return _MARKS.sub("", unicodedata.normalize("NFKD", word.casefold()))
