"""What every outbox promises: the sentences of `hilvan_retrieval.ports.Outbox`."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest
import pytest_asyncio
from support.retrieval.record import MODEL, NOW, RECORDS, Record, begin_feeds, entry, unit

from hilvan_retrieval.model.entry import BUCKETS, Answer, Change, Entry, Stored, entry_uid
from hilvan_retrieval.model.outbox import OutboxCounts, OutboxRow

VECTOR, KEYWORD = FEEDS = ("vector.1", "keyword.1")
UID = entry_uid("acme", "m1")
AT = int(NOW.timestamp() * 1e6)


@pytest_asyncio.fixture(params=list(RECORDS))
async def record(request: pytest.FixtureRequest) -> AsyncIterator[Record]:
    """Opens a new record of each kind."""
    async with RECORDS[request.param]() as opened:
        assert await begin_feeds(opened) == FEEDS
        yield opened


async def put(record: Record, *entries: Entry, tenant: str = "acme") -> None:
    """Write entries as they are."""
    await record.store.change(tenant, [], lambda _: Change(Answer("put"), puts=entries))


async def delete(record: Record, *ids: str) -> None:
    """Remove entries."""
    await record.store.change("acme", ids, lambda _: Change(Answer("gone"), deletes=ids))


async def due(record: Record, feed: str = VECTOR, limit: int = 100) -> list[OutboxRow]:
    """Tell the rows to apply now."""
    return await record.outbox.due(feed, limit)


async def test_rows_outlive_a_crash(record: Record) -> None:
    """A row is there for whoever opens the record next."""
    async with record.again() as other:
        await other.change("acme", [], lambda _: Change(Answer("put"), puts=(entry(),)))
    (row,) = await due(record)
    assert (row.tenant, row.entry_id, row.uid, row.attempts) == ("acme", "m1", UID, 0)


async def test_one_entry_has_one_row_a_feed(record: Record) -> None:
    """Later writes of an entry take the place of earlier ones, at the end of the queue."""
    await put(record, entry("m1"), entry("m2"))
    await put(record, entry("m1", "again"))
    await delete(record, "m1")
    for feed in FEEDS:
        assert [row.entry_id for row in await due(record, feed)] == ["m2", "m1"]


async def test_a_later_write_has_a_later_seq(record: Record) -> None:
    """A seq is never used again, not even when every row was removed."""
    seen = []
    for text in "abc":
        await put(record, entry("m1", text))
        (row,) = await due(record)
        await record.outbox.settle(VECTOR, [row])
        seen.append(row.seq)
    assert seen == sorted(set(seen))


async def test_due_rows_come_by_rising_seq_at_most_as_many_as_asked(record: Record) -> None:
    """The oldest rows come first."""
    await put(record, *(entry(f"m{index}") for index in range(5)))
    rows = await due(record, limit=3)
    assert [row.entry_id for row in rows] == ["m0", "m1", "m2"]
    assert [row.seq for row in rows] == sorted(row.seq for row in rows)


async def test_equal_ids_of_two_tenants_have_rows_of_their_own(record: Record) -> None:
    """Each row tells its tenant, and its uid is not the other one's."""
    await put(record, entry())
    await put(record, entry(), tenant="rival")
    rows = await due(record)
    assert [row.tenant for row in rows] == ["acme", "rival"]
    assert len({row.uid for row in rows}) == 2


async def test_rows_load_the_entries_as_they_are_now(record: Record) -> None:
    """A row read before a write loads what the write left, with the vector of that text only."""
    known = Change(
        Answer("x"), puts=(entry(), entry("m2")), vectors={"m1": unit(1, 0)}, model=MODEL
    )
    await record.store.change("acme", [], lambda _: known)
    rows = await due(record)
    loaded = await record.outbox.load(rows, MODEL)
    vector = loaded[UID].vector
    assert vector is not None
    assert vector.tolist() == [1, 0]
    await put(record, entry(text="another"))
    assert await record.outbox.load(rows[:1], MODEL) == {
        UID: Stored(replace(entry(text="another"), version=2))
    }


async def test_deleted_entries_are_not_loaded(record: Record) -> None:
    """The row of a deleted entry has no entry behind it, and no rows load nothing."""
    await put(record, entry("m1"), entry("m2"))
    await delete(record, "m1")
    loaded = await record.outbox.load(await due(record), MODEL)
    assert [each.entry.id for each in loaded.values()] == ["m2"]
    assert await record.outbox.load([], MODEL) == {}


async def test_vectors_are_kept_with_the_texts_they_were_made_of(record: Record) -> None:
    """A vector whose entry was deleted, or has another text meanwhile, is left out."""
    await put(record, entry("same"), entry("changed"), entry("gone"))
    rows = await due(record)
    made = {
        uid: Stored(stored.entry, unit(0, 1))
        for uid, stored in (await record.outbox.load(rows, MODEL)).items()
    }
    await put(record, entry("changed", "another text"), entry("same", category="stack"))
    await delete(record, "gone")
    await record.outbox.save_vectors(MODEL, made)
    await put(record, entry("gone"))
    loaded = {
        each.entry.id: each.vector for each in (await record.outbox.load(rows, MODEL)).values()
    }
    assert loaded["same"] is not None
    assert loaded["same"].tolist() == [0, 1]
    assert loaded["changed"] is None
    assert loaded["gone"] is None


