"""The consolidation of a tenant, on the real record."""

import asyncio
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.retrieval.record import (
    ANA,
    BOB,
    MODEL,
    NOW,
    RECORDS,
    T0,
    Record,
    entry,
    quick_folder,
    unit,
)

from hilvan_retrieval.adapters.record import (
    SqlConsolidationJournal,
    SqlEntryStore,
    migrate,
    open_sqlite,
)
from hilvan_retrieval.core.consolidation import Rules
from hilvan_retrieval.errors import ConsolidationNotFound, ConsolidationRunning
from hilvan_retrieval.model.consolidation import Action, Run, RunState, Step, UndoOutcome
from hilvan_retrieval.model.contradiction import FoundContradiction
from hilvan_retrieval.model.embedding import Calibration, EmbeddingModel, Vector
from hilvan_retrieval.model.entry import Answer, Change, Entry, Layer
from hilvan_retrieval.usecases.consolidation import DEFAULT_RULES, STEP_BATCH, Consolidator, Undone
from hilvan_retrieval.usecases.pace import Pace

AS_IT_IS = EmbeddingModel(MODEL, 2, Calibration(((0.0, 0.0), (1.0, 1.0))))
DAY = timedelta(days=1)
LAST = T0 + 60 * DAY
QUICK = Pace(1.0)

TEA = entry("tea", "Luis likes tea", confidence=0.5, access_count=2)
TEA_AGAIN = entry("tea-again", "Luis likes tea a lot", update_time=LAST, confidence=0.6)
OLD = entry("old", "The office is in Madrid", confidence=0.8)
NEW = entry("new", "The office is in Berlin", update_time=NOW, create_time=NOW - DAY)
OVER = entry("over", "The trial runs", valid_until=T0 + DAY)
DOUBTED = entry("doubted", "The build is slow", confidence=0.8)
BOBS = entry("bobs", "Luis likes tea", owner=BOB)
ALL = (TEA, TEA_AGAIN, OLD, NEW, OVER, DOUBTED, BOBS)
CONFLICT = FoundContradiction("old", "new", "changed_value: 'Madrid' against 'Berlin'")


@pytest_asyncio.fixture(params=list(RECORDS))
async def record(request: pytest.FixtureRequest) -> AsyncIterator[Record]:
    """Opens a new record of each kind."""
    async with RECORDS[request.param]() as opened:
        yield opened


def job(record: Record) -> Consolidator:
    """Make the use case under test."""
    return Consolidator(
        record.store, record.findings, record.journal, lambda: AS_IT_IS, lambda: None, QUICK
    )


async def fill(record: Record, entries: Iterable[Entry] = ALL, tenant: str = "acme") -> None:
    """Write entries with vectors by their text: what begins alike is alike."""
    puts = tuple(entries)
    made: Mapping[str, Vector] = {
        each.id: unit(1, 0.01 * len(each.text)) if each.text.startswith("Luis") else unit(0, 1)
        for each in puts
    }
    change = Change(Answer("put"), puts=puts, vectors=made, model=MODEL)
    await record.store.change(tenant, [], lambda _: change)


async def everything(record: Record, tenant: str = "acme") -> dict[str, Entry]:
    """Tell the tenant's whole record, whatever the versions."""
    uids = [
        uid
        for owner, layer in await record.findings.groups(tenant)
        for uid in await record.findings.members(tenant, owner, layer, 10_000)
    ]
    stored = await record.store.hydrate(tenant, uids, model=None)
    return {each.entry.id: replace(each.entry, version=0) for each in stored.values()}


async def consolidated(
    record: Record, now: datetime = NOW, tenant: str = "acme", rules: Rules = DEFAULT_RULES
) -> list[Step]:
    """Run to the end; the steps."""
    batches = job(record).consolidate(tenant, now, rules=rules)
    return [step async for _, steps in batches for step in steps]


async def previewed(record: Record, now: datetime = NOW, tenant: str = "acme") -> list[Step]:
    """Tell what a run would do."""
    return [step async for steps in job(record).preview(tenant, now) for step in steps]


