"""What two clauses have in common: subject, predicate, and the slots that can be compared."""

from itertools import dropwhile, pairwise, product, takewhile

from hilvan_assembler.core.evidence.classes import (
    CLOSED_CLASSES,
    COUNTED,
    FUNCTIONAL,
    GROUP_OF,
    LOOSE_PASSIVES,
    NAME_CLASS,
)
from hilvan_assembler.core.evidence.model import Clause, Token, Tokens, Value

_CLASS_OF = GROUP_OF | NAME_CLASS
_PLAIN = frozenset({"", "be", "happen", "move"})
"""Predicates that put a value to a subject: the standup "is", "happens", "moved to" 10:00."""

_BOUNDS = frozenset({"from", "until", "before", "after", "above", "under"})


def same_subject(a: Clause, b: Clause) -> bool:
    """Equal concepts, or equal words where stems of two languages differ."""
    return a.subject_keys == b.subject_keys or a.subject_folds == b.subject_folds


def same_frame(a: Clause, b: Clause) -> bool:
    """The same subject and predicate, both asserted."""
    plain = a.predicate in _PLAIN and b.predicate in _PLAIN
    return (
        same_subject(a, b)
        and (a.predicate == b.predicate or plain)
        and a.negative == b.negative is False
    )


def first_slot(clause: Clause) -> str:
    """The preposition that the complement begins with."""
    return clause.complement[0].slot if clause.complement else ""


def filler(clause: Clause, slot: str) -> Tokens:
    """The first run of tokens in a slot, but for what is behind a comma.

    A number behind a name is its version: "PostgreSQL 16" and "PostgreSQL 14" are one name.
    """
    rest = dropwhile(lambda t: t.slot != slot, clause.complement)
    run = tuple(takewhile(lambda t: t.slot in {slot, "of"} and not t.aside, rest))
    versioned = any(t.named for t in run)
    return tuple(t for t in run if not (versioned and t.value))


def plain_keys(clause: Clause) -> frozenset[str]:
    """What the complement says without details behind a comma."""
    return frozenset(t.key for t in clause.complement if not t.aside)


def single_slot(clause: Clause) -> str | None:
    """The slot of the complement that holds one thing at a time, or None."""
    slots = [t.slot for t in clause.complement if not t.aside]
    allowed = FUNCTIONAL.get(clause.predicate, ())
    found = next((slot for slot in slots if slot in allowed), None)
    if found is None and clause.passive and clause.predicate not in LOOSE_PASSIVES and slots:
        return slots[0] if slots[0] and slots[0] != "for" else None
    return found


def same_slot(a: str, b: str) -> bool:
    """Equal, or Spanish "en" against any of "in", "at", "on"."""
    return a == b or ("en" in {a, b} and {a, b} <= {"en", "in", "at", "on"})


def rival(a: Tokens, b: Tokens, *, fresh: bool, bare: bool) -> bool:
    """Two different names, with the same common nouns about them.

    After "now" any two nouns, which may share others ("the billing team"); bare fillers, those of
    a label, may differ in any one word ("severity minor").
    """
    if any(t.value for t in a + b):
        return False
    keys_a, keys_b = ({t.key for t in side} for side in (a, b))
    if fresh:
        return bool(keys_a - keys_b and keys_b - keys_a)
    if bare and len(keys_a - keys_b) == len(keys_b - keys_a) == 1:
        return True
    names_a, names_b = (tuple(t for t in side if t.named) for side in (a, b))
    proper_a, proper_b = ({t.key for t in names} for names in (names_a, names_b))
    apart = proper_a.isdisjoint(proper_b) and {t.fold for t in names_a}.isdisjoint(
        t.fold for t in names_b
    )
    return bool(names_a and names_b) and apart and keys_a - proper_a == keys_b - proper_b


def same_kind(a: Tokens, b: Tokens, predicate: str) -> bool:
    """Of no two different kinds, as far as they are known: "in Spain" and "in Madrid" agree."""
    kind_a, kind_b = _kind(a), _kind(b)
    if predicate == "work" and {kind_a, kind_b} & {"city", "country"}:
        return False
    if not (kind_a and kind_b):
        return not {kind_a, kind_b} & CLOSED_CLASSES
    return kind_a == kind_b


def _kind(tokens: Tokens) -> str:
    """The class of the first token that has one, or ""."""
    return next((kind for t in tokens if (kind := _CLASS_OF.get(t.key))), "")


def differing(a: Clause, b: Clause) -> tuple[Token, Token] | None:
    """The first two values that measure the same and are not the same."""
    for one, other in product(measures(a), measures(b)):
        bounds = {one.slot, other.slot}
        if len(bounds) > 1 and bounds & _BOUNDS:
            continue
        if one.value and other.value and one.value.differs(other.value):
            return one, other
    return None


def measures(clause: Clause) -> Tokens:
    """The values of a complement, but for numbers that name one of many ("PR 118")."""
    previous = (None, *clause.complement)
    return tuple(
        token
        for before, token in zip(previous, clause.complement, strict=False)
        if token.value and not (before and before.key in COUNTED)
    )


def numbered(clause: Clause) -> dict[str, Value]:
    """The numbers that stand behind a noun of their slot ("room 12"), or order it ("2nd floor")."""
    found: dict[str, Value] = {}
    for one, other in pairwise(clause.complement):
        if one.slot == other.slot and not one.value and other.value:
            found[one.key] = other.value
        elif (
            one.slot == other.slot and one.value and not other.value and one.value.unit == "ordinal"
        ):
            found[other.key] = one.value
    return found
