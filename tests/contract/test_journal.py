"""What every record promises about consolidations: the sentences of `ports.Journal`."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from support.retrieval.record import NOW, RECORDS, T0, Record, begin_feeds, entry

from hilvan_retrieval.core.consolidation import restored
from hilvan_retrieval.errors import SourceUnavailable
from hilvan_retrieval.model.consolidation import Action, Run, RunState, Step, UndoOutcome
from hilvan_retrieval.model.entry import Answer, Change, Entry

DAY = timedelta(days=1)


@pytest_asyncio.fixture(params=list(RECORDS))
async def record(request: pytest.FixtureRequest) -> AsyncIterator[Record]:
    """Opens a new record of each kind."""
    async with RECORDS[request.param]() as opened:
        yield opened


async def put(record: Record, *entries: Entry) -> None:
    """Write entries as they are."""
    await record.store.change("acme", [], lambda _: Change(Answer("put"), puts=entries))


async def read(record: Record, *ids: str) -> dict[str, Entry]:
    """Tell what the record has, whatever the versions."""
    found = await record.store.entries("acme", ids)
    return {name: replace(each, version=0) for name, each in found.items()}


def changed(entry: Entry, title: str, action: Action = Action.MERGED) -> Step:
    """Make a step that gives an entry a title."""
    return Step(action, entry.id, "o", title, (entry,), (replace(entry, title=title),))


async def title(record: Record, run: Run, *titles: str, action: Action = Action.MERGED) -> None:
    """Give the entry m1 one title after the other, in one transaction."""

    def decide(current: Mapping[str, Entry]) -> list[Step]:
        here, steps = current["m1"], []
        for each in titles:
            steps.append(changed(here, each, action))
            (here,) = steps[-1].after
        return steps

    await record.journal.take_steps(run, ["m1"], decide)


async def remove(record: Record, run: Run) -> None:
    """Let the entry m1 leave the record."""

    def decide(current: Mapping[str, Entry]) -> list[Step]:
        return [Step(Action.EXPIRED, "m1", before=(current["m1"],))]

    await record.journal.take_steps(run, ["m1"], decide)


async def undo(record: Record, run: Run, number: int, *, decline: bool = False) -> UndoOutcome:
    """Take a step back."""
    return await record.journal.undo(run, number, restored, NOW, decline=decline)


async def test_one_consolidation_a_tenant(record: Record) -> None:
    """Whoever holds a tenant keeps all others out, and lets go at the end; tenants don't mix."""
    async with (
        record.journal.hold("acme") as mine,
        record.journal.hold("acme") as other,
        record.journal.hold("rival") as theirs,
    ):
        assert (mine, other, theirs) == (True, False, True)
    async with record.journal.hold("acme") as mine:
        assert mine


@pytest.mark.parametrize("record", ["postgresql"], indirect=True)
async def test_replicas_keep_each_other_out(record: Record) -> None:
    """Where several processes share a record; of SQLite's file there is one."""
    async with (
        record.replica() as other,
        record.journal.hold("acme") as mine,
        other.journal.hold("acme") as theirs,
    ):
        assert (mine, theirs) == (True, False)


async def test_a_run_that_was_not_finished_goes_on(record: Record) -> None:
    """Whoever begins next, of the tenant, is given it with its position and its moment."""
    assert await record.journal.running("acme") is None
    begun = await record.journal.begin("acme", T0)
    assert begun == Run(begun.id, "acme", RunState.RUNNING, T0)
    await record.journal.advance(begun, "merged")
    async with record.replica() as other:
        assert await other.journal.begin("acme", NOW) == replace(begun, position="merged")
    assert await record.journal.running("acme") == replace(begun, position="merged")
    assert (await record.journal.begin("rival", NOW)).id != begun.id
    await record.journal.finish(begun, RunState.DONE, NOW)
    assert await record.journal.running("acme") is None
    assert (await record.journal.begin("acme", NOW)).begin_time == NOW


