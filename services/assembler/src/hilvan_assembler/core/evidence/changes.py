"""Rules in which one clause says that what the other one says is not so, or no longer.

Each is directed: ``judging`` tries both ways, so that a conflict is found whichever is newer.
"""

from hilvan_assembler.core.evidence.classes import MULTI_VALUED, NAME_CLASS
from hilvan_assembler.core.evidence.frames import first_slot, numbered, same_subject
from hilvan_assembler.core.evidence.model import Change, Clause, Finding
from hilvan_assembler.model.kind import EvidenceKind

_MAX_DETAIL = 3
"""Words that an assertion may have beyond its denial and still be denied by it."""

_MIN_WORDS = 2
"""A denial of fewer words ("not yet") has lost what it denies."""

_LOCATIVE = frozenset({"be", "live", "store", "host", "deploy", "run", "sit", "base", "write"})
_PLACES = frozenset({"in", "at", "on", "en"})
_STANCES = frozenset({"like", "prefer", "want", "know", "speak"})
_HABITS = frozenset({"eat", "drink", "take", "smoke", "play", "learn", "study", "practice"})
_MEMBERSHIPS = frozenset({"work", "be", "study", "live", "belong", "attend", "rent", "go"})
_HOMES = frozenset({"home", "floor"})  # Spanish "piso" is a flat as well as a floor
_RUNNING = frozenset({"active", "run", "avail", "live", "dispon"})


def denied(neg: Clause, pos: Clause) -> Finding | None:
    """Polarity: what one side denies, the other asserts, perhaps with more detail.

    The denial may be no narrower than the assertion: "no coffee at night" leaves "likes coffee".
    """
    if not neg.negative or len(neg.keys) < _MIN_WORDS or _beyond(neg, pos):
        return None
    extra = _beyond(pos, neg) - {t.key for t in pos.complement if t.aside}
    if len(extra) > _MAX_DETAIL or (extra and not _same_start(pos, neg)):
        return None
    kind = EvidenceKind.STATE_CHANGE if neg.ceased else EvidenceKind.POLARITY
    return Finding(kind, (), (), 0.9 if neg.ceased or not extra else 0.8)


def _same_start(a: Clause, b: Clause) -> bool:
    """The same subject; where the verb of one is unknown, the same first word instead."""
    if a.predicate and b.predicate:
        return same_subject(a, b)
    one, other = ((*clause.subject, *clause.complement) for clause in (a, b))
    return one[0].key == other[0].key


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
    if (
        told is None
        or told.left
        or told.given
        or not told.before
        or not told.before <= state.complement_keys
    ):
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

    Same kind is the same noun with another number or other words about it ("the basic plan"), names
    of one class (two chat tools), or, for one subject, any two names of places.
    """
    told = change.change
    if told is None or not told.after or not _holds(state):
        return None
    if not change.subject_keys <= state.subject_keys:
        return None
    same = same_subject(change, state)
    if _renumbered(change, state) or (same and _renamed(told, state)):
        return _move(change, state, told.after)
    if told.after & state.keys:
        return None
    classes = {NAME_CLASS.get(key) for key in told.after} - {None}
    same_class = any(NAME_CLASS.get(key) in classes for key in state.complement_keys)
    named = state.predicate == "be" and all(t.named for t in state.complement)
    exchanged = told.exchanged and same and named and _bare(state) and not _bare(change)
    found = (same_class and same) or exchanged or _relocated(change, state, told.after)
    return _move(change, state, told.after) if found else None


def _bare(clause: Clause) -> bool:
    """Whether the complement begins with an object: "is blue", "switched her editor"."""
    return first_slot(clause) == ""


def _renumbered(change: Clause, state: Clause) -> bool:
    """Whether both give another number to one noun ("room 12", "room 40")."""
    mine, theirs = numbered(change), numbered(state)
    return any(mine[noun].differs(theirs[noun]) for noun in mine.keys() & theirs.keys())


def _renamed(told: Change, state: Clause) -> bool:
    """Whether both say other words about one noun ("the basic plan", "the advanced plan")."""
    for noun in state.complement:
        if noun.key in told.after and not noun.value and not noun.aside:
            phrase = {t.key for t in state.complement if t.slot == noun.slot and not t.aside}
            return bool(phrase - told.after and told.after - phrase)
    return False


def _relocated(change: Clause, state: Clause, after: frozenset[str]) -> bool:
    """Whether one subject is somewhere else now: two names of places, or another home."""
    topic = _topic(change)
    if state.predicate not in _LOCATIVE or not topic or topic != _topic(state):
        return False
    if state.predicate == "live" and after & _HOMES:
        return True
    places = tuple(t for t in state.complement if t.slot in _PLACES and not t.aside)
    goals = tuple(t for t in change.complement if t.key in after)
    return bool(places) and all(t.named and not t.value for t in places + goals)


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


def left(change: Clause, state: Clause) -> Finding | None:
    """State change: "left Acme" against "works at Acme", "sold the Corolla" against "drives" it."""
    told = change.change
    if told is None or not told.before or not same_subject(change, state):
        return None
    if state.negative or state.change or state.predicate in _STANCES:
        return None
    habit = state.predicate in _HABITS
    before = told.before
    if state.predicate in before:  # "gave up studying for the exam"
        before = change.complement_keys - {state.predicate}
    if not before or not before <= state.complement_keys:
        return None
    if told.left:
        member = state.predicate in _MEMBERSHIPS and not any(
            t.value and t.value.kind == "time" for t in change.complement
        )  # "left the bakery at noon" is no farewell
        given_up = habit and change.complement_keys == before  # "quit piano", not "left it here"
        return Finding(EvidenceKind.STATE_CHANGE, (), (), 0.85) if member or given_up else None
    certain = habit or len(before) > 1 or any(t.named for t in change.complement)
    return Finding(EvidenceKind.STATE_CHANGE, (), (), 0.8) if told.given and certain else None


def dropped(neg: Clause, state: Clause) -> Finding | None:
    """State change: "no longer uses MySQL" against "stores its orders in MySQL"."""
    if not (neg.negative and neg.ceased) or neg.predicate != "use" or not _holds(state):
        return None
    used = {t.key for t in neg.complement}
    if not any(t.named for t in neg.complement) or not used <= state.complement_keys:
        return None
    return Finding(EvidenceKind.STATE_CHANGE, (), (), 0.85) if same_subject(neg, state) else None


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
