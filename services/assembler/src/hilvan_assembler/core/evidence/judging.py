"""Two statements → the conflict between them, if the rules find one."""

from collections.abc import Callable

from hilvan_assembler.core.evidence import changes, rules
from hilvan_assembler.core.evidence.model import Clause, Finding, Mood, Statement
from hilvan_assembler.model import Conflict

Rule = Callable[[Clause, Clause], Finding | None]

_DIRECTED: tuple[Rule, ...] = (
    changes.denied,
    changes.replaced,
    changes.moved,
    changes.left,
    changes.ended,
)
_MUTUAL: tuple[Rule, ...] = (
    rules.changed_value,
    rules.exclusive_words,
    rules.functional_object,
    rules.slot_noun,
    rules.fresh_choice,
)


def judge(older: Statement, newer: Statement) -> Conflict | None:
    """Whether both can't hold now, and by what evidence. Never raises.

    A conflict is found for (a, b) exactly when one is found for (b, a): which side wins is the
    caller's decision by time, not a question of meaning.
    """
    for mine in older.clauses:
        for theirs in newer.clauses:
            if conflict := _judge(mine, theirs):
                return None if older.words == newer.words else conflict
    return None


def _judge(older: Clause, newer: Clause) -> Conflict | None:
    if older.mood is not Mood.PRESENT or newer.mood is not Mood.PRESENT:
        return None
    for rule in _DIRECTED:
        if found := rule(older, newer):
            return _conflict(found, older, newer)
        if found := rule(newer, older):
            flipped = Finding(found.kind, found.second, found.first, found.confidence)
            return _conflict(flipped, older, newer)
    for rule in _MUTUAL:
        if found := rule(older, newer):
            return _conflict(found, older, newer)
    return None


def _conflict(found: Finding, older: Clause, newer: Clause) -> Conflict:
    return Conflict(found.kind, older.span(found.first), newer.span(found.second), found.confidence)
