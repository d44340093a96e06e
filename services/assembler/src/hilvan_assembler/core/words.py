"""When two candidates say the same in the same words."""

import unicodedata
from functools import lru_cache

from hilvan_assembler.model.candidate import Candidate

MAX_COMPARED_CHARACTERS = 1_000
"""A longer text is compared as it is: it says the same only where it is a copy."""

_BEFORE, _AFTER = "\"'“„«‘([{*_`¡¿—–", ".,:;!…\"'”»’)]}*_`—–"
"""Marks around a word that don't change what is said. A question mark does, and so do the signs
of C++, -5 and 5 %."""


def stated_words(candidate: Candidate) -> str:
    """What is said, without what does not change its meaning: form, case, marks, spacing.

    Two entries with equal words say the same, whatever a model makes of a full stop.
    """
    text = " ".join((candidate.title, candidate.text, candidate.outcome, *candidate.steps))
    return _words(text) if len(text) <= MAX_COMPARED_CHARACTERS else text


@lru_cache(maxsize=20_000)
def _words(text: str) -> str:
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    words = [word.lstrip(_BEFORE).rstrip(_AFTER) for word in plain.casefold().split()]
    return " ".join([word for word in words if word])
