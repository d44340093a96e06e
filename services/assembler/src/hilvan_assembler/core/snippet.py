"""The part of a text that a query is about."""

import re
import unicodedata

SNIPPET_CHARACTERS = 240

_WORD = re.compile(r"\w{3,}")
_MARKS = re.compile("[\u0300-\u036f]")


def snippet(text: str, query: str) -> str:
    """At most `SNIPPET_CHARACTERS` of the text around the first word that the query has too.

    Cut at spaces, with an ellipsis where something is left out.
    """
    flat = " ".join(text.split())
    if len(flat) <= SNIPPET_CHARACTERS:
        return flat
    wanted = {_folded(word) for word in _WORD.findall(query)}
    hit = next((m.start() for m in _WORD.finditer(flat) if _folded(m[0]) in wanted), 0)
    start = max(0, min(hit - SNIPPET_CHARACTERS // 4, len(flat) - SNIPPET_CHARACTERS))
    if start:
        start = flat.find(" ", start, start + 40) + 1 or start
    end = start + SNIPPET_CHARACTERS
    if end < len(flat):
        end = max(flat.rfind(" ", start, end), start + SNIPPET_CHARACTERS // 2)
    return ("…" if start else "") + flat[start:end].strip() + ("…" if end < len(flat) else "")


def _folded(word: str) -> str:
    return _MARKS.sub("", unicodedata.normalize("NFKD", word.casefold()))
