"""A first look at a text, far cheaper than reading it: does it tell a change at all?"""

import re
from functools import lru_cache

from hilvan_assembler.core.evidence.lexicon import ENGLISH, SPANISH
from hilvan_assembler.core.evidence.reading import MAX_CHARACTERS
from hilvan_assembler.core.evidence.words import fold

_CACHED_TEXTS = 20_000
_WORD = re.compile(r"[^\W\d_]+")
_NO_CHANGE = frozenset({"!open", "!past", "!reason", "!cause"})


@lru_cache(_CACHED_TEXTS)
def announces_change(text: str) -> bool:
    """Whether a text says itself that something is not, or no longer, as it was.

    Its words tell ("now", "moved", "not", "no longer"), in English or Spanish, whatever they mean
    in their place: it errs on the side of yes. Such a text may contradict a statement in quite
    other words, so its pairs are worth judging where they are less similar. A text too long to
    claim anything announces nothing.
    """
    if len(text) > MAX_CHARACTERS:
        return False
    words = _WORD.findall(fold(text.lower()))
    if not _WORDS.isdisjoint(words):
        return True
    firsts = _PHRASES.keys() & words
    spaced = f" {' '.join(words)} " if firsts else ""
    return any(phrase in spaced for first in firsts for phrase in _PHRASES[first])


_BOTH = (ENGLISH, SPANISH)
_WORDS = frozenset(
    {"t"}  # what the pattern leaves of "isn't"
    | {word for each in _BOTH for word in each.fresh | each.negators | {*each.change_participles}}
    | {fold(word) for each in _BOTH for word in each.changes}
)
_PHRASES = {
    first: tuple(f" {' '.join(phrase)} " for phrase, _ in marks)
    for each in _BOTH
    for first, entries in each.phrases.items()
    if (marks := [e for e in entries if e[1].startswith("!") and e[1] not in _NO_CHANGE])
}