async def undone(
    record: Record, run: Run, *numbers: int, tenant: str = "acme"
) -> list[tuple[int, UndoOutcome]]:
    """Take a run or some of its steps back."""
    results: list[Undone] = [each async for each in job(record).undo(tenant, run.id, NOW, numbers)]
    return [(each.step.number, each.outcome) for each in results]


async def last_run(record: Record, tenant: str = "acme") -> Run:
    """Tell the newest run."""
    return (await record.journal.runs(tenant, 1))[0]


def told(steps: Iterable[Step]) -> list[tuple[Action, str, str]]:
    """Tell what steps do."""
    return [(each.action, each.entry_id, each.other_id) for each in steps]


def plain(steps: Iterable[Step]) -> list[Step]:
    """Tell steps without what only the journal knows: numbers and versions."""
    return [
        replace(
            step,
            number=0,
            before=tuple(replace(each, version=0) for each in step.before),
            after=tuple(replace(each, version=0) for each in step.after),
        )
        for step in steps
    ]


WANTED = [
    (Action.MERGED, "tea", "tea-again"),
    (Action.RETIRED, "old", "new"),
    (Action.EXPIRED, "over", ""),
    (Action.DECAYED, "doubted", ""),
]


@pytest_asyncio.fixture
async def filled(record: Record) -> Record:
    """Gives a record with something to do of each kind."""
    await fill(record)
    await record.findings.record_conflicts("acme", [CONFLICT], None, NOW)
    return record


async def test_a_run_does_all_four_actions(filled: Record) -> None:
    """In their order, numbered, each with its reason; the run ends as done."""
    steps = await consolidated(filled)
    assert told(steps) == WANTED
    assert [step.number for step in steps] == [1, 2, 3, 4]
    assert steps[1].reason == CONFLICT.evidence
    now = await everything(filled)
    assert now.keys() == {each.id for each in ALL} - {"over"}
    assert now["tea"].superseded_by == "tea-again"
    assert (now["tea-again"].reinforcement_count, now["tea-again"].access_count) == (1, 2)
    assert (now["old"].superseded_by, now["old"].supersede_time) == ("new", NOW - DAY)
    assert now["doubted"].confidence == pytest.approx(0.8 * 2 ** -(151 / 180))
    assert (now["new"], now["bobs"]) == (NEW, BOBS)
    run = await last_run(filled)
    assert (run.state, run.step_count, run.position) == (RunState.DONE, 4, "decayed")


async def test_a_second_run_does_nothing(filled: Record) -> None:
    """Everything is as it should be, and another tenant never was touched."""
    await fill(filled, tenant="rival")
    await consolidated(filled)
    before = await everything(filled)
    assert await consolidated(filled) == []
    assert await everything(filled) == before
    assert await everything(filled, "rival") == {each.id: each for each in ALL}


async def test_a_preview_tells_what_the_run_does_and_changes_nothing(filled: Record) -> None:
    """The same steps with the same images; no run is begun and no conflict forgotten."""
    steps = await previewed(filled)
    assert await everything(filled) == {each.id: each for each in ALL}
    assert await filled.journal.runs("acme", 1) == []
    assert plain(await consolidated(filled)) == plain(steps)


async def test_a_preview_looks_ahead_of_its_own_steps(record: Record) -> None:
    """What a merge retires is not retired again by a conflict, nor lowered, whoever asks."""
    await fill(record)
    conflicts = [FoundContradiction("tea", "new", "x"), FoundContradiction("bobs", "tea", "x")]
    await record.findings.record_conflicts("acme", conflicts, None, NOW)
    steps = await previewed(record)
    assert [each.entry_id for each in steps] == ["tea", "over", "doubted", "old"]
    assert plain(await consolidated(record)) == plain(steps)


async def test_undoing_a_run_gives_the_record_back(filled: Record) -> None:
    """Whole, all fields but the version, last step first; a second time nothing happens."""
    before = await everything(filled)
    await consolidated(filled)
    run = await last_run(filled)
    assert await undone(filled, run) == [(n, UndoOutcome.UNDONE) for n in (4, 3, 2, 1)]
    assert await everything(filled) == before
    assert await undone(filled, run) == []
    assert (await last_run(filled)).state is RunState.UNDONE


