"""Text → words with their places, as written, in lower case, and without accents."""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_WORD = re.compile(
    r"""
      /?[^\W\d_]\w*(?:['’](?!(?i:m|re|ve|ll|d)\b)[^\W\d_]+|[-+/.@&\#]\w+)*[+\#]*  # don't QX-4 C++
    | \d{4}-\d{2}-\d{2}(?!\d)                               # 2025-06-30
    | \d{1,2}/\d{1,2}/\d{4}(?!\d)                           # 30/06/2025
    | \d{1,2}:\d{2}(?!\d)                                   # 16:00
    | [$€£]?\d+(?:[.,]\d+)*[%€$£]?                          # $4,000  1.27  80%
    | ['’](?i:m|re|ve|ll|d)\b                              # I'm  they're
    | ,(?=\s+[^\W\d]) | [:?¿]
    """,
    re.VERBOSE,
)
_CLAUSE_END = re.compile(
    r"(?=[\s,;])(?:"  # Looked at first: it fails at once on all other characters.
    r"(?<!\b(?-i:[A-Z])\.)(?<!\b[DMS]r\.)(?<!\b(?:Mrs|Dra|Sra)\.)(?<!\b(?:Ms|St|vs)\.)"
    r"(?<=[.!?…;\n])\s+"
    r"|[,;]?\s+(?:because(?!\s+of\b)|but|although|whereas|porque|pero|aunque|mientras|ya\s+que)\s+)",
    re.IGNORECASE,
)
_PUNCTUATION = frozenset(":?¿,")
_CACHED_WORDS = 8192
"""Texts repeat their words: the forms of a word are worked out once."""
_SHORT_IS = frozenset({"it's", "he's", "she's", "that's", "there's"})
_MARKS = {ord(mark): None for mark in "\u0300\u0301\u0302\u0303\u0308\u0327"}


class Word(NamedTuple):
    """A word as written (``raw``), in lower case, and folded: lower case without accents."""

    raw: str
    lower: str
    fold: str
    start: int
    end: int

    @property
    def punctuation(self) -> bool:
        """Whether this is a mark that means something: a colon, a comma or a question mark."""
        return self.raw in _PUNCTUATION


def normalize(text: str) -> str:
    """NFC, with lone surrogates replaced so that every library accepts the text."""
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())


def split_clauses(text: str) -> list[str]:
    """Sentences, and the parts around words that set two assertions against each other."""
    return [part for part in _CLAUSE_END.split(text) if part and not part.isspace()]


def split_words(clause: str) -> list[Word]:
    """The words of a clause in order, possessive endings left out."""
    words = []
    for match in _WORD.finditer(clause):
        raw = match.group()
        lower, folded, short = _forms(raw)
        start, end = match.span()
        words.append(Word(raw, lower, folded, start, end))
        if short:
            words.append(Word("'s", "'s", "'s", end - 2, end))
    return words


@lru_cache(_CACHED_WORDS)
def _forms(raw: str) -> tuple[str, str, bool]:
    """Lower case without a possessive ending, the same folded, and whether "is" was shortened."""
    whole = raw.upper().casefold().replace("’", "'")
    lower = whole.removesuffix("'s") or whole
    return lower, fold(lower), whole in _SHORT_IS


def fold(lower: str) -> str:
    """Strip accents: ``reunión`` → ``reunion``; ``ñ`` becomes ``n`` as it is often typed."""
    if lower.isascii():
        return lower
    decomposed = unicodedata.normalize("NFD", lower)
    return unicodedata.normalize("NFC", decomposed.translate(_MARKS))