async def test_the_time_of_the_end_stays(record: Record) -> None:
    """A run that is undone later ended when it ended."""
    run = await record.journal.begin("acme", T0)
    await record.journal.finish(run, RunState.DONE, T0 + DAY)
    await record.journal.finish(run, RunState.UNDONE, NOW)
    ended = replace(run, state=RunState.UNDONE, end_time=T0 + DAY)
    assert await record.journal.run("acme", run.id) == ended


async def test_runs_come_newest_first(record: Record) -> None:
    """In pages, of the tenant only, with the number of their steps."""
    await put(record, entry())
    begun = []
    for day in (0, 1, 1):
        run = await record.journal.begin("acme", T0 + day * DAY)
        await record.journal.finish(run, RunState.DONE, NOW)
        begun.append(replace(run, state=RunState.DONE, end_time=NOW))
    await title(record, begun[0], "a", "b")
    wanted = [*sorted(begun[1:], key=lambda run: run.id), replace(begun[0], step_count=2)]
    assert await record.journal.runs("acme", 10) == wanted
    assert await record.journal.runs("acme", 1) == wanted[:1]
    assert await record.journal.runs("acme", 1, wanted[0]) == wanted[1:2]
    assert await record.journal.runs("acme", 10, wanted[1]) == wanted[2:]
    assert await record.journal.runs("rival", 10) == []


async def test_a_run_is_found_by_its_tenant(record: Record) -> None:
    """Another tenant's is not there, and neither is an unknown one."""
    run = await record.journal.begin("acme", T0)
    assert await record.journal.run("acme", run.id) == run
    assert await record.journal.run("rival", run.id) is None
    assert await record.journal.run("acme", "unknown") is None


async def test_a_step_changes_the_record_and_is_written_down(record: Record) -> None:
    """Both are there for whoever opens the record next; steps are numbered on and on."""
    await put(record, entry())
    run = await record.journal.begin("acme", T0)
    await title(record, run, "a", "b")
    await title(record, run, "c")
    async with record.replica() as other:
        assert await read(other, "m1") == {"m1": entry(title="c")}
        steps = await other.journal.steps(run, None, 10)
    assert [(each.number, each.reason) for each in steps] == [(3, "c"), (2, "b"), (1, "a")]
    (before,), (after,) = steps[1].before, steps[1].after
    assert (before.title, after.title, steps[1].other_id) == ("a", "b", "o")
    assert await record.journal.steps(run, 3, 1) == steps[1:2]


async def test_steps_are_given_back_with_their_numbers(record: Record) -> None:
    """Those that were decided on; none change nothing."""
    await put(record, entry())
    run = await record.journal.begin("acme", T0)
    assert await record.journal.take_steps(run, ["m1"], lambda _: []) == []
    (step,) = await record.journal.take_steps(
        run, ["m1"], lambda current: [changed(current["m1"], "a")]
    )
    assert (step.number, step.before[0].version) == (1, 1)
    assert await record.journal.steps(run, None, 10) == [step]


async def test_a_step_that_fails_leaves_nothing(record: Record) -> None:
    """Neither in the record nor in the journal."""
    await put(record, entry())
    run = await record.journal.begin("acme", T0)

    no_reason: Any = None  # which the journal can't take, after the change was written
    with pytest.raises(SourceUnavailable):
        await record.journal.take_steps(
            run, ["m1"], lambda current: [replace(changed(current["m1"], "a"), reason=no_reason)]
        )
    assert await read(record, "m1") == {"m1": entry()}
    assert await record.journal.steps(run, None, 10) == []


