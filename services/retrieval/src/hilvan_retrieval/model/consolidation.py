"""A consolidation: what it proposes, the steps that it took, and how far it is."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hilvan_retrieval.model.entry import Entry


class Action(StrEnum):
    """What a consolidation does to an entry, in the order in which it does it."""

    MERGED = "merged"
    RETIRED = "retired"
    EXPIRED = "expired"
    DECAYED = "decayed"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a consolidation would do, while the entries' contents are still of these hashes."""

    action: Action
    entry_id: str
    other_id: str = ""
    reason: str = ""
    entry_hash: str = ""
    other_hash: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What a consolidation did: the entries that it touched, as they were and as it left them.

    What is in ``before`` and not in ``after`` left the record. ``number`` counts from 1 in its
    run, 0 of a dry run. An undone step has no images any more.
    """

    action: Action
    entry_id: str
    other_id: str = ""
    reason: str = ""
    before: tuple[Entry, ...] = ()
    after: tuple[Entry, ...] = ()
    number: int = 0
    undo_time: datetime | None = None


class RunState(StrEnum):
    """How far a consolidation is."""

    RUNNING = "running"
    DONE = "done"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class Run:
    """A consolidation of a tenant. ``begin_time`` is the moment that it decides by.

    ``position`` is the last part that it has finished, in words of the use case.
    """

    id: str
    tenant: str
    state: RunState
    begin_time: datetime
    end_time: datetime | None = None
    position: str = ""
    step_count: int = 0


class UndoOutcome(StrEnum):
    """What came of undoing a step."""

    UNDONE = "undone"
    CHANGED_SINCE = "changed_since"
    ALREADY = "already"
