"""`hilvan doctor --indexes`: whether the indexes have what the record has; `--repair` mends it."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from hilvan_client.cli import index_views
from hilvan_client.cli.doctor_checks import Finding
from hilvan_client.cli.progress import Update
from hilvan_client.errors import HilvanError, PermissionDenied

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp

    from hilvan.retrieval.v1.retrieval_service_pb2 import GetIndexStateResponse, IndexDifference
    from hilvan_client import Hilvan

_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Compared:
    """How an index differs from the record; ``asked`` False: its engine did not always answer."""

    index: str
    asked: bool = True
    missing: int = 0
    stale: int = 0
    ghosts: int = 0
    parked: int = 0

    @property
    def differs(self) -> bool:
        """Whether anything is otherwise than in the record."""
        return bool(self.missing or self.stale or self.ghosts or self.parked)

    @property
    def counts(self) -> str:
        """The differences in words."""
        return (
            f"{self.missing} missing, {self.stale} stale, {self.ghosts} ghosts,"
            f" {self.parked} parked"
        )

    def plus(self, other: "IndexDifference") -> "Compared":
        """With what differs in one more part of the record."""
        return replace(
            self,
            missing=self.missing + other.missing_count,
            stale=self.stale + other.stale_count,
            ghosts=self.ghosts + other.ghost_count,
            parked=self.parked + other.parked_count,
        )


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found; ``before`` is what a repair met, ``pending`` what it could not wait for."""

    findings: tuple[Finding, ...]
    entries: int = 0
    indexes: tuple[Compared, ...] = ()
    before: tuple[Compared, ...] = ()
    pending: int = 0

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "entries": self.entries,
            "indexes": [asdict(each) for each in self.indexes],
            "repaired": [asdict(each) for each in self.before],
            "pending": self.pending,
        }


async def examine(hilvan: "Hilvan", *, repair: bool, wait: float, update: Update) -> Examined:
    """Compare; to repair, announce what differs, wait so many seconds, and compare once more."""
    try:
        entries, found = await _compare(hilvan, update, repair=repair)
        if not repair:
            return Examined(tuple(map(_finding, found)), entries, found)
        pending = await _worked_off(hilvan, wait, update)
        entries, after = await _compare(hilvan, update, repair=False)
    except HilvanError as error:
        advice = "see retrieval's log"
        if isinstance(error, PermissionDenied):
            advice = "use a key of role service (in development mode: no --user)"
        return Examined((Finding("indexes compared", ok=False, seen=str(error), advice=advice),))
    findings = (_repaired(found, pending, wait), *map(_finding, after))
    return Examined(findings, entries, after, found, pending)


async def _compare(
    hilvan: "Hilvan", update: Update, *, repair: bool
) -> tuple[int, tuple[Compared, ...]]:
    from hilvan.retrieval.v1.retrieval_service_pb2 import CheckIndexesRequest

    state = await _state(hilvan)
    found = {
        (each.source, each.generation): Compared(index_views.index_name(each))
        for each in state.indexes
    }
    entries, silent = 0, set()
    async for part in hilvan.retrieval.CheckIndexes(CheckIndexesRequest(repair=repair)):
        entries += part.entry_count
        silent |= set(part.unavailable_sources)
        for difference in part.differences:
            key = (difference.source, difference.generation)
            name = f"{index_views.source_name(difference.source)}.{difference.generation}"
            found[key] = found.get(key, Compared(name)).plus(difference)
        update("comparing", part.checked_share, f"{entries} entries")
    return entries, tuple(
        replace(each, asked=source not in silent) for (source, _), each in found.items()
    )


async def _worked_off(hilvan: "Hilvan", wait: float, update: Update) -> int:
    """Wait until what is pending now is done; how much is not, after ``wait`` seconds."""
    import asyncio

    end = time.monotonic() + wait
    state = await _state(hilvan)
    mark, first = state.read_time, _pending(state, state.read_time)
    while (left := _pending(state, mark)) and time.monotonic() < end:
        update("repairing", 1 - left / max(first, left), f"{left} pending")
        await asyncio.sleep(_POLL_SECONDS)
        state = await _state(hilvan)
    return left


async def _state(hilvan: "Hilvan") -> "GetIndexStateResponse":
    from hilvan.retrieval.v1.retrieval_service_pb2 import GetIndexStateRequest

    return await hilvan.retrieval.GetIndexState(GetIndexStateRequest())


def _pending(state: "GetIndexStateResponse", mark: "Timestamp") -> int:
    """Writes of indexes that have some from before the mark: others come in all the time."""
    return sum(
        each.pending_count
        for each in state.indexes
        if each.oldest_pending_time.ToNanoseconds() <= mark.ToNanoseconds()
    )


def _finding(compared: Compared) -> Finding:
    name = f"{compared.index} as the record"
    if not compared.asked:
        seen = f"it could not be asked throughout; {compared.counts}"
        return Finding(name, ok=False, seen=seen, advice="see that its engine runs, and try again")
    if compared.differs:
        advice = "`hilvan doctor --repair` writes them again"
        return Finding(name, ok=False, seen=compared.counts, advice=advice)
    return Finding(name, ok=True, seen="the same")


def _repaired(found: Sequence[Compared], pending: int, wait: float) -> Finding:
    differing = [f"{each.index}: {each.counts}" for each in found if each.differs]
    seen = "; ".join(differing) or "nothing differed"
    if not pending:
        return Finding("repair", ok=True, seen=seen)
    seen += f"; {pending} writes still wait after {wait:g} s"
    return Finding("repair", ok=False, seen=seen, advice="try again later, or with a longer --wait")
