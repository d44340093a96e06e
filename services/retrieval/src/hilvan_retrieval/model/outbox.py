"""The outbox: which entries an index is behind on."""

from dataclasses import dataclass

from hilvan_retrieval.model.entry import Uid


@dataclass(frozen=True, slots=True)
class ParkedRow:
    """An entry that an index was given up on until it is written again or repaired."""

    uid: Uid
    tenant: str
    entry_id: str
    attempts: int
    error: str


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One index is behind the record on one entry. A later write of the entry has a later seq."""

    seq: int
    tenant: str
    entry_id: str
    uid: Uid
    attempts: int


@dataclass(frozen=True, slots=True)
class OutboxCounts:
    """Rows of all tenants that wait for an index, and those that were given up until mended.

    ``oldest_us`` is when the oldest of the waiting was written, in microseconds since 1970.
    """

    pending: int
    parked: int
    oldest_us: int | None = None