async def test_a_run_that_was_undone_as_a_whole_may_come_again(filled: Record) -> None:
    """It was the wrong time or the wrong rules; only the conflict is to be seen again."""
    await consolidated(filled)
    await undone(filled, await last_run(filled))
    assert told(await consolidated(filled)) == [WANTED[0], WANTED[2], WANTED[3], lowered("old")]


def lowered(entry_id: str) -> tuple[Action, str, str]:
    """Tell of a lowered confidence."""
    return (Action.DECAYED, entry_id, "")


async def test_single_steps_that_are_undone_are_not_done_again(filled: Record) -> None:
    """Somebody looked at them and said no."""
    await consolidated(filled)
    run = await last_run(filled)
    assert await undone(filled, run, 1, 3) == [(3, UndoOutcome.UNDONE), (1, UndoOutcome.UNDONE)]
    assert (await everything(filled))["over"] == OVER
    assert told(await previewed(filled)) == [lowered("tea"), lowered("tea-again")]
    assert told(await consolidated(filled)) == [lowered("tea"), lowered("tea-again")]


async def test_a_step_whose_entry_changed_since_is_told(filled: Record) -> None:
    """It stays, and all other steps are undone."""
    await consolidated(filled)
    await fill(filled, [replace(TEA_AGAIN, text="Luis likes tea no more")])
    outcomes = dict(await undone(filled, await last_run(filled)))
    assert outcomes == dict.fromkeys((2, 3, 4), UndoOutcome.UNDONE) | {1: UndoOutcome.CHANGED_SINCE}
    now = await everything(filled)
    assert (now["tea"].superseded_by, now["old"]) == ("tea-again", OLD)


async def test_undoing_is_for_runs_of_the_tenant(filled: Record) -> None:
    """Others' runs and unknown ones are not there."""
    await consolidated(filled)
    run = await last_run(filled)
    for tenant, run_id in (("rival", run.id), ("acme", "unknown")):
        with pytest.raises(ConsolidationNotFound):
            await anext(job(filled).undo(tenant, run_id, NOW))


async def test_only_one_at_a_time(filled: Record) -> None:
    """While one goes on, no other may begin or undo; a preview may."""
    first = job(filled).consolidate("acme", NOW)
    async with aclosing(first):
        run, _ = await anext(first)
        with pytest.raises(ConsolidationRunning):
            await consolidated(filled)
        with pytest.raises(ConsolidationRunning):
            await undone(filled, run)
        assert told(await previewed(filled)) == WANTED[1:]
    assert told(await consolidated(filled)) == WANTED[1:]


@pytest.mark.parametrize("steps", range(1, 5))
async def test_a_run_that_was_cut_goes_on(filled: Record, steps: int) -> None:
    """Wherever it stopped: with its own moment, the next numbers, and nothing twice."""
    whole = plain(await previewed(filled))
    cut = job(filled).consolidate("acme", NOW)
    async with aclosing(cut):
        done = [step for _ in range(steps) for step in (await anext(cut))[1]]
    assert plain(await previewed(filled, NOW + 90 * DAY)) == whole[steps:]
    done += await consolidated(filled, NOW + 90 * DAY)
    assert plain(done) == whole
    (run,) = await filled.journal.runs("acme", 10)
    assert (run.begin_time, run.step_count) == (NOW, 4)


async def test_what_a_run_has_finished_is_not_looked_at_again(filled: Record) -> None:
    """It goes on behind its position: an action, or a group of the first one."""
    await fill(filled, [entry("bobs-too", "luis likes tea", owner=BOB, update_time=LAST)])
    run = await filled.journal.begin("acme", NOW)
    await filled.journal.advance(run, f"merged\t{ANA.key}\t{Layer.MEMORY}")
    assert told(await previewed(filled))[:2] == [(Action.MERGED, "bobs", "bobs-too"), WANTED[1]]
    await filled.journal.advance(run, "retired")
    assert told(await consolidated(filled))[0] == WANTED[2]


