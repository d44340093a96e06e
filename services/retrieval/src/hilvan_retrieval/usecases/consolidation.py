"""The job that keeps a tenant's record small and true; see docs/decisions/consolidation.md.

It proposes from what it reads and lets the record decide on each proposal, so it can be cut at
any point: whoever comes next proposes what is left.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from hilvan_retrieval.core import consolidation as core
from hilvan_retrieval.core.consolidation import Rules
from hilvan_retrieval.core.duplicate import MERGED_LAYERS, Sketch, sketch, twins
from hilvan_retrieval.errors import ConsolidationNotFound, ConsolidationRunning
from hilvan_retrieval.model.consolidation import Action, Proposal, Run, RunState, Step, UndoOutcome
from hilvan_retrieval.model.contradiction import FoundContradiction, RecordedContradiction
from hilvan_retrieval.model.embedding import EmbeddingModel, Vector
from hilvan_retrieval.model.entry import Entry, Layer, Owner, Stored
from hilvan_retrieval.ports.consolidation import ConsolidationInput, ConsolidationJournal
from hilvan_retrieval.ports.entry import EntryStore
from hilvan_retrieval.usecases.pace import Pace

COMPARED_ENTRIES = 20_000
"""Of an owner and layer the newest; older ones are compared when these have become fewer."""

READ_BATCH = 200
STEP_BATCH = 50
"""Steps of one transaction: some 10 ms in which nobody else writes."""

DEFAULT_RULES = Rules()


@dataclass(frozen=True, slots=True)
class Undone:
    """What came of undoing one step."""

    step: Step
    outcome: UndoOutcome


@dataclass(frozen=True, slots=True)
class _Batch:
    """Proposals to decide on at once; then the run is at ``position``, if there is one."""

    proposals: Sequence[Proposal] = ()
    settled: Sequence[RecordedContradiction] = ()
    position: str = ""


@dataclass(frozen=True, slots=True)
class _Task:
    """One call: its run (none of a dry run), the moment and the rules that it decides by.

    ``seen`` is what a dry run would have changed.
    """

    tenant: str
    run: Run | None
    position: str
    now: datetime
    rules: Rules
    declined: frozenset[tuple[Action, str, str]]
    seen: dict[str, Entry] = field(default_factory=dict)


class Consolidator:
    """Merges duplicates, retires the contradicted, expires, lowers what nobody confirms."""

    def __init__(
        self,
        store: EntryStore,
        findings: ConsolidationInput,
        journal: ConsolidationJournal,
        model: Callable[[], EmbeddingModel],
        notice: Callable[[], None],
        pace: Pace | None = None,
    ) -> None:
        """``model`` made the live vectors; ``notice`` is told when the outbox has new rows."""
        self._store = store
        self._findings = findings
        self._journal = journal
        self._model = model
        self._notice = notice
        self._pace = pace or Pace()

    async def consolidate(
        self, tenant: str, now: datetime, *, rules: Rules = DEFAULT_RULES
    ) -> AsyncGenerator[tuple[Run, list[Step]], None]:
        """Do what is to be done, or the rest of a run that was cut; steps when they are done.

        Steps of one transaction come together. Close the generator to stop.
        Raises ConsolidationRunning, SourceError.
        """
        started = time.monotonic()
        async with self._alone(tenant):
            await self._journal.purge(tenant, now - rules.journal)
            run = await self._journal.begin(tenant, now)
            declined = await self._journal.declined(tenant)
            task = _Task(tenant, run, run.position, run.begin_time, rules, declined)
            async for batch in self._batches(task):
                if steps := await self._pace(self._decide(task, batch)):
                    yield run, steps
                await self._pace(self._settle(run, batch))
            took = timedelta(seconds=time.monotonic() - started)
            await self._journal.finish(run, RunState.DONE, now + took)

    async def preview(
        self, tenant: str, now: datetime, *, rules: Rules = DEFAULT_RULES
    ) -> AsyncGenerator[list[Step], None]:
        """The steps that `consolidate` would take now; changes nothing."""
        cut = await self._journal.running(tenant)
        at, position = (cut.begin_time, cut.position) if cut else (now, "")
        declined = await self._journal.declined(tenant)
        task = _Task(tenant, None, position, at, rules, declined)
        async for batch in self._batches(task):
            if steps := await self._pace(self._decide(task, batch)):
                yield steps

    async def undo(
        self, tenant: str, run_id: str, now: datetime, numbers: Sequence[int] = ()
    ) -> AsyncGenerator[Undone, None]:
        """Take steps of a run back, the last one first; without numbers, all of them.

        Single steps that are taken back are not done again by later runs. A whole run that was
        cut does not go on. Raises ConsolidationNotFound, ConsolidationRunning, SourceError.
        """
        async with self._alone(tenant):
            run = await self._journal.run(tenant, run_id)
            if run is None:
                raise ConsolidationNotFound(run_id)
            chosen, below = frozenset(numbers), max(numbers) + 1 if numbers else None
            while steps := await self._journal.steps(run, below, STEP_BATCH):
                below = steps[-1].number
                for step in steps:
                    if step.undo_time is None and (not chosen or step.number in chosen):
                        yield await self._pace(self._undo(run, step, now, decline=bool(chosen)))
                if chosen and below <= min(chosen):
                    break
            if not chosen:
                await self._journal.finish(run, RunState.UNDONE, now)

    async def note_conflicts(
        self,
        tenant: str,
        conflicts: Sequence[FoundContradiction],
        owners: frozenset[str] | None,
        now: datetime,
    ) -> int:
        """Keep what was found to contradict each other, of these owners; how many there were."""
        return await self._findings.record_conflicts(tenant, conflicts, owners, now)

    async def runs(self, tenant: str, size: int, after_id: str) -> tuple[list[Run], str]:
        """A page of runs, newest first, and the id of its last one when there are more."""
        before = await self._journal.run(tenant, after_id) if after_id else None
        found = await self._journal.runs(tenant, size + 1, before)
        return found[:size], found[size - 1].id if len(found) > size else ""

    @asynccontextmanager
    async def _alone(self, tenant: str) -> AsyncIterator[None]:
        async with self._journal.hold(tenant) as is_mine:
            if not is_mine:
                raise ConsolidationRunning(tenant)
            yield

    async def _undo(self, run: Run, step: Step, now: datetime, *, decline: bool) -> Undone:
        outcome = await self._journal.undo(run, step.number, core.restored, now, decline=decline)
        self._notice()
        return Undone(step, outcome)

    async def _decide(self, task: _Task, batch: _Batch) -> list[Step]:
        """What becomes of a batch: in the record, or in mind."""
        wanted = [
            each
            for each in batch.proposals
            if (each.action, each.entry_id, each.other_id) not in task.declined
        ]
        ids = list(dict.fromkeys(name for p in wanted for name in (p.entry_id, p.other_id) if name))
        if not ids:
            return []

        def decide(current: Mapping[str, Entry]) -> list[Step]:
            return core.take_steps(wanted, current, task.rules, task.now)

        if task.run is not None:
            steps = await self._journal.take_steps(task.run, ids, decide)
            self._notice()
            return steps
        current = await self._store.entries(task.tenant, ids)
        steps = decide(current | {name: task.seen[name] for name in ids if name in task.seen})
        # Only what is merged or retired is met again, by what comes after.
        kept = [step for step in steps if step.other_id]
        task.seen.update({each.id: each for step in kept for each in step.after})
        return steps

    async def _settle(self, run: Run, batch: _Batch) -> None:
        await self._findings.forget_conflicts(run.tenant, batch.settled)
        if batch.position:
            await self._journal.advance(run, batch.position)

    async def _batches(self, task: _Task) -> AsyncIterator[_Batch]:
        """All proposals, action by action, from where the run stands."""
        parts = {
            Action.MERGED: self._merges,
            Action.RETIRED: self._retirements,
            Action.EXPIRED: self._expiries,
            Action.DECAYED: self._decays,
        }
        order = list(Action)
        done = task.position.partition("\t")[0]
        for action in order[order.index(Action(done)) if done else 0 :]:
            if task.position != action.value:
                async for batch in parts[action](task):
                    yield batch
                yield _Batch(position=action.value)

    async def _merges(self, task: _Task) -> AsyncIterator[_Batch]:
        done = task.position.split("\t")[1:]
        groups = await self._pace(self._findings.groups(task.tenant))
        for owner, layer in groups:
            if layer not in MERGED_LAYERS or [owner.key, layer.value] <= done:
                continue
            proposals = await self._twins(task, owner, layer)
            for start in range(0, len(proposals), STEP_BATCH):
                yield _Batch(proposals[start : start + STEP_BATCH])
            if proposals:
                yield _Batch(position=f"{Action.MERGED.value}\t{owner.key}\t{layer.value}")

    async def _twins(self, task: _Task, owner: Owner, layer: Layer) -> list[Proposal]:
        """What says the same in a group. Products are made in a thread, a block at a time."""
        model = self._model()
        members = self._findings.members(task.tenant, owner, layer, COMPARED_ENTRIES)
        uids = await self._pace(members)
        sketches: list[Sketch] = []
        vectors: dict[str, Vector] = {}
        for start in range(0, len(uids), READ_BATCH):
            batch = uids[start : start + READ_BATCH]
            stored = await self._pace(self._store.hydrate(task.tenant, batch, model=model.id))
            live = [each for each in stored.values() if core.is_live(each.entry, task.now)]
            sketches += await self._pace(asyncio.to_thread(_sketches, live))
            vectors |= {
                each.entry.id: each.vector.astype(np.float16)
                for each in live
                if each.vector is not None and layer is not Layer.EPISODE
            }
        found: list[Proposal] = []
        blocks = twins(sketches, vectors, model.calibration)
        while (block := await self._pace(asyncio.to_thread(next, blocks, None))) is not None:
            found += block
        return found

    async def _retirements(self, task: _Task) -> AsyncIterator[_Batch]:
        after = ("", "")
        while True:
            page = self._findings.conflicts(task.tenant, after, STEP_BATCH)
            found = await self._pace(page)
            if not found:
                return
            seen = [each for each in found if each.seen_count >= task.rules.sightings]
            yield _Batch([core.retirement(each) for each in seen], settled=seen)
            after = (found[-1].found.older_id, found[-1].found.newer_id)

    async def _expiries(self, task: _Task) -> AsyncIterator[_Batch]:
        before, after = task.now - task.rules.retention, ""
        while True:
            page = self._findings.ended(task.tenant, before, after, STEP_BATCH)
            found = await self._pace(page)
            if not found:
                return
            yield _Batch([core.expiry(each) for each in found])
            after = found[-1].id

    async def _decays(self, task: _Task) -> AsyncIterator[_Batch]:
        rules, after = task.rules, ""
        before = task.now - rules.unconfirmed
        while True:
            page = self._findings.unconfirmed(
                task.tenant, before, rules.least_confidence, after, STEP_BATCH
            )
            found = await self._pace(page)
            if not found:
                return
            yield _Batch([core.decay(each, rules, task.now) for each in found])
            after = found[-1].id


def _sketches(stored: Sequence[Stored]) -> list[Sketch]:
    return [sketch(each.entry) for each in stored]
