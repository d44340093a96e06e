"""Rules in which one clause says that what the other one says is not so, or no longer.

Each is directed: ``judging`` tries both ways, so that a conflict is found whichever is newer.
"""

from hilvan_assembler.core.evidence.classes import MULTI_VALUED, NAME_CLASS
from hilvan_assembler.core.evidence.frames import differing, first_slot, same_subject
from hilvan_assembler.core.evidence.model import Clause, Finding
from hilvan_assembler.model import EvidenceKind

_MAX_DETAIL = 3
"""Words that an assertion may have beyond its denial and still be denied by it."""

_MIN_WORDS = 2
"""A denial of fewer words ("not yet") has lost what it denies."""

_LOCATIVE = frozenset({"be", "live", "store", "host", "deploy", "run", "sit", "base"})
_PLACES = frozenset({"in", "at", "on", "en"})
_RUNNING = frozenset({"active", "run", "avail", "live", "dispon"})


def denied(neg: Clause, pos: Clause) -> Finding | None:
    """Polarity: what one side denies, the other asserts, perhaps with more detail.

    The denial may be no narrower than the assertion: "no coffee at night" leaves "likes coffee".
    """
    if not neg.negative or pos.negative or len(neg.keys) < _MIN_WORDS or _beyond(neg, pos):
        return None
    extra = _beyond(pos, neg)
    if len(extra) > _MAX_DETAIL or (extra and not same_subject(pos, neg)):
        return None
    kind = EvidenceKind.STATE_CHANGE if neg.ceased else EvidenceKind.POLARITY
    return Finding(kind, (), (), 0.9 if neg.ceased or not extra else 0.8)


def _beyond(a: Clause, b: Clause) -> frozenset[str]:
    """What a says and b does not, by concept or, where stems of two languages differ, by word."""
    keys = a.keys - b.keys
    if not keys:
        return keys
    words = {t.fold for t in b.subject + b.complement}
    return keys - {t.key for t in a.subject + a.complement if t.fold in words}


def replaced(change: Clause, state: Clause) -> Finding | None:
    """State change: "switched from A to B" against a statement that A holds."""
    told = change.change
    if told is None or told.left or not told.before or not told.before <= state.complement_keys:
        return None
    if told.after & state.keys or not _holds(state) or not _may_share_subject(change, state):
        return None
    return Finding(
        EvidenceKind.STATE_CHANGE,
        tuple(t for t in change.complement if t.key in told.before | told.after),
        tuple(t for t in state.complement if t.key in told.before),
        0.9,
    )


def moved(change: Clause, state: Clause) -> Finding | None:
    """State change: "moved to room 40" against a statement of another place of the same kind.

    Same kind is the same noun with another number ("room 12", also when the subject says more:
    "Ana's office"), names of one class (two chat tools), or, for one subject, any two names.
    """
    told = change.change
    if told is None or not told.after or not _holds(state):
        return None
    if not change.subject_keys <= state.subject_keys:
        return None
    if told.after & state.keys:
        return _move(change, state, told.after) if _numbered(change, state) else None
    classes = {NAME_CLASS.get(key) for key in told.after} - {None}
    same_class = any(NAME_CLASS.get(key) in classes for key in state.complement_keys)
    places = tuple(t for t in state.complement if t.slot in _PLACES)
    located = (
        state.predicate in _LOCATIVE
        and bool(places)
        and all(t.named for t in places)
        and all(t.named for t in change.complement if t.slot == "to")
        and bool(_topic(change))
        and _topic(change) == _topic(state)
    )
    found = _numbered(change, state) or (same_class and same_subject(change, state)) or located
    return _move(change, state, told.after) if found else None


def _move(change: Clause, state: Clause, after: frozenset[str]) -> Finding:
    return Finding(
        EvidenceKind.STATE_CHANGE,
        tuple(t for t in change.complement if t.key in after),
        tuple(t for t in state.complement if t.slot == first_slot(state)) or state.complement,
        0.8,
    )


def _topic(clause: Clause) -> frozenset[str]:
    """What a clause is about: its subject and its bare object."""
    return clause.subject_keys | {t.key for t in clause.complement if t.slot == ""}


def _numbered(change: Clause, state: Clause) -> bool:
    """Whether both give another number to one noun."""
    nouns = {t.key for t in change.complement if not t.value}
    same = any(t.key in nouns for t in state.complement if not t.value)
    return same and differing(change, state) is not None


def left(change: Clause, state: Clause) -> Finding | None:
    """State change: "left Acme" against "works at Acme"."""
    told = change.change
    if told is None or not told.left or not told.before or state.predicate not in {"work", "be"}:
        return None
    if not told.before <= state.complement_keys or not same_subject(change, state):
        return None
    return Finding(EvidenceKind.STATE_CHANGE, (), (), 0.85)


def ended(change: Clause, state: Clause) -> Finding | None:
    """State change: "was shut down" against "is still in use"."""
    told = change.change
    if told is None or not told.ended or not same_subject(change, state):
        return None
    return Finding(EvidenceKind.STATE_CHANGE, (), (), 0.85) if state.keys & _RUNNING else None


def _holds(state: Clause) -> bool:
    """A lasting state, not a liking, a skill or a change."""
    return (
        not state.negative
        and state.change is None
        and state.predicate not in (MULTI_VALUED - {"have"})
    )


def _may_share_subject(change: Clause, state: Clause) -> bool:
    """An unnamed subject ("we") fits any; named ones must meet somewhere in the other side."""
    return (not change.subject_keys or bool(change.subject_keys & state.keys)) and (
        not state.subject_keys or bool(state.subject_keys & change.keys)
    )
