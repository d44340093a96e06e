"""The indexer: from the record's outbox to both indexes, whatever fails."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace

import pytest_asyncio
from prometheus_client import REGISTRY
from support.retrieval.record import AS_ANA, NOW, entry
from support.retrieval.service import Parts, open_parts, until

from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.adapters.record import SqlOutbox
from hilvan_retrieval.errors import SourceUnavailable
from hilvan_retrieval.model.entry import entry_uid
from hilvan_retrieval.model.index import IndexDocument
from hilvan_retrieval.model.outbox import OutboxCounts, OutboxRow
from hilvan_retrieval.usecases.outbox import ATTEMPTS, BATCH, OutboxWorker

UID = entry_uid("acme", "m1")
VECTOR, KEYWORD = FEEDS = ("vector.1", "keyword.1")


@pytest_asyncio.fixture
async def parts() -> AsyncIterator[Parts]:
    """Opens the parts; tests run the indexer themselves."""
    async with open_parts(indexing=False) as opened:
        yield opened


async def running(indexer: OutboxWorker, then: Callable[[], Awaitable[None]]) -> None:
    """Run the indexer while something is awaited; no task outlives its cancellation."""
    before = asyncio.all_tasks()
    worker = asyncio.create_task(indexer.run())
    await then()
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)

    async def nothing_is_left() -> bool:
        # A write to the record that was under way is finished all the same.
        return asyncio.all_tasks() <= before

    await until(nothing_is_left)


async def count(parts: Parts) -> tuple[int, int]:
    """Tell how many documents the vector and the keyword index have."""
    vector, keyword = await parts.vector.inner.state(), await parts.keyword.inner.state()
    return vector.document_count, keyword.document_count


async def test_rows_are_applied_to_both_indexes(parts: Parts) -> None:
    """More than a batch of entries is found in both, and the outbox is empty."""
    for number in range(BATCH + 3):
        await parts.writer.upsert(AS_ANA, entry(f"m{number}"), None)
    await running(parts.indexer, parts.settle)
    assert await count(parts) == (BATCH + 3, BATCH + 3)


async def test_vectors_are_made_once_and_kept(parts: Parts) -> None:
    """A change that leaves the text alone embeds nothing again."""
    await parts.writer.upsert(AS_ANA, entry(text="one"), None)
    await running(parts.indexer, parts.settle)
    await parts.writer.upsert(AS_ANA, entry(text="one", category="stack"), None)
    await running(parts.indexer, parts.settle)
    assert parts.embedder.embedded == ["one"]
    (stored,) = (
        await parts.record.store.hydrate("acme", [UID], model=parts.embedder.model.id)
    ).values()
    assert stored.vector is not None


async def test_a_delete_wins_over_a_late_upsert(parts: Parts) -> None:
    """An entry that is deleted while its write is under way is in no index in the end."""
    parts.vector.gate = parts.keyword.gate = asyncio.Event()
    await parts.writer.upsert(AS_ANA, entry(), None)

    async def delete_meanwhile() -> None:
        await parts.vector.reached.wait()
        await parts.keyword.reached.wait()
        await parts.writer.delete(AS_ANA, "m1", "", None)
        assert parts.vector.gate is not None
        parts.vector.gate.set()
        await parts.settle()

    await running(parts.indexer, delete_meanwhile)
    assert await count(parts) == (0, 0)
    assert parts.vector.upserts == [UID]


async def test_a_failing_engine_is_tried_again_and_recovers(parts: Parts) -> None:
    """The other index goes on meanwhile, no attempt is held against the rows."""
    parts.vector.error = SourceUnavailable("down")
    await parts.writer.upsert(AS_ANA, entry(), None)

    async def recover() -> None:
        await parts.vector.reached.wait()
        await until(lambda: settled(parts, KEYWORD))
        parts.vector.reached.clear()
        await parts.vector.reached.wait()
        (row,) = await parts.record.outbox.due(VECTOR, 10)
        assert row.attempts == 0
        parts.vector.error = None
        await parts.settle()

    await running(parts.indexer, recover)
    assert await count(parts) == (1, 1)


async def settled(parts: Parts, feed: str) -> bool:
    """Tell whether one index has everything."""
    return (await parts.record.outbox.counts(feed)).pending == 0


async def test_without_the_embedder_the_words_are_indexed(parts: Parts) -> None:
    """And the vectors follow when it is back."""
    parts.embedder.error = SourceUnavailable("down")
    await parts.writer.upsert(AS_ANA, entry(), None)

    async def recover() -> None:
        await until(lambda: settled(parts, KEYWORD))
        assert await count(parts) == (0, 1)
        parts.embedder.error = None
        await parts.settle()

    await running(parts.indexer, recover)
    assert await count(parts) == (1, 1)


def refuse_m1(documents: Sequence[IndexDocument]) -> None:
    """Refuse every call with the entry m1 in it."""
    if any(each.uid == UID for each in documents):
        raise ValueError("a document that no engine can take")


async def test_a_poison_row_is_parked_and_the_others_go_on(parts: Parts) -> None:
    """After the last attempt it is out of the way, until its entry is written again."""
    parts.keyword.check = refuse_m1
    for name in ("m0", "m1", "m2"):
        await parts.writer.upsert(AS_ANA, entry(name), None)

    async def park() -> None:
        async def is_parked() -> bool:
            parts.indexer.notice()
            parts.record.clock.seconds += 1
            return (await parts.record.outbox.counts(KEYWORD)).parked == 1

        await until(is_parked)

    await running(parts.indexer, park)
    assert await parts.record.outbox.counts(KEYWORD) == OutboxCounts(pending=0, parked=1)
    assert await count(parts) == (3, 2)
    # Each time with its batch, then by itself: that is what counts as an attempt.
    assert parts.keyword.upserts.count(UID) == 2 * ATTEMPTS
    parts.keyword.check = lambda _: None
    await parts.writer.upsert(AS_ANA, entry(text="mended"), None)
    await running(parts.indexer, parts.settle)
    assert await count(parts) == (3, 3)


async def test_an_engine_that_goes_down_among_single_rows_is_no_poison(parts: Parts) -> None:
    """Only a fault of the row itself counts as its attempt."""
    down = asyncio.Event()

    def refuse_many_and_go_down(documents: Sequence[IndexDocument]) -> None:
        if len(documents) > 1:
            raise ValueError("all of them")
        down.set()
        raise SourceUnavailable("down")

    parts.keyword.check = refuse_many_and_go_down
    await parts.writer.import_batch(AS_ANA, {0: entry("m0"), 1: entry("m1")}, {})

    async def wait() -> None:
        await down.wait()

    await running(parts.indexer, wait)
    assert [row.attempts for row in await parts.record.outbox.due(KEYWORD, 10)] == [0, 0]


async def test_waiting_ends_when_both_indexes_have_the_entries(parts: Parts) -> None:
    """And at once when they have them already."""
    await parts.writer.upsert(AS_ANA, entry(), None)

    async def wait() -> None:
        assert await parts.indexer.settled([UID], Deadline.after(30))

    await running(parts.indexer, wait)
    assert await count(parts) == (1, 1)
    assert await parts.indexer.settled([UID], Deadline.after(0))


async def test_waiting_gives_up_at_the_deadline(parts: Parts) -> None:
    """With False, while an index is still behind."""
    parts.vector.gate = asyncio.Event()
    await parts.writer.upsert(AS_ANA, entry(), None)

    async def wait() -> None:
        async with asyncio.timeout(10):
            assert not await parts.indexer.settled([UID], Deadline.after(0.15))

    await running(parts.indexer, wait)
    assert parts.vector.ended == ["cancelled"]


async def test_waiting_sees_what_another_replica_applies(parts: Parts) -> None:
    """Rows may be settled by somebody else than this indexer."""
    await parts.writer.upsert(AS_ANA, entry(), None)
    waiting = asyncio.create_task(parts.indexer.settled([UID], Deadline.after(30)))
    for feed in FEEDS:
        rows = await parts.record.outbox.due(feed, 10)
        await parts.record.outbox.settle(feed, rows)
    assert await waiting


class FaultyOutbox(SqlOutbox):
    """An outbox whose first look at each feed is a fault of ours."""

    def __init__(self, like: SqlOutbox) -> None:
        """Share the database of another one."""
        super().__init__(like._database, like._clock)
        self._looked: set[str] = set()

    async def due(self, feed: str, limit: int) -> list[OutboxRow]:
        """Fail once for each feed."""
        if feed not in self._looked:
            self._looked.add(feed)
            raise RuntimeError("a fault of ours")
        return await super().due(feed, limit)


async def test_a_fault_of_ours_does_not_end_the_worker(parts: Parts) -> None:
    """The next look finds the rows."""
    indexer = OutboxWorker(FaultyOutbox(parts.record.outbox), parts.indexes)
    await parts.writer.upsert(AS_ANA, entry(), None)
    await running(indexer, replace(parts, indexer=indexer).settle)
    assert await count(parts) == (1, 1)


async def test_the_lag_of_each_index_is_a_metric(parts: Parts) -> None:
    """What waits, what was given up, and the age of the oldest, by feed."""
    await parts.writer.upsert(AS_ANA, entry("m1"), None)
    await parts.writer.upsert(AS_ANA, entry("m2"), None)
    first, _ = await parts.record.outbox.due(VECTOR, 10)
    await parts.record.outbox.postpone(VECTOR, first, "broken", None)
    parts.vector.gate = asyncio.Event()

    def told(name: str) -> float | None:
        return REGISTRY.get_sample_value(f"hilvan_outbox_{name}", {"feed": VECTOR})

    async def look() -> None:
        async def is_told() -> bool:
            return (told("pending"), told("parked")) == (1, 1)

        await until(is_told)

    await running(parts.indexer, look)
    # The record's clock stands at NOW, the metric's is the world's.
    lag = told("lag_seconds")
    assert lag is not None
    assert abs(lag - (time.time() - NOW.timestamp())) < 60
