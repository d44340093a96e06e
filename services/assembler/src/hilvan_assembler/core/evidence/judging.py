"""Two statements → the conflict between them, if the rules find one."""

from collections.abc import Callable

from hilvan_assembler.core.evidence import changes, rules
from hilvan_assembler.core.evidence.frames import same_frame
from hilvan_assembler.core.evidence.model import Clause, Finding, Statement
from hilvan_assembler.model.contradiction import Contradiction

Rule = Callable[[Clause, Clause], Finding | None]

_DENIALS: tuple[Rule, ...] = (changes.denied, changes.dropped)
"""Rules of which one side denies and the other asserts."""

_CHANGES: tuple[Rule, ...] = (changes.replaced, changes.moved, changes.left, changes.ended)
"""Rules of which one side tells a change."""

_MUTUAL: tuple[Rule, ...] = (
    rules.changed_value,
    rules.exclusive_words,
    rules.functional_object,
    rules.slot_noun,
    rules.fresh_choice,
)
"""Rules of two clauses with one frame (`same_frame`)."""


def judge(older: Statement, newer: Statement) -> Contradiction | None:
    """Whether both can't hold now, and by what evidence. Never raises.

    A conflict is found for (a, b) exactly when one is found for (b, a): which side wins is the
    caller's decision by time, not a question of meaning.
    """
    for mine in older.clauses:
        for theirs in newer.clauses:
            if conflict := _judge(mine, theirs):
                return None if older.words == newer.words else conflict
    return None


def _judge(older: Clause, newer: Clause) -> Contradiction | None:
    if _strangers(older, newer):
        return None
    if older.negative is not newer.negative and (found := _either_way(_DENIALS, older, newer)):
        return found
    if (older.change or newer.change) and (found := _either_way(_CHANGES, older, newer)):
        return found
    if same_frame(older, newer):
        for rule in _MUTUAL:
            if told := rule(older, newer):
                return _conflict(told, older, newer)
    return None


def _strangers(older: Clause, newer: Clause) -> bool:
    """Whether both share no word and tell no change: no rule finds anything then."""
    return (
        older.keys.isdisjoint(newer.keys)
        and older.subject_folds.isdisjoint(newer.subject_folds)
        and not (older.change or newer.change)
    )


def _either_way(directed: tuple[Rule, ...], older: Clause, newer: Clause) -> Contradiction | None:
    for rule in directed:
        if found := rule(older, newer):
            return _conflict(found, older, newer)
        if found := rule(newer, older):
            flipped = Finding(found.kind, found.second, found.first, found.confidence)
            return _conflict(flipped, older, newer)
    return None


def _conflict(found: Finding, older: Clause, newer: Clause) -> Contradiction:
    return Contradiction(
        found.kind, older.span(found.first), newer.span(found.second), found.confidence
    )
