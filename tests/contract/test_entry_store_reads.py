"""What every record promises to its readers: `hilvan_retrieval.ports.EntryStore`, its reads."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st
from support.retrieval.record import ANA, BOB, MODEL, RECORDS, T0, Record, begin_feeds, entry, unit

from hilvan_retrieval.model.entry import (
    Answer,
    Change,
    Entry,
    EntryQuery,
    Layer,
    RequestKey,
    entry_uid,
)
from hilvan_retrieval.ports.entry import EntryStore

REQUEST = RequestKey(str(uuid.UUID(int=1)), "digest")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest_asyncio.fixture(params=list(RECORDS))
async def record(request: pytest.FixtureRequest) -> AsyncIterator[Record]:
    """Opens a new record of each kind."""
    async with RECORDS[request.param]() as opened:
        await begin_feeds(opened)
        yield opened


@pytest.fixture
def store(record: Record) -> EntryStore:
    """Gives the port under test."""
    return record.store


async def put(store: EntryStore, *entries: Entry, tenant: str = "acme") -> None:
    """Write entries as they are."""
    ids = [each.id for each in entries]
    await store.change(tenant, ids, lambda _: Change(Answer("put"), puts=entries))


async def test_accesses_are_counted_once_each(record: Record) -> None:
    """Known ids count once, however often they are named; versions and outbox stay as they are."""
    await put(record.store, entry("m1"), entry("m2"))
    before = await record.outbox.due("keyword.1", 10)
    counted = await record.store.count_accesses("acme", ["m1", "m1", "unknown"], None, T0, None)
    found = await record.store.entries("acme", ["m1", "m2"])
    assert counted == 1
    assert found["m1"] == entry("m1", access_count=1, last_access_time=T0, version=1)
    assert found["m2"] == entry("m2", version=1)
    assert await record.outbox.due("keyword.1", 10) == before


async def test_accesses_of_one_request_are_counted_once(store: EntryStore) -> None:
    """A replay tells the same number and counts nothing."""
    await put(store, entry("m1"))
    for _ in range(2):
        assert await store.count_accesses("acme", ["m1"], None, T0, REQUEST) == 1
    assert (await store.entries("acme", ["m1"]))["m1"].access_count == 1


async def test_accesses_count_for_the_owners_that_are_named(store: EntryStore) -> None:
    """An entry of somebody else is as unknown as a made-up id."""
    await put(store, entry("m1"))
    own = frozenset([entry("m1").owner.key])
    assert await store.count_accesses("acme", ["m1"], frozenset(["user:nobody"]), T0, None) == 0
    assert await store.count_accesses("acme", ["m1"], own, T0, None) == 1


async def test_nothing_is_counted_for_no_ids(store: EntryStore) -> None:
    """No ids are no error."""
    assert await store.count_accesses("acme", [], None, T0, None) == 0


async def test_hydrating_gives_vectors_where_they_are_known(store: EntryStore) -> None:
    """Entries come by uid, with vectors only when asked for, to half precision, else None."""
    vector = unit(3, 4)
    change = Change(
        Answer("x"), puts=(entry("m1"), entry("m2")), vectors={"m1": vector}, model=MODEL
    )
    await store.change("acme", ["m1", "m2"], lambda _: change)
    first, second = entry_uid("acme", "m1"), entry_uid("acme", "m2")
    bare = await store.hydrate("acme", [first], model=None)
    assert bare[first].vector is None
    found = await store.hydrate("acme", [first, second], model=MODEL)
    known = found[first].vector
    assert known is not None
    assert known.dtype == vector.dtype
    assert known.tolist() == pytest.approx(vector.tolist(), abs=1e-3)
    assert found[second].vector is None
    assert found[second].entry.id == "m2"


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 300])
async def test_any_number_of_uids_is_hydrated(store: EntryStore, count: int) -> None:
    """As many entries come as were asked for, each under its own uid."""
    await put(store, *(entry(f"m{i}", f"text {i}") for i in range(count)))
    uids = {entry_uid("acme", f"m{i}"): f"text {i}" for i in range(count)}
    found = await store.hydrate("acme", list(uids), model=None)
    assert {uid: each.entry.text for uid, each in found.items()} == uids


async def test_a_long_entry_is_read_whole(store: EntryStore) -> None:
    """The longest text and steps that the contract allows come back as they went in."""
    long = entry(text="ñ" * 32_768, steps=tuple("s" * 4096 for _ in range(128)))
    await put(store, long)
    assert (await store.entries("acme", ["m1"]))["m1"] == replace(long, version=1)


async def test_recent_vectors_are_those_that_the_index_lacks(record: Record) -> None:
    """Of one owner and layer only, and no longer once the vector index has the entry."""
    entries = (
        entry("mine"),
        entry("bare"),
        entry("theirs", owner=BOB),
        entry("episode", layer=Layer.EPISODE),
    )
    vectors = {each.id: unit(1, 0) for each in entries if each.id != "bare"}
    change = Change(Answer("x"), puts=entries, vectors=vectors, model=MODEL)
    await record.store.change("acme", [], lambda _: change)
    await record.store.change("rival", [], lambda _: change)
    recent = await record.store.recent_vectors("acme", ANA, Layer.MEMORY, "vector.1", MODEL)
    assert recent.keys() == {"mine"}
    assert recent["mine"].tolist() == [1, 0]
    await record.outbox.settle("vector.1", await record.outbox.due("vector.1", 10))
    assert await record.store.recent_vectors("acme", ANA, Layer.MEMORY, "vector.1", MODEL) == {}


async def delete(store: EntryStore, entry_id: str) -> None:
    """Remove an entry."""
    gone = Change(Answer("gone"), deletes=(entry_id,))
    await store.change("acme", [entry_id], lambda _: gone)


def pages_of(record: Record, limit: int, **conditions: Any) -> AsyncIterator[list[Entry]]:
    """Walk through all pages."""
    base: dict[str, Any] = {
        "tenant": "acme",
        "owners": None,
        "layers": frozenset(),
        "categories": frozenset(),
        "updated_after": None,
    }

    async def walk() -> AsyncIterator[list[Entry]]:
        after = None
        while page := await record.store.page(
            EntryQuery(limit=limit, after=after, **(base | conditions))
        ):
            assert len(page) <= limit
            yield page
            after = ((page[-1].update_time - EPOCH) // timedelta(microseconds=1), page[-1].id)

    return walk()


async def ids_of(record: Record, limit: int, **conditions: Any) -> list[str]:
    """Tell the ids of all pages in their order."""
    return [each.id async for page in pages_of(record, limit, **conditions) for each in page]


@settings(max_examples=20, deadline=None)
@given(
    times=st.lists(st.integers(0, 4), min_size=1, max_size=14),
    limit=st.integers(1, 5),
)
@pytest.mark.parametrize("kind", list(RECORDS))
def test_pages_come_by_falling_update_time_then_id(kind: str, times: list[int], limit: int) -> None:
    """All pages together are the whole tenant in that order, whatever their size."""
    entries = [
        entry(f"m{index:02}", update_time=T0 + timedelta(microseconds=1 + each))
        for index, each in enumerate(times)
    ]

    async def run() -> None:
        async with RECORDS[kind]() as record:
            await put(record.store, *entries)
            await put(record.store, entry("other"), tenant="rival")
            ranked = sorted(entries, key=lambda each: (-each.update_time.timestamp(), each.id))
            assert await ids_of(record, limit) == [each.id for each in ranked]

    asyncio.run(run())


async def test_a_page_matches_every_condition(record: Record) -> None:
    """Owners, layers, categories and the time narrow the pages; no owners at all match nothing."""
    await put(
        record.store,
        entry("m1"),
        entry("m2", owner=BOB, category="stack"),
        entry("m3", layer=Layer.EPISODE, update_time=T0 + timedelta(microseconds=1)),
    )
    conditions: list[tuple[dict[str, Any], list[str]]] = [
        ({"owners": frozenset({ANA.key})}, ["m3", "m1"]),
        ({"owners": frozenset({ANA.key, BOB.key})}, ["m3", "m1", "m2"]),
        ({"owners": frozenset()}, []),
        ({"layers": frozenset({Layer.EPISODE})}, ["m3"]),
        ({"categories": frozenset({"stack", "none"})}, ["m2"]),
        ({"updated_after": T0}, ["m3"]),
        ({"owners": frozenset({BOB.key}), "layers": frozenset({Layer.EPISODE})}, []),
    ]
    for condition, expected in conditions:
        assert await ids_of(record, 2, **condition) == expected


async def test_pages_are_complete_while_others_write(record: Record) -> None:
    """What nobody touches comes exactly once, and what is written meanwhile at most once."""
    calm = [entry(f"calm{i:02}", update_time=T0 + timedelta(minutes=i % 7)) for i in range(40)]
    busy = [entry(f"busy{i:02}", update_time=T0 + timedelta(minutes=i % 7)) for i in range(40)]
    await put(record.store, *calm, *busy)
    found: list[str] = []
    moved = iter(busy)
    async for page in pages_of(record, 7):
        found += [each.id for each in page]
        touched, gone = next(moved), next(moved)
        await put(record.store, replace(touched, update_time=T0 + timedelta(days=1)))
        await put(record.store, entry(f"new{len(found)}", update_time=T0 + timedelta(days=2)))
        await delete(record.store, gone.id)
    assert sorted(each for each in found if each.startswith("calm")) == [e.id for e in calm]
    assert len(set(found)) == len(found)