async def test_a_vector_replaces_the_one_before(record: Record) -> None:
    """Saving again is no error, and the last vector counts."""
    await put(record, entry())
    for vector in (unit(1, 0), unit(0, 1)):
        await record.outbox.save_vectors(MODEL, {UID: Stored(entry(), vector)})
    kept = (await record.outbox.load(await due(record), MODEL))[UID].vector
    assert kept is not None
    assert kept.tolist() == [0, 1]


async def test_nothing_is_saved_without_a_vector(record: Record) -> None:
    """What has no vector is left as it is."""
    await put(record, entry())
    await record.outbox.save_vectors(MODEL, {UID: Stored(entry(), unit(1, 0))})
    await record.outbox.save_vectors(MODEL, {UID: Stored(entry())})
    assert (await record.outbox.load(await due(record), MODEL))[UID].vector is not None


async def test_settling_removes_the_rows_of_one_feed(record: Record) -> None:
    """The other index still has its rows; settling nothing or twice is no error."""
    await put(record, entry())
    rows = await due(record)
    for _ in range(2):
        await record.outbox.settle(VECTOR, rows)
    await record.outbox.settle(VECTOR, [])
    assert await due(record) == []
    assert [row.entry_id for row in await due(record, KEYWORD)] == ["m1"]


async def test_settling_leaves_the_row_of_a_newer_write(record: Record) -> None:
    """An entry that was written again, or deleted, since its row was read is still due."""
    await put(record, entry("m1"), entry("m2"), entry("m3"))
    rows = await due(record)
    await put(record, entry("m1", "newer"))
    await delete(record, "m2")
    await record.outbox.settle(VECTOR, rows)
    assert [row.entry_id for row in await due(record)] == ["m1", "m2"]


async def test_a_postponed_row_waits_and_counts_the_attempt(record: Record) -> None:
    """It is not due before its time, and the others are not held up."""
    await put(record, entry("m1"), entry("m2"))
    first, _ = await due(record)
    await record.outbox.postpone(VECTOR, first, "broken", 10)
    assert [row.entry_id for row in await due(record)] == ["m2"]
    record.clock.move(timedelta(seconds=9))
    assert [row.entry_id for row in await due(record)] == ["m2"]
    record.clock.move(timedelta(seconds=1))
    again = await due(record)
    assert [(row.entry_id, row.attempts) for row in again] == [("m1", 1), ("m2", 0)]
    assert [row.attempts for row in await due(record, KEYWORD)] == [0, 0]


async def test_a_parked_row_is_never_due_again(record: Record) -> None:
    """Without a time to retry the row stays out of the way for good."""
    await put(record, entry())
    (row,) = await due(record)
    await record.outbox.postpone(VECTOR, row, "x" * 10_000, None)
    record.clock.move(timedelta(days=365))
    assert await due(record) == []
    assert await record.outbox.counts(VECTOR) == OutboxCounts(pending=0, parked=1)


async def test_a_new_write_mends_a_parked_row(record: Record) -> None:
    """An entry that is written again is due at once, with no attempts."""
    await put(record, entry())
    (row,) = await due(record)
    await record.outbox.postpone(VECTOR, row, "broken", None)
    await put(record, entry(text="mended"))
    assert [each.attempts for each in await due(record)] == [0]


async def test_a_late_postponement_leaves_a_newer_row_alone(record: Record) -> None:
    """Failing on the old state of an entry says nothing of the new one."""
    await put(record, entry())
    (row,) = await due(record)
    await put(record, entry(text="newer"))
    await record.outbox.postpone(VECTOR, row, "broken", None)
    assert [each.attempts for each in await due(record)] == [0]


async def test_an_entry_is_settled_when_both_indexes_have_it(record: Record) -> None:
    """One index behind is enough to be unsettled, and so is a parked row."""
    await put(record, entry("m1"), entry("m2"))
    other = entry_uid("acme", "m2")
    assert await record.outbox.unsettled([UID], FEEDS)
    await record.outbox.settle(VECTOR, await due(record, VECTOR))
    assert await record.outbox.unsettled([UID], FEEDS)
    first, second = await due(record, KEYWORD)
    await record.outbox.settle(KEYWORD, [first])
    assert not await record.outbox.unsettled([UID], FEEDS)
    await record.outbox.postpone(KEYWORD, second, "broken", None)
    assert await record.outbox.unsettled([UID, other], FEEDS)