async def test_undoing_a_run_that_was_cut_ends_it(filled: Record) -> None:
    """The next one is another."""
    cut = job(filled).consolidate("acme", NOW)
    async with aclosing(cut):
        run, _ = await anext(cut)
    await undone(filled, run)
    assert await everything(filled) == {each.id: each for each in ALL}
    await consolidated(filled, NOW + DAY)
    assert (await last_run(filled)).id != run.id


async def test_conflicts_are_forgotten_when_they_are_settled(filled: Record) -> None:
    """Also those that fit no more; those that were not seen often enough wait."""
    await fill(filled, [replace(OLD, text="The office is closed")])
    assert WANTED[1] not in told(await consolidated(filled, rules=Rules(sightings=2)))
    assert len(await filled.findings.conflicts("acme", ("", ""), 9)) == 1
    assert await consolidated(filled) == []
    assert await filled.findings.conflicts("acme", ("", ""), 9) == []


async def test_the_journal_is_forgotten_by_a_later_run(filled: Record) -> None:
    """Thirty days after the run; until then it can be undone."""
    await consolidated(filled)
    await consolidated(filled, NOW + 30 * DAY)
    assert len(await filled.journal.runs("acme", 9)) == 2
    await consolidated(filled, NOW + 31 * DAY)
    assert [each.begin_time for each in await filled.journal.runs("acme", 9)] == [
        NOW + 31 * DAY,
        NOW + 30 * DAY,
    ]


async def test_many_steps_come_in_batches(record: Record) -> None:
    """More than one transaction holds, of every kind, in pages that miss nothing."""
    many = range(STEP_BATCH + 7)
    await fill(record, [entry(f"d{i}", f"Fact {i}", confidence=0.8) for i in many])
    await fill(record, [entry(f"e{i}", f"Event {i}", valid_until=T0) for i in many])
    await fill(record, [entry(f"t{i}", "Luis likes tea", update_time=T0 + i * DAY) for i in many])
    steps = await consolidated(record)
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    counts = {action: sum(step.action is action for step in steps) for action in Action}
    n = len(many)
    assert counts == {
        Action.MERGED: n - 1,
        Action.RETIRED: 0,
        Action.EXPIRED: n,
        Action.DECAYED: n,
    }
    leader = (await everything(record))[f"t{n - 1}"]
    assert leader.reinforcement_count == n - 1
    assert all(out is UndoOutcome.UNDONE for _, out in await undone(record, await last_run(record)))
    assert len(await everything(record)) == 3 * n


ENTRIES = st.builds(
    lambda text, day, **values: entry("x", text, update_time=T0 + day * DAY, **values),
    st.sampled_from(["Luis likes tea", "Luis likes tea so", "luis likes tea!", "So it is"]),
    st.integers(0, 150),
    layer=st.sampled_from([Layer.MEMORY, Layer.MEMORY, Layer.EPISODE, Layer.NOTE]),
    owner=st.sampled_from([ANA, ANA, BOB]),
    confidence=st.sampled_from([None, 0.1, 0.8]),
    importance=st.sampled_from([None, 0.4]),
    valid_until=st.sampled_from([None, None, T0 + DAY, NOW - DAY]),
    superseded_by=st.sampled_from(["", "", "", "m0"]),
    supersede_time=st.sampled_from([None, T0]),
)


