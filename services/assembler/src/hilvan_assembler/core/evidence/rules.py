"""Rules in which two clauses fill one frame differently. All are symmetric.

`judging` asks them of clauses that share subject and predicate (`same_frame`) only; each rule names
the words that differ.
"""

from hilvan_assembler.core.evidence.classes import (
    GROUP_OF,
    MANY_NOUNS,
    MULTI_VALUED,
    NAME_CLASS,
    SCOPES,
)
from hilvan_assembler.core.evidence.frames import (
    differing,
    filler,
    first_slot,
    measures,
    plain_keys,
    rival,
    same_kind,
    same_slot,
    single_slot,
)
from hilvan_assembler.core.evidence.lexicon import SLOT_NOUNS
from hilvan_assembler.core.evidence.model import Clause, Finding, Tokens
from hilvan_assembler.model.kind import EvidenceKind

_MAX_DETAIL = 3
"""Words that one side may have beyond the other and still speak of the same."""

_PLAIN = frozenset({"", "be", "move"})
_ADDITIVE = MULTI_VALUED - {"have", "support", "take"}
"""Predicates of which even two numbers may both hold."""

_STATUS_GROUPS = frozenset({"level", "verdict", "tier", "payment"})
"""Groups of which even a "has" tells one at a time ("has the basic plan")."""

_CONDITIONS = frozenset({"with", "for", "per", "during", "by", "of", "under", "above", "when"})
"""Prepositions that tell under which condition a value holds ("36 euros with VAT")."""


def changed_value(a: Clause, b: Clause) -> Finding | None:
    """Number, time or date: one subject and predicate, the same words, another value."""
    if a.predicate in _ADDITIVE:
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
    only_a, only_b = plain_keys(a) - plain_keys(b), plain_keys(b) - plain_keys(a)
    if len(only_a) != 1 or len(only_b) != 1:
        return None
    (one,), (other,) = only_a, only_b
    group = GROUP_OF.get(one)
    if group is None or GROUP_OF.get(other) != group:
        return None
    if a.predicate in MULTI_VALUED and not (a.predicate == "have" and group in _STATUS_GROUPS):
        return None
    return Finding(EvidenceKind.CHANGED_VALUE, _with(a, one), _with(b, other), 0.85)


def functional_object(a: Clause, b: Clause) -> Finding | None:
    """Changed value: a relation that holds of one object ("lives in") with two objects."""
    if a.predicate != b.predicate or a.passive != b.passive:
        return None
    slot, other = single_slot(a), single_slot(b)
    if slot is None or other is None or not same_slot(slot, other):
        return None
    if a.predicate == "be" and not _standing(a, b):
        return None  # "Ana is in Berlin" tells where she is, not where she belongs.
    return _other_filler(a, b, slot, other, 0.8)


def _standing(a: Clause, b: Clause) -> bool:
    """Whether the subject is a thing with a place ("the office", "Ana's desk"), not a bare name."""
    return (
        len(a.subject) > 1
        or len(b.subject) > 1
        or any(token.definite for token in a.subject + b.subject)
    )


def slot_noun(a: Clause, b: Clause) -> Finding | None:
    """Changed value: "the deadline is", "my manager is", "CI: Jenkins" with two names.

    The subject holds a noun that has one value at a time, or is definite and singular; a label
    ("Logger: winston") may have any one word for its value.
    """
    if a.predicate != "be" or b.predicate != "be":
        return None
    slot, other = first_slot(a), first_slot(b)
    if slot or other or a.passive or b.passive or _many(a.subject):
        return None
    plural = (a.plural or b.plural) and "pronouns" not in a.subject_keys
    known = bool(a.subject_keys & SLOT_NOUNS)
    definite = any(t.definite for t in a.subject) and any(t.definite for t in b.subject)
    label = a.labelled and b.labelled and bool(a.subject)
    plural |= label and _plural(a.subject)
    if plural or not (known or definite or label):
        return None
    return _other_filler(a, b, slot, other, 0.85 if known else 0.7, bare=label)


def _many(subject: Tokens) -> bool:
    """Whether there may be many of the subject; a number says which of them it is."""
    return any(t.fold in MANY_NOUNS for t in subject) and not any(t.value for t in subject)


def _plural(subject: Tokens) -> bool:
    """Whether the noun of a label looks like many: "Allergies: peanuts"."""
    nouns = [t.fold for t in subject if t.slot == ""]
    return bool(nouns) and nouns[-1].endswith("s")


def fresh_choice(a: Clause, b: Clause) -> Finding | None:
    """State change: "now prefers", "now goes to" another thing of the same kind.

    Of the same kind are names of one class, and things that share a noun: "aisle seats".
    """
    if not (a.fresh or b.fresh) or a.predicate != b.predicate:
        return None
    if a.predicate in MULTI_VALUED or a.predicate in _PLAIN:
        return None
    slot = next((s for s in _slots(a) if _keys_in(s, a) != _keys_in(s, b)), None)
    if slot is None or not _keys_in(slot, b):
        return None
    keys_a, keys_b = a.complement_keys, b.complement_keys
    classes = {NAME_CLASS.get(key) for key in keys_a} - {None}
    same_class = any(NAME_CLASS.get(key) in classes for key in keys_b)
    routed = a.predicate == "go" and a.subject_keys and not _person(a)
    in_slots = ({(t.key, t.slot) for t in c.complement} for c in (a, b))
    if not (set.intersection(*in_slots) or same_class or routed):
        return None
    return _other_filler(a, b, slot, slot, 0.7)


def _slots(clause: Clause) -> list[str]:
    return [t.slot for t in clause.complement if not t.aside]


def _keys_in(slot: str, clause: Clause) -> frozenset[str]:
    return frozenset(t.key for t in clause.complement if t.slot == slot)


def _person(clause: Clause) -> bool:
    """Whether somebody goes, who may go to many places, and not a thing."""
    return any(t.named or t.key == "user" for t in clause.subject)


def _other_filler(
    a: Clause, b: Clause, slot_a: str, slot_b: str, confidence: float, *, bare: bool = False
) -> Finding | None:
    """Two fillers of one slot that exclude each other and stand in the same setting."""
    filler_a, filler_b = filler(a, slot_a), filler(b, slot_b)
    keys_a, keys_b = {t.key for t in filler_a}, {t.key for t in filler_b}
    fresh = a.fresh or b.fresh
    if not rival(filler_a, filler_b, fresh=fresh, bare=bare):
        return None
    if not same_kind(filler_a, filler_b, a.predicate):
        return None
    rest_a, rest_b = plain_keys(a) - keys_a, plain_keys(b) - keys_b
    scopes = (a.complement_keys ^ b.complement_keys) & SCOPES
    objects_a, objects_b = ({t.key for t in c.complement if not t.slot} for c in (a, b))
    if (rest_a - rest_b and rest_b - rest_a) or scopes or (slot_a and objects_a != objects_b):
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