async def test_indexes_hear_of_all_but_decay(record: Record) -> None:
    """Confidence is not in an index; everything else may be."""
    await put(record, entry())
    vector, keyword = await begin_feeds(record)
    run = await record.journal.begin("acme", T0)
    await title(record, run, "a", action=Action.DECAYED)
    await undo(record, run, 1)
    assert await record.outbox.due(vector, 10) == []
    await title(record, run, "a")
    for feed in (vector, keyword):
        (row,) = await record.outbox.due(feed, 10)
        assert row.entry_id == "m1"
        await record.outbox.settle(feed, [row])
    await undo(record, run, 2)
    assert len(await record.outbox.due(vector, 10)) == 1


async def test_what_has_no_image_after_leaves_the_record(record: Record) -> None:
    """Undoing brings it back as it was, and tells the indexes."""
    whole = entry(tags=("x",), confidence=0.3, decay_time=T0, valid_until=T0, last_access_time=T0)
    await put(record, whole)
    vector, _ = await begin_feeds(record)
    run = await record.journal.begin("acme", T0)
    await remove(record, run)
    assert await read(record, "m1") == {}
    assert await undo(record, run, 1) is UndoOutcome.UNDONE
    assert await read(record, "m1") == {"m1": whole}
    assert len(await record.outbox.due(vector, 10)) == 1


async def test_undoing_marks_the_step_and_forgets_its_images(record: Record) -> None:
    """A second time, and of a step that there is not, nothing happens."""
    await put(record, entry())
    run = await record.journal.begin("acme", T0)
    await title(record, run, "a")
    assert await undo(record, run, 1) is UndoOutcome.UNDONE
    assert await read(record, "m1") == {"m1": entry()}
    (step,) = await record.journal.steps(run, None, 10)
    assert (step.undo_time, step.before, step.after) == (NOW, (), ())
    await put(record, entry(title="later"))
    assert await undo(record, run, 1) is UndoOutcome.ALREADY
    assert await undo(record, run, 2) is UndoOutcome.ALREADY
    assert await read(record, "m1") == {"m1": entry(title="later")}


async def test_what_changed_since_is_left_alone(record: Record) -> None:
    """The step is not marked, so it can be undone when the later change is."""
    await put(record, entry())
    run = await record.journal.begin("acme", T0)
    await title(record, run, "a", "b")
    assert await undo(record, run, 1) is UndoOutcome.CHANGED_SINCE
    assert await undo(record, run, 2) is UndoOutcome.UNDONE
    assert await undo(record, run, 1) is UndoOutcome.UNDONE
    assert await read(record, "m1") == {"m1": entry()}


async def test_what_is_declined_is_kept_in_mind(record: Record) -> None:
    """By action and ids, of the tenant; steps that are undone otherwise are not declined."""
    await put(record, entry())
    run = await record.journal.begin("acme", T0)
    await title(record, run, "a", "b")
    assert await record.journal.declined("acme") == frozenset()
    await undo(record, run, 2)
    await undo(record, run, 1, decline=True)
    assert await record.journal.declined("acme") == {(Action.MERGED, "m1", "o")}
    assert await record.journal.declined("rival") == frozenset()


async def test_old_runs_are_forgotten(record: Record) -> None:
    """Those that ended before the moment, of the tenant, but nothing that was declined."""
    await put(record, entry())
    runs = []
    for tenant in ("acme", "acme", "rival"):
        run = await record.journal.begin(tenant, T0)
        await record.journal.finish(run, RunState.DONE, T0)
        runs.append(run)
    await title(record, runs[0], "a", "b")
    await undo(record, runs[0], 2, decline=True)
    late = await record.journal.begin("acme", T0)
    await record.journal.finish(late, RunState.DONE, NOW)
    cut = await record.journal.begin("acme", T0)
    await record.journal.purge("acme", NOW)
    left = {run.id: run.step_count for run in await record.journal.runs("acme", 10)}
    assert left == {runs[0].id: 1, late.id: 0, cut.id: 0}
    assert len(await record.journal.declined("acme")) == 1
    assert await record.journal.run("rival", runs[2].id) is not None
