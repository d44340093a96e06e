"""Rules in which two clauses fill one frame differently. All are symmetric.

Both clauses share subject and predicate (`same_frame`); each rule names the words that differ.
"""

from hilvan_assembler.core.evidence.classes import (
    FUNCTIONAL,
    GROUP_OF,
    LOOSE_PASSIVES,
    MULTI_VALUED,
    NAME_CLASS,
    SCOPES,
)
from hilvan_assembler.core.evidence.frames import (
    differing,
    filler,
    first_slot,
    measures,
    rival,
    same_frame,
    same_kind,
    same_slot,
)
from hilvan_assembler.core.evidence.lexicon import SLOT_NOUNS
from hilvan_assembler.core.evidence.model import Clause, Finding, Tokens
from hilvan_assembler.model import EvidenceKind

_MAX_DETAIL = 3
"""Words that one side may have beyond the other and still speak of the same."""

_CONDITIONS = frozenset({"with", "for", "per", "during", "by", "of", "under", "above"})
"""Prepositions that tell under which condition a value holds ("36 euros with VAT")."""


def changed_value(a: Clause, b: Clause) -> Finding | None:
    """Number, time or date: one subject and predicate, the same words, another value."""
    if not same_frame(a, b) or a.predicate in MULTI_VALUED - {"have", "support", "take"}:
        return None
    pair = differing(a, b)
    if not (a.predicate or b.predicate) and any(t.slot == "with" for t in a.subject):
        return None  # "Lunch with Bob on Monday" happened once.
    if pair is None or _unmatched_values(a, b):
        return None
    plain_a = a.complement_keys - {t.key for t in measures(a)}
    plain_b = b.complement_keys - {t.key for t in measures(b)}
    extra = plain_a ^ plain_b
    if (plain_a - plain_b and plain_b - plain_a) or len(extra) > _MAX_DETAIL or extra & SCOPES:
        return None
    if any(t.key in extra and t.slot in _CONDITIONS for t in a.complement + b.complement):
        return None
    number = pair[0].value is not None and pair[0].value.kind == "number"
    kind = EvidenceKind.CHANGED_NUMBER if number else EvidenceKind.CHANGED_DATE
    return Finding(kind, (pair[0],), (pair[1],), 0.75 if extra else 0.9)


def exclusive_words(a: Clause, b: Clause) -> Finding | None:
    """Changed value: everything is the same but two words that exclude each other (open/closed)."""
    only_a, only_b = a.complement_keys - b.complement_keys, b.complement_keys - a.complement_keys
    if len(only_a) != 1 or len(only_b) != 1 or not same_frame(a, b):
        return None
    (one,), (other,) = only_a, only_b
    group = GROUP_OF.get(one)
    if group is None or GROUP_OF.get(other) != group:
        return None
    if a.predicate in MULTI_VALUED and not (
        a.predicate == "have" and group in {"level", "verdict"}
    ):
        return None
    return Finding(EvidenceKind.CHANGED_VALUE, _with(a, one), _with(b, other), 0.85)


def functional_object(a: Clause, b: Clause) -> Finding | None:
    """Changed value: a relation that holds of one object ("lives in") with two objects."""
    if a.predicate != b.predicate or not same_frame(a, b) or a.passive != b.passive:
        return None
    slot = first_slot(a)
    allowed = FUNCTIONAL.get(a.predicate, ())
    single = slot in allowed or (
        a.passive and bool(slot) and slot != "for" and a.predicate not in LOOSE_PASSIVES
    )
    if not single or not same_slot(slot, first_slot(b)):
        return None
    if a.predicate == "be" and not _standing(a, b):
        return None  # "Ana is in Berlin" tells where she is, not where she belongs.
    return _other_filler(a, b, 0.8)


def _standing(a: Clause, b: Clause) -> bool:
    """Whether the subject is a thing with a place ("the office", "Ana's desk"), not a bare name."""
    return (
        len(a.subject) > 1
        or len(b.subject) > 1
        or any(token.definite for token in a.subject + b.subject)
    )


def slot_noun(a: Clause, b: Clause) -> Finding | None:
    """Changed value: "the deadline is", "Ana's manager is", "the codename of it is" with two names.

    The subject holds a noun that has one value at a time, or is definite and singular.
    """
    if a.predicate != "be" or b.predicate != "be" or not same_frame(a, b):
        return None
    if first_slot(a) or first_slot(b) or a.passive or b.passive:
        return None
    plural = (a.plural or b.plural) and "pronouns" not in a.subject_keys
    known = bool(a.subject_keys & SLOT_NOUNS)
    definite = bool(a.subject) and a.subject[0].definite and b.subject[0].definite
    if plural or not (known or definite):
        return None
    return _other_filler(a, b, 0.85 if known else 0.7)


def fresh_choice(a: Clause, b: Clause) -> Finding | None:
    """State change: "now uses" another tool of the same kind."""
    if not (a.fresh or b.fresh) or a.predicate != b.predicate or not same_frame(a, b):
        return None
    classes = {NAME_CLASS.get(key) for key in a.complement_keys} - {None}
    same_class = any(NAME_CLASS.get(key) in classes for key in b.complement_keys)
    if a.predicate != "use" or not same_class:
        return None
    return _other_filler(a, b, 0.7)


def _other_filler(a: Clause, b: Clause, confidence: float) -> Finding | None:
    """Two fillers of one slot that share nothing, are names both, and stand in the same setting."""
    filler_a, filler_b = filler(a), filler(b)
    keys_a, keys_b = {t.key for t in filler_a}, {t.key for t in filler_b}
    fresh = a.fresh or b.fresh
    if any(t.value for t in filler_a + filler_b) or not rival(filler_a, filler_b, fresh=fresh):
        return None
    if not same_kind(filler_a, filler_b, a.predicate):
        return None
    rest_a, rest_b = a.complement_keys - keys_a, b.complement_keys - keys_b
    if (rest_a - rest_b and rest_b - rest_a) or (rest_a ^ rest_b) & SCOPES:
        return None
    kind = EvidenceKind.STATE_CHANGE if fresh else EvidenceKind.CHANGED_VALUE
    return Finding(kind, filler_a, filler_b, confidence)


def _unmatched_values(a: Clause, b: Clause) -> bool:
    """Whether either side has a value with none like it in the other: it narrows that side."""
    mine = [t.value for t in measures(a) if t.value]
    theirs = [t.value for t in measures(b) if t.value]
    return any(not any(x.comparable(y) for y in theirs) for x in mine) or any(
        not any(x.comparable(y) for y in mine) for x in theirs
    )


def _with(clause: Clause, key: str) -> Tokens:
    return tuple(t for t in clause.complement if t.key == key)
