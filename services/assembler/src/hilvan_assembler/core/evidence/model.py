"""The values of the evidence package: what a text says, and why two texts conflict."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from hilvan_assembler.model.kind import EvidenceKind


class Mood(StrEnum):
    """How far a clause speaks of the present state of things."""

    PRESENT = "present"
    PAST = "past"
    OPEN = "open"
    """A question, a condition, a plan or a guess: it claims nothing that could be contradicted."""


@dataclass(frozen=True, slots=True)
class Value:
    """A number, time or date in one canonical unit.

    ``kind`` is "number", "time" (minutes since midnight), "weekday" (0..6), "quarter" or "date"
    (year, month, day; None where not stated). ``unit`` is "" for a bare number, whose parts are
    those between its dots: 4.2 and 4.2.1 agree as far as both go.
    """

    kind: str
    unit: str
    parts: tuple[float | None, ...]

    def comparable(self, other: "Value") -> bool:
        """Whether both measure the same thing in the same unit."""
        return self.kind == other.kind and self.unit == other.unit

    def differs(self, other: "Value") -> bool:
        """Whether both are comparable and some part that both state is not the same."""
        return self.comparable(other) and any(
            mine != theirs
            for mine, theirs in zip(self.parts, other.parts, strict=False)
            if mine is not None and theirs is not None
        )


class Token(NamedTuple):
    """A word or value that carries content. A tuple, for it is made for each word of each text.

    ``key`` is its concept, equal across inflections and, for listed words, across languages;
    ``fold`` the words themselves in lower case without accents. ``slot`` is the preposition that
    governs it ("" for a bare subject or object). ``named`` tells a proper name or identifier,
    ``definite`` a word after a definite article or a possessive, ``aside`` one in a detail behind a
    comma (", two blocks from the office").
    """

    key: str
    fold: str
    start: int
    end: int
    slot: str = ""
    named: bool = False
    definite: bool = False
    aside: bool = False
    value: Value | None = None


Tokens = tuple[Token, ...]

SPEAKER = Token("user", "user", 0, 0)
"""Who says "I" or "mi", and the subject of Spanish first persons: the user the entry is of."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a clause says about a change: "from" is what ended, "to" what holds now.

    ``left`` marks the end of a membership ("left Acme"), ``given`` that of any hold on a thing
    ("sold the Corolla"), ``exchanged`` another value ("changed to"), ``ended`` that the subject
    itself is gone.
    """

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    left: bool = False
    given: bool = False
    exchanged: bool = False
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """One assertion: subject, predicate, complement, and how it is meant.

    ``ceased`` marks a negation that says that it was true once ("no longer"); ``fresh`` a word
    such as "now"; ``passive`` a participle behind a copula; ``labelled`` a colon ("CI: Jenkins").
    """

    text: str
    subject: Tokens
    predicate: str
    complement: Tokens
    mood: Mood
    negative: bool
    ceased: bool
    fresh: bool
    plural: bool
    passive: bool
    labelled: bool
    change: Change | None
    subject_keys: frozenset[str]
    subject_folds: frozenset[str]
    complement_keys: frozenset[str]
    keys: frozenset[str]

    def span(self, tokens: Tokens) -> str:
        """The text from the first to the last of ``tokens``; the whole clause for none."""
        if not tokens:
            return self.text
        return self.text[min(t.start for t in tokens) : max(t.end for t in tokens)]


@dataclass(frozen=True, slots=True)
class Statement:
    """What `read` makes of a text. Depends on the text alone, so it can be kept by its hash."""

    clauses: tuple[Clause, ...] = ()
    words: tuple[str, ...] = ()
    """All words in order: equal for texts that differ in letter case or punctuation only."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found: the words of its first and of its second clause; none for all."""

    kind: EvidenceKind
    first: Tokens
    second: Tokens
    confidence: float
