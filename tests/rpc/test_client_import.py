"""The import stream: windows, faults, and going on after the server breaks off."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import grpc
import pytest
from support.client.script import Refusal, Script
from support.client.server import serve

from hilvan.common.v1.entry_pb2 import Entry
from hilvan_client import Backoff, Fault, ImportItem, ImportProgress, errors, import_entries
from hilvan_client.client import Hilvan
from hilvan_client.import_stream import BATCH_BYTES

QUICK = Backoff(initial=0.001, maximum=0.002, attempts=3)


@pytest.fixture
def script() -> Script:
    """What the server of a test does."""
    return Script()


@pytest.fixture
async def hilvan(script: Script) -> AsyncIterator[Hilvan]:
    """A client of it."""
    async with serve(script) as address, Hilvan.connect(address) as client:
        yield client


def entries(count: int) -> Iterator[Entry]:
    """Entries that differ."""
    return (Entry(id=f"e-{place}", text=f"text {place}") for place in range(count))


async def test_import_stores_everything_in_batches(script: Script, hilvan: Hilvan) -> None:
    """All records arrive, numbered from 1, and the last batch is what is left."""
    summary = await hilvan.import_entries(entries(25), batch_size=10)
    assert (summary.stored, summary.unchanged, summary.faults) == (25, 0, ())
    assert script.batches == [1, 2, 3]
    assert list(script.entries) == [f"e-{place}" for place in range(25)]


async def test_second_import_changes_nothing(hilvan: Hilvan) -> None:
    """The same records again are counted as unchanged."""
    await hilvan.import_entries(entries(5))
    summary = await hilvan.import_entries(entries(5))
    assert (summary.stored, summary.unchanged) == (0, 5)


async def test_import_of_nothing_ends(hilvan: Hilvan) -> None:
    """No records is an empty summary."""
    summary = await hilvan.import_entries([])
    assert (summary.stored, summary.unchanged, summary.faults) == (0, 0, ())


async def test_import_takes_async_records(script: Script, hilvan: Hilvan) -> None:
    """Records may come from an async generator."""

    async def slowly() -> AsyncIterator[Entry]:
        for entry in entries(3):
            await asyncio.sleep(0)
            yield entry

    assert (await hilvan.import_entries(slowly())).stored == 3
    assert len(script.entries) == 3


async def test_window_bounds_what_is_on_its_way(script: Script, hilvan: Hilvan) -> None:
    """Never more batches than the window wait for their acknowledgement, and that many do."""
    await hilvan.import_entries(entries(12), batch_size=1, window=3)
    assert script.largest_window == 3


@pytest.mark.parametrize("end_early", [False, True])
async def test_import_goes_on_where_the_server_broke_off(
    script: Script, hilvan: Hilvan, *, end_early: bool
) -> None:
    """Only batches without acknowledgement are sent again, and each record counts once."""
    script.drops, script.end_early = [2, 3], end_early
    summary = await import_entries(
        hilvan.retrieval, entries(80), batch_size=10, window=4, backoff=QUICK
    )
    assert (summary.stored, summary.unchanged) == (80, 0)
    assert script.batches == [1, 2, 3, 4, 5, 6, 7, 8]
    assert script.calls == ["ImportEntries"] * 3


async def test_import_gives_up_without_progress(script: Script, hilvan: Hilvan) -> None:
    """As many failures in a row as the backoff allows end the import with the last one."""
    script.drops = [0] * 10
    with pytest.raises(errors.Unavailable):
        await import_entries(hilvan.retrieval, entries(3), backoff=QUICK)
    assert script.calls == ["ImportEntries"] * QUICK.attempts


async def test_progress_renews_the_attempts(script: Script, hilvan: Hilvan) -> None:
    """More breaks than attempts are fine as long as each stream gets something done."""
    script.drops = [1] * 5
    summary = await import_entries(hilvan.retrieval, entries(6), batch_size=1, backoff=QUICK)
    assert summary.stored == 6


async def test_a_refusal_that_no_repetition_mends_ends_it(script: Script, hilvan: Hilvan) -> None:
    """A missing permission is raised at once."""
    script.refusals = [Refusal(grpc.StatusCode.PERMISSION_DENIED)]
    with pytest.raises(errors.PermissionDenied):
        await import_entries(hilvan.retrieval, entries(3), backoff=QUICK)
    assert script.calls == ["ImportEntries"]


async def test_a_stream_past_its_deadline_is_opened_again(script: Script, hilvan: Hilvan) -> None:
    """The deadline of one stream does not limit the import."""
    script.hang = True
    with pytest.raises(errors.DeadlineExceeded):
        await import_entries(hilvan.retrieval, entries(3), backoff=QUICK, stream_timeout=0.05)
    assert script.calls == ["ImportEntries"] * QUICK.attempts


async def test_faults_of_source_and_server_are_summed_up(hilvan: Hilvan) -> None:
    """A record that the source or the server refuses never fails the others."""
    records: list[ImportItem] = [
        Entry(id="a", text="good"),
        Fault("line 2", "no"),
        Entry(id="c", text="bad"),
    ]
    summary = await hilvan.import_entries(records)
    assert summary.stored == 1
    assert summary.faults == (Fault("line 2", "no"), Fault("c", "entry.text: bad"))


async def test_progress_is_told_after_each_batch(hilvan: Hilvan) -> None:
    """The counts only grow, and end at the whole."""
    told: list[ImportProgress] = []
    await hilvan.import_entries(entries(30), batch_size=10, on_progress=told.append)
    assert [progress.stored for progress in told] == [10, 20, 30]


async def test_large_records_make_small_batches(script: Script, hilvan: Hilvan) -> None:
    """A batch stays below the message size that servers take by default."""
    text = "x" * (BATCH_BYTES // 3)
    await hilvan.import_entries([Entry(id=f"e-{place}", text=text) for place in range(5)])
    assert script.batches == [1, 2, 3]


async def test_cancelling_an_import_passes(script: Script, hilvan: Hilvan) -> None:
    """A cancelled import raises CancelledError and tries nothing again."""
    script.hang = True
    task = asyncio.ensure_future(hilvan.import_entries(entries(3)))
    await script.called.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert script.calls == ["ImportEntries"]
