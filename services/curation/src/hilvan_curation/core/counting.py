"""Token counts that are remembered: a scope's pins are counted again in every call."""

from collections.abc import Callable

Count = Callable[[str], int]

MOST = 50_000
"""Counts that are kept of one tokenizer, about 150 bytes each."""


def remembered(count: Count, most: int = MOST) -> Count:
    """The same counts, each made once.

    A text is known by its hash and length: Python keeps a text's hash with it, and the bodies of
    unchanged notes are the same objects from scan to scan, so that a long pin costs no more than
    a short one. The texts themselves are not kept.
    """
    known: dict[tuple[int, int], int] = {}

    def counted(text: str) -> int:
        key = (hash(text), len(text))
        if key not in known:
            if len(known) >= most:
                known.clear()
            known[key] = count(text)
        return known[key]

    return counted
