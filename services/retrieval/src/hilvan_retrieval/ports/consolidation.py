"""What a consolidation reads and writes. Each sentence here is a test of the contract suite."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from hilvan_retrieval.model.consolidation import Action, Run, RunState, Step, UndoOutcome
from hilvan_retrieval.model.contradiction import FoundContradiction, RecordedContradiction
from hilvan_retrieval.model.entry import (
    Entry,
    Layer,
    Owner,
    Uid,
)


class ConsolidationInput(Protocol):
    """What a consolidation reads. Everything is of one tenant."""

    async def groups(self, tenant: str) -> list[tuple[Owner, Layer]]:
        """Whose entries there are, and of which layers; by owner, then layer."""

    async def members(self, tenant: str, owner: Owner, layer: Layer, limit: int) -> list[Uid]:
        """The entries of a group by falling update time, then id, at most ``limit``."""

    async def ended(self, tenant: str, before: datetime, after_id: str, limit: int) -> list[Entry]:
        """Entries whose validity ended, or that were replaced, before a moment; by id.

        Those with a greater id than ``after_id``, at most ``limit``. Passages of notes, and
        entries that were updated or consolidated since that moment, are left out.
        """

    async def unconfirmed(
        self, tenant: str, before: datetime, above: float, after_id: str, limit: int
    ) -> list[Entry]:
        """Memories and procedures of a confidence above a floor, untouched since a moment; by id.

        Untouched: neither updated nor accessed nor consolidated. Paged as `ended`.
        """

    async def record_conflicts(
        self,
        tenant: str,
        conflicts: Sequence[FoundContradiction],
        owners: frozenset[str] | None,
        time: datetime,
    ) -> int:
        """Keep conflicts with the contents that both entries have now; how many there were.

        Only pairs of different entries, both live at ``time``, of one of these owners (None: of
        any) and of the same one. A pair that is kept already is counted once more; with other
        contents it counts from one again.
        """

    async def conflicts(
        self, tenant: str, after: tuple[str, str], limit: int
    ) -> list[RecordedContradiction]:
        """Kept conflicts by (older id, newer id), behind ``after``, at most ``limit``."""

    async def forget_conflicts(
        self, tenant: str, conflicts: Sequence[RecordedContradiction]
    ) -> None:
        """Remove conflicts, unless they were kept again with other contents meanwhile."""


class ConsolidationJournal(Protocol):
    """What consolidations did, each step written in the transaction of its change."""

    def hold(self, tenant: str) -> AbstractAsyncContextManager[bool]:
        """Keep every other consolidation of the tenant out, of any replica; False: there is one.

        Nothing outlives the holder. Raises SourceUnavailable on leaving when the hold was lost.
        """

    async def running(self, tenant: str) -> Run | None:
        """The run that was begun and not finished."""

    async def begin(self, tenant: str, time: datetime) -> Run:
        """The run that was begun and not finished, else a new one of this moment."""

    async def advance(self, run: Run, position: str) -> None:
        """Note how far the run is."""

    async def finish(self, run: Run, state: RunState, time: datetime) -> None:
        """End the run; one that ended before keeps the time of its end."""

    async def take_steps(
        self, run: Run, ids: Sequence[str], decide: Callable[[Mapping[str, Entry]], Sequence[Step]]
    ) -> list[Step]:
        """Change the record and write the journal in one transaction; the steps, numbered.

        ``decide`` is pure, gets the current entries of ``ids`` and may be called again; where two
        steps touch an entry, the later one begins where the earlier one ended. Steps go on
        numbering those of their run. The indexes hear of all entries but the decayed.
        """

    async def runs(self, tenant: str, limit: int, before: Run | None = None) -> list[Run]:
        """Runs by falling time of beginning, then id, at most ``limit``, behind ``before``."""

    async def run(self, tenant: str, run_id: str) -> Run | None:
        """One run of the tenant."""

    async def steps(self, run: Run, below: int | None, limit: int) -> list[Step]:
        """Steps of a run by falling number, from below a number, at most ``limit``."""

    async def undo(
        self,
        run: Run,
        number: int,
        restore: Callable[[Step, Mapping[str, Entry]], Sequence[Entry] | None],
        time: datetime,
        *,
        decline: bool,
    ) -> UndoOutcome:
        """Put back what a step changed and mark it, in one transaction.

        ``restore`` is pure and tells the entries to put back, or None when they have changed
        since. A step that is undone already, or that there is not, stays as it is. The images of
        an undone step are forgotten. With ``decline`` the step is kept in mind, see `declined`.
        """

    async def declined(self, tenant: str) -> frozenset[tuple[Action, str, str]]:
        """What is not to be proposed again: action, entry and other entry of declined steps."""

    async def purge(self, tenant: str, before: datetime) -> None:
        """Forget runs that ended before a moment, and their steps; declined ones stay in mind."""
