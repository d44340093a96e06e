"""What the record must hold: every acknowledged write exactly, and each unanswered one or not.

A lane writes entries of its own, one call at a time, so each entry's state is known: after a kill
the one call that was not answered is wholly there or wholly not, and nothing else has changed.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc

from hilvan.common.v1.entry_pb2 import Entry

KEPT_EVENTS = 40
ADDED = ""
"""The id, in `Operation.after`, of an entry that the server names."""

State = Mapping[str, Entry | None]
"""Entries by id; None: there is none."""


class Violation(Exception):
    """What must hold does not; the message ends with the history of the entries."""


@dataclass(eq=False, slots=True)
class Operation:
    """A call that changes entries, with what it finds and what it may leave.

    Attributes:
        afters: what it may leave, the likely one first.
        loose: fields whose value only the server knows.
        text: what an entry that the server names is known by.
        refusal: what it must fail with; then it changes nothing.
        applied: what the record showed after a kill; None: not known yet.
    """

    name: str
    method: str
    request: Any
    before: State
    afters: Sequence[State]
    loose: frozenset[str] = frozenset()
    text: str = ""
    refusal: grpc.StatusCode | None = None
    applied: bool | None = None
    seen: State = field(default_factory=dict)
    was_sent: bool = False
    was_repeated: bool = False
    while_rebuilding: bool = False

    @property
    def ids(self) -> set[str]:
        """Every entry that it touches by a known id."""
        return {name for state in (self.before, *self.afters) for name in state} - {ADDED}


class World:
    """All that was acknowledged of one tenant, and what is not answered yet."""

    def __init__(self) -> None:
        """Begin with no entries."""
        self.truth: dict[str, Entry] = {}
        self.former: dict[str, str] = {}
        """The last text of entries that were deleted."""
        self.unseen: dict[str, frozenset[str]] = {}
        """Fields that the server set in an answered call, and that nobody has read yet."""
        self.rebuilding = False
        """Whether an index that answers may lack entries: it was lost, or switched to."""
        self.pending: list[Operation] = []
        self.counts: Counter[str] = Counter()
        self.moment = "start"
        self._history: defaultdict[str, deque[str]] = defaultdict(lambda: deque(maxlen=KEPT_EVENTS))

    def issue(self, operation: Operation) -> None:
        """Note that a call is sent, for the first time or again."""
        if operation.was_sent:
            self.counts["replays"] += 1
            operation.was_repeated = True
            self.note(operation, "sent again")
        else:
            operation.was_sent = True
            self.pending.append(operation)
            self.note(operation, "sent")
        operation.while_rebuilding |= self.rebuilding

    def acknowledge(self, operation: Operation, entry: Entry | None = None) -> None:
        """Take over what an answer says. Raises Violation when it can't be so."""
        self.pending.remove(operation)
        self.counts["acknowledged"] += 1
        self.note(operation, f"acknowledged{f' v{entry.etag}' if entry else ''}")
        if entry is not None and operation.applied and operation.seen.get(entry.id) != entry:
            told = f"{operation.name} was there, and its replay answers otherwise"
            raise self.violation(told, operation.ids | {entry.id}, operation.seen, entry)
        left = self._left(operation, entry)
        for name, now in left.items():
            if now is None:
                old = self.truth.pop(name, None)
                self.former[name] = old.text if old else ""
                self.unseen.pop(name, None)
                continue
            self.truth[name] = now
            self.former.pop(name, None)
            if entry is None:
                self.unseen[name] = self.unseen.get(name, frozenset()) | operation.loose
            elif entry.id == name:
                self.unseen.pop(name, None)

    def refused(self, operation: Operation, code: grpc.StatusCode, details: str) -> None:
        """Take over that a call was refused. Raises Violation unless it had to be."""
        self.pending.remove(operation)
        self.note(operation, f"refused: {code.name}")
        if code is not operation.refusal:
            raise self.violation(f"{operation.name} fails: {code.name} {details}", operation.ids)

    def verify(self, found: Iterable[Entry]) -> None:
        """Compare the whole record. Raises Violation."""
        actual: dict[str, Entry] = {}
        for each in found:
            if each.id in actual:
                raise self.violation("an entry is there twice", {each.id}, each)
            actual[each.id] = each
        touched: set[str] = set()
        for operation in self.pending:
            touched |= self._judge(operation, actual)
        for name in (self.truth.keys() | actual.keys()) - touched:
            expected, now = self.truth.get(name), actual.get(name)
            if not self._agree(expected, now, frozenset()):
                told = "acknowledged and not there so" if expected else "there, but nobody wrote it"
                raise self.violation(told, {name}, expected, now)
            if now is not None:
                self.truth[name] = now
                self.unseen.pop(name, None)
        self.counts["verified entries"] += len(actual)

    def note(self, operation: Operation, event: str) -> None:
        """Remember an event of the entries of a call."""
        request_id = getattr(operation.request, "request_id", "")
        for name in operation.ids:
            self._history[name].append(f"{self.moment}: {operation.name} {request_id} {event}")

    def violation(self, what: str, ids: Iterable[str], *shown: object) -> Violation:
        """Make the error that tells all that is known of the entries."""
        events = [f"  {name}: {event}" for name in sorted(ids) for event in self._history[name]]
        return Violation("\n".join([f"{self.moment}: {what}", *map(str, shown), *events]))

    def _left(self, operation: Operation, entry: Entry | None) -> State:
        """What an answered call has left, with what only the answer knows."""
        for after in operation.afters:
            if entry is None:
                return after
            key = entry.id if entry.id in after else ADDED
            wanted = after.get(key)
            if wanted is not None and key == ADDED:
                wanted = named(wanted, entry.id)
            if self._agree(wanted, entry, operation.loose):
                return {
                    **{name: each for name, each in after.items() if name != key},
                    entry.id: entry,
                }
        raise self.violation(
            f"{operation.name} answers otherwise", operation.ids, *operation.afters, entry
        )

    def _judge(self, operation: Operation, actual: Mapping[str, Entry]) -> set[str]:
        """Whether an unanswered call is wholly there or wholly not; the entries it touches."""
        added = [
            each
            for each in actual.values()
            if operation.text and each.text == operation.text and each.id not in self.truth
        ]
        if len(added) > 1:
            raise self.violation("one call made two entries", operation.ids, *added)
        ids = operation.ids | {each.id for each in added}
        seen = {name: actual.get(name) for name in ids}
        was = {**dict.fromkeys(ids), **operation.before}
        is_before = all(self._agree(was[name], seen[name], frozenset()) for name in ids)
        is_after = any(
            self._all_agree(expected(after, added), seen, operation) for after in operation.afters
        )
        if not is_before and not is_after:
            told = f"{operation.name} is neither there nor not"
            raise self.violation(told, ids, seen, *operation.afters)
        if operation.applied and not is_after:
            raise self.violation(f"{operation.name} was there and is gone", ids, seen)
        operation.applied = None if is_before and is_after else is_after
        operation.seen = seen
        self.counts["applied unanswered" if operation.applied else "not applied"] += 1
        self.note(operation, f"unanswered, applied: {operation.applied}")
        return ids

    def _all_agree(self, after: State, seen: State, operation: Operation) -> bool:
        ids = after.keys() | seen.keys()
        return all(self._agree(after.get(each), seen.get(each), operation.loose) for each in ids)

    def _agree(self, wanted: Entry | None, now: Entry | None, loose: frozenset[str]) -> bool:
        if wanted is None or now is None:
            return wanted is now
        loose |= self.unseen.get(now.id, frozenset())
        return bare(wanted, loose) == bare(now, loose)


def expected(after: State, added: Sequence[Entry]) -> State:
    """What a call leaves, with the name that the server gave."""
    if ADDED not in after:
        return after
    template = after[ADDED]
    assert template is not None
    rest = {name: each for name, each in after.items() if name != ADDED}
    return rest | {each.id: named(template, each.id) for each in added or [template]}


def named(template: Entry, name: str) -> Entry:
    """The entry under an id."""
    made = copied(template)
    made.id = name
    return made


def copied(entry: Entry) -> Entry:
    """A copy to change."""
    made = Entry()
    made.CopyFrom(entry)
    return made


def bare(entry: Entry, loose: frozenset[str]) -> Entry:
    """The entry without some of its fields."""
    if not loose:
        return entry
    made = copied(entry)
    for name in loose:
        made.ClearField(name)  # type: ignore[arg-type]  # names of fields
    return made
