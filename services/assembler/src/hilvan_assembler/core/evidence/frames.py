"""What two clauses have in common: subject, predicate, and the slots that can be compared."""

from itertools import product

from hilvan_assembler.core.evidence.classes import CLOSED_CLASSES, COUNTED, GROUP_OF, NAME_CLASS
from hilvan_assembler.core.evidence.model import Clause, Token, Tokens

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


def filler(clause: Clause) -> Tokens:
    """The first tokens of the complement that share its first slot."""
    slot = first_slot(clause)
    size = next((i for i, t in enumerate(clause.complement) if t.slot != slot), None)
    return clause.complement[:size]


def same_slot(a: str, b: str) -> bool:
    """Equal, or Spanish "en" against any of "in", "at", "on"."""
    return a == b or ("en" in {a, b} and {a, b} <= {"en", "in", "at", "on"})


def rival(a: Tokens, b: Tokens, *, fresh: bool) -> bool:
    """Two different names, with the same common nouns about them; after "now", any two nouns."""
    names_a, names_b = (tuple(t for t in side if t.named or fresh) for side in (a, b))
    if not names_a or not names_b:
        return False
    if {t.key for t in names_a} & {t.key for t in names_b}:
        return False
    if {t.fold for t in names_a} & {t.fold for t in names_b}:
        return False
    return {t.key for t in a} - {t.key for t in names_a} == (
        {t.key for t in b} - {t.key for t in names_b}
    )


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