async def test_nothing_and_unknown_entries_are_settled(record: Record) -> None:
    """No index can be behind on what the record never had."""
    await put(record, entry())
    assert not await record.outbox.unsettled([], FEEDS)
    assert not await record.outbox.unsettled([entry_uid("acme", "unknown")], FEEDS)


async def test_waiting_and_parked_rows_are_counted_apart(record: Record) -> None:
    """Rows of all tenants count, each for its feed, postponed ones as waiting."""
    await put(record, entry("m1"), entry("m2"))
    await put(record, entry("m1"), tenant="rival")
    first, second, _ = await due(record)
    await record.outbox.postpone(VECTOR, first, "broken", None)
    await record.outbox.postpone(VECTOR, second, "broken", 10)
    assert await record.outbox.counts(VECTOR) == OutboxCounts(pending=2, parked=1, oldest_us=AT)
    assert await record.outbox.counts(KEYWORD) == OutboxCounts(pending=3, parked=0, oldest_us=AT)


async def test_a_feed_is_held_by_one_worker_at_a_time(record: Record) -> None:
    """A second worker, of this or another replica, is told that it is taken, and gets it after."""
    async with record.replica() as other:
        async with record.outbox.hold(VECTOR) as first, other.outbox.hold(VECTOR) as second:
            assert (first, second) == (True, False)
            async with other.outbox.hold(KEYWORD) as elsewhere:
                assert elsewhere
        async with other.outbox.hold(VECTOR) as later:
            assert later


async def test_a_hold_ends_with_what_went_wrong_inside(record: Record) -> None:
    """A worker that fails lets go, and its own error comes out."""
    with pytest.raises(LookupError):
        async with record.outbox.hold(VECTOR):
            raise LookupError
    async with record.outbox.hold(VECTOR) as again:
        assert again


async def test_only_the_feeds_that_are_asked_about_count_as_behind(record: Record) -> None:
    """An index that is being built does not keep a write from being found."""
    await put(record, entry())
    await record.outbox.settle(VECTOR, await due(record, VECTOR))
    assert not await record.outbox.unsettled([UID], [VECTOR])
    assert await record.outbox.unsettled([UID], [KEYWORD])


async def test_what_is_announced_is_due_again(record: Record) -> None:
    """In that feed alone, once, parked or not, and whether the record has it or not."""
    await put(record, entry())
    (row,) = await due(record)
    await record.outbox.postpone(VECTOR, row, "broken", None)
    await record.outbox.settle(KEYWORD, await due(record, KEYWORD))
    ghost = entry_uid("acme", "ghost")
    await record.outbox.announce(VECTOR, [UID, ghost, UID])
    await record.outbox.announce(VECTOR, [])
    again = await due(record)
    assert {(each.uid, each.tenant, each.entry_id, each.attempts) for each in again} == {
        (UID, "acme", "m1", 0),
        (ghost, "", "", 0),
    }
    assert await due(record, KEYWORD) == []


async def test_a_bucket_tells_what_a_feed_is_behind_on(record: Record) -> None:
    """Waiting, postponed and parked rows of the bucket, and of no other."""
    await put(record, *(entry(f"m{index}") for index in range(40)))
    rows = await due(record)
    await record.outbox.postpone(VECTOR, rows[0], "broken", None)
    await record.outbox.postpone(VECTOR, rows[1], "broken", 10)
    await record.outbox.settle(VECTOR, rows[2:20])
    behind = {uid for bucket in BUCKETS for uid in await record.outbox.behind(VECTOR, bucket)}
    assert behind == {row.uid for row in [*rows[:2], *rows[20:]]}
    assert await record.outbox.behind(VECTOR, rows[0].uid[:2]) >= {rows[0].uid}
    assert all(uid[:2] == "0a" for uid in await record.outbox.behind(VECTOR, "0a"))


async def test_parked_rows_are_listed_with_their_error(record: Record) -> None:
    """By rising seq, of one feed, at most as many as asked."""
    await put(record, entry("m1"), entry("m2"), entry("m3"))
    for row in await due(record):
        await record.outbox.postpone(VECTOR, row, f"broken {row.entry_id}", None)
    listed = await record.outbox.parked(VECTOR, 2)
    assert [(row.tenant, row.entry_id, row.attempts, row.error) for row in listed] == [
        ("acme", "m1", 1, "broken m1"),
        ("acme", "m2", 1, "broken m2"),
    ]
    assert await record.outbox.parked(KEYWORD, 2) == []


async def test_the_oldest_waiting_row_is_told(record: Record) -> None:
    """Parked rows don't count as waiting, and nothing waiting has no age."""
    assert (await record.outbox.counts(VECTOR)).oldest_us is None
    await put(record, entry("m1"))
    record.clock.move(timedelta(seconds=5))
    await put(record, entry("m2"))
    assert (await record.outbox.counts(VECTOR)).oldest_us == AT
    await record.outbox.postpone(VECTOR, (await due(record))[0], "broken", None)
    assert (await record.outbox.counts(VECTOR)).oldest_us == AT + 5_000_000
