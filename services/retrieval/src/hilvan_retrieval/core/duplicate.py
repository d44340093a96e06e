"""Which entries of one owner and layer say the same: what a consolidation may merge.

A twin gives way to a *leader*, and it may only if the leader says all of it: every word of the
twin but articles stands in the leader, both begin with the same word, and what tells statements
apart (numbers, negations, names) is the same in the same order. A high cosine alone is no proof:
"is on by default" and "is off by default" are nearly the same text to a model.
"""

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from hilvan_retrieval.core.entry import REINFORCED_AT
from hilvan_retrieval.core.words import words
from hilvan_retrieval.model.consolidation import Action, Proposal
from hilvan_retrieval.model.embedding import Calibration, Vector
from hilvan_retrieval.model.entry import Entry, Layer

MERGED_LAYERS = (Layer.MEMORY, Layer.EPISODE, Layer.PROCEDURE)
"""Passages of notes belong to curation, which makes them anew from their files."""

COMPARED_CHARACTERS = 1_000
"""Longer texts are merged only when they have the same words: one word of many moves no cosine."""

BLOCK = 256
"""Rows of one product: 256 × 20,000 cosines are 20 MB."""

NEAREST_LEADERS = 16
"""How many leaders a text is compared with word by word, the most similar first."""

_HAIR = 1e-5
_ARTICLES = frozenset("a an the el la los las lo un una unos unas".split())  # noqa: SIM905 - the same
_NEGATIONS = frozenset(
    """
    no not t never without cannot nor neither none nobody nothing longer anymore except only
    nunca jamas sin ni tampoco nadie nada ningun ninguna ninguno salvo excepto solo
    nicht kein keine keinen pas jamais non nao niet geen
    """.split()  # noqa: SIM905 - a word list is read as text
)
"""English and Spanish, and the commonest of other languages; ``t`` is what is left of ``n't``."""

# A word that is written with a capital, but not because a sentence begins there.
_NAME = re.compile(r"(?<=[\w,;)'’\"»”] )[^\W\d_]\w*")


@dataclass(frozen=True, slots=True)
class Sketch:
    """What is kept of an entry to compare it with others; some hundred bytes.

    Entries of different ``place`` are never the same. ``words`` are None of a text that is only
    compared as a whole. ``marks`` are what must be equal.
    """

    id: str
    content_hash: str
    update_time: datetime
    place: tuple[object, ...]
    whole: bytes
    marks: int = 0
    words: tuple[str, ...] | None = None


def sketch(entry: Entry) -> Sketch:
    """Read an entry once.

    The category is part of the place, because mutes and preferences go by it, and so is the
    stated validity. Episodes are events: the same words on another day are another event.
    """
    said = words(entry.searchable_text)
    is_event = entry.layer is Layer.EPISODE
    place = (
        entry.category,
        entry.valid_from,
        entry.valid_until,
        (entry.valid_from or entry.create_time).date() if is_event else None,
    )
    whole = hashlib.blake2b(" ".join(said).encode("utf-8", "surrogatepass"), digest_size=16)
    is_read = said and not is_event and len(entry.searchable_text) <= COMPARED_CHARACTERS
    content = [sys.intern(each) for each in said if each not in _ARTICLES] if is_read else []
    return Sketch(
        entry.id,
        entry.content_hash,
        entry.update_time,
        place,
        whole.digest() if said else b"",
        _marks(content, entry.searchable_text) if content else 0,
        tuple(content) if content else None,
    )


def _marks(content: Sequence[str], text: str) -> int:
    names = {name for found in _NAME.findall(text) if found[0].isupper() for name in words(found)}
    telling = [each for each in content if _tells(each) or each in names]
    joined = "\x1f".join((content[0], *telling)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest(), "big", signed=True)


def _tells(word: str) -> bool:
    return word in _NEGATIONS or not word.isalpha()


def twins(
    sketches: Iterable[Sketch], vectors: dict[str, Vector], calibration: Calibration
) -> Iterator[list[Proposal]]:
    """Propose whom each twin gives way to, a block of the work at a time.

    Leaders are found in one order: the newest statement first, of equal times the one with more
    words, then the id. So the wording that people used last stays, with its time; merging does
    not change the order, so a run that was cut goes on as it began. Each entry joins the most
    similar leader that it is itself similar to, else it leads: nothing is merged over a third.
    ``vectors`` are of the entries that have one, half precision or single.
    """
    places: dict[tuple[object, ...], list[Sketch]] = {}
    for each in sorted(sketches, key=_rank):
        places.setdefault(each.place, []).append(each)
    for members in places.values():
        if len(members) > 1:
            yield from _clusters(members, vectors, calibration)


def _rank(each: Sketch) -> tuple[float, int, str]:
    return (-each.update_time.timestamp(), -len(each.words or ()), each.id)


def _clusters(
    members: Sequence[Sketch], vectors: dict[str, Vector], calibration: Calibration
) -> Iterator[list[Proposal]]:
    """One place; what has the same words is found even without vectors."""
    matrix = _matrix(members, vectors)
    floor = calibration.inverse(REINFORCED_AT) - _HAIR
    marks = np.array([each.marks for each in members], dtype=np.int64)
    leads = np.zeros(len(members), dtype=bool)
    by_words: dict[bytes, int] = {}
    for start in range(0, len(members), BLOCK):
        rows = range(start, min(start + BLOCK, len(members)))
        cosines = matrix[start : rows.stop] @ matrix[: rows.stop].T
        found = []
        for row in rows:
            mine = members[row]
            leader, similarity = by_words.get(mine.whole, -1) if mine.whole else -1, 1.0
            if leader < 0 and mine.words is not None:
                cosine = cosines[row - start, :row]
                same = (cosine >= floor) & leads[:row] & (marks[:row] == mine.marks)
                leader, similarity = _closest(row, cosine, np.flatnonzero(same), members)
                similarity = calibration.of(similarity)
            if leader < 0 or similarity < REINFORCED_AT:
                leads[row] = True
                by_words.setdefault(mine.whole, row)
            else:
                found.append(_proposal(mine, members[leader], similarity))
        yield found


def _closest(
    row: int, cosine: NDArray[np.float32], near: NDArray[np.intp], members: Sequence[Sketch]
) -> tuple[int, float]:
    """The most similar leader that says all that the row says, and the cosine; or -1."""
    said = set(members[row].words or ())
    for leader in near[np.argsort(-cosine[near], kind="stable")][:NEAREST_LEADERS]:
        if said <= set(members[leader].words or ()):
            return int(leader), float(cosine[leader])
    return -1, 0.0


def _matrix(members: Sequence[Sketch], vectors: dict[str, Vector]) -> NDArray[np.float32]:
    """A row a member; zeros, which are similar to nothing, where there is no vector."""
    dimensions = max((len(vectors[each.id]) for each in members if each.id in vectors), default=1)
    matrix = np.zeros((len(members), dimensions), dtype=np.float32)
    for row, each in enumerate(members):
        if each.id in vectors:
            matrix[row] = vectors[each.id]
    return matrix


def _proposal(twin: Sketch, leader: Sketch, similarity: float) -> Proposal:
    is_copy = twin.whole == leader.whole
    reason = "the same words" if is_copy else f"similarity {similarity:.3f}"
    return Proposal(
        Action.MERGED, twin.id, leader.id, reason, twin.content_hash, leader.content_hash
    )