@pytest.mark.parametrize("record", ["sqlite"], indirect=True)
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    drawn=st.lists(ENTRIES, max_size=8),
    pairs=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=4),
    cut=st.integers(0, 6),
)
async def test_the_laws_of_a_run(
    record: Record, drawn: list[Entry], pairs: list[tuple[int, int]], cut: int
) -> None:
    """Previewed, cut anywhere and continued it does the same; then nothing; undone it never was."""
    tenant = str(uuid.uuid4())
    await fill(record, [replace(each, id=f"m{i}") for i, each in enumerate(drawn)], tenant)
    conflicts = [FoundContradiction(f"m{one}", f"m{other}") for one, other in pairs]
    await record.findings.record_conflicts(tenant, conflicts, None, NOW)
    before = await everything(record, tenant)
    whole = plain(await previewed(record, tenant=tenant))
    first = job(record).consolidate(tenant, NOW)
    async with aclosing(first):
        for _ in range(cut):
            await anext(first, None)
    await consolidated(record, tenant=tenant)
    steps = [
        step
        for run in await record.journal.runs(tenant, 9)
        for step in reversed(await record.journal.steps(run, None, 999))
    ]
    assert plain(steps) == whole
    assert await consolidated(record, tenant=tenant) == []
    after = await everything(record, tenant)
    for step in steps:
        if step.other_id:
            assert after[step.entry_id].superseded_by == step.other_id
            assert step.other_id in after
    for run in await record.journal.runs(tenant, 9):
        await undone(record, run, tenant=tenant)
    assert await everything(record, tenant) == before


WORKER = """
import asyncio, sys
from datetime import datetime
from pathlib import Path
from hilvan_retrieval.adapters.record import (
    SqlEntryStore, SqlConsolidationInput, SqlConsolidationJournal, open_sqlite
)
from hilvan_retrieval.model.embedding import Calibration, EmbeddingModel
from hilvan_retrieval.usecases.consolidation import Consolidator
from hilvan_retrieval.usecases.pace import Pace

async def main():
    database = open_sqlite(Path(sys.argv[1]))
    model = EmbeddingModel("test-model", 2, Calibration(((0.0, 0.0), (1.0, 1.0))))
    job = Consolidator(
        SqlEntryStore(database), SqlConsolidationInput(database), SqlConsolidationJournal(database),
        lambda: model, lambda: None, Pace(1.0),
    )
    print("ready", flush=True)
    async for _, steps in job.consolidate("acme", datetime.fromisoformat(sys.argv[2])):
        print(steps[-1].number, flush=True)
    await database.close()

asyncio.run(main())
"""
KILLS = 6


async def test_a_killed_run_goes_on() -> None:
    """Killed again and again at any moment: each step is done once, and all of them are."""
    many = 3 * STEP_BATCH
    entries = [entry(f"d{i}", f"Fact {i}", confidence=0.8) for i in range(many)]
    entries += [entry(f"e{i}", f"Event {i}", valid_until=T0) for i in range(many)]
    entries += [entry(f"t{i}", "Luis likes tea", access_count=1) for i in range(many)]
    random = np.random.default_rng(7)
    with quick_folder() as folder:
        path = folder / "record.sqlite"
        database = open_sqlite(path)
        await migrate(database)
        change = Change(Answer("put"), puts=tuple(entries))
        await SqlEntryStore(database).change("acme", [], lambda _: change)
        await database.close()
        for _ in range(KILLS):
            await _killed_soon(path, float(random.uniform(0, 0.25)))
        await _killed_soon(path, None)
        database = open_sqlite(path)
        store, journal = SqlEntryStore(database), SqlConsolidationJournal(database)
        # One that was quick enough had ended before it was killed; the next ones found nothing.
        *idle, run = sorted(await journal.runs("acme", 9), key=lambda each: each.step_count)
        steps = await journal.steps(run, None, 9 * STEP_BATCH)
        leader = (await store.entries("acme", ["t0"]))["t0"]
        await database.close()
    assert run.state is RunState.DONE
    assert all(each.step_count == 0 for each in idle)
    assert [step.number for step in steps] == list(range(3 * many - 1, 0, -1))
    assert len(set(told(steps))) == 3 * many - 1
    assert (leader.access_count, leader.reinforcement_count) == (many, many - 1)


async def _killed_soon(path: Path, seconds: float | None) -> None:
    """Run in a process of its own, which is killed so long after it began; None: let it end."""
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, str(path), NOW.isoformat(), stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    await worker.stdout.readline()
    try:
        async with asyncio.timeout(seconds):
            await worker.stdout.read()
            await worker.wait()
    except TimeoutError:
        worker.send_signal(signal.SIGKILL)
        await worker.communicate()
    if seconds is None:
        assert worker.returncode == 0
