"""What every record promises: the sentences of `hilvan_retrieval.ports.EntryStore`."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st
from support.retrieval.record import MODEL, RECORDS, T0, Record, begin_feeds, entry, unit

from hilvan_retrieval.errors import RequestIdReused, SourceUnavailable
from hilvan_retrieval.model.entry import Answer, Change, Entry, Layer, Origin, RequestKey, entry_uid
from hilvan_retrieval.ports.entry import EntryStore

PATIENCE_S = 5.0
REQUEST = RequestKey(str(uuid.UUID(int=1)), "digest")


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


async def delete(store: EntryStore, entry_id: str, tenant: str = "acme") -> None:
    """Remove an entry."""
    gone = Change(Answer("gone"), deletes=(entry_id,))
    await store.change(tenant, [entry_id], lambda _: gone)


async def seen_by(store: EntryStore, *ids: str, tenant: str = "acme") -> Mapping[str, Entry]:
    """Tell what a decision on these ids is given."""
    seen: dict[str, Entry] = {}

    def decide(current: Mapping[str, Entry]) -> Change:
        seen.update(current)
        return Change(Answer("nothing"))

    await store.change(tenant, ids, decide)
    return seen


async def test_a_change_is_there_after_a_reopening(record: Record) -> None:
    """When `change` returns, another connection of another process reads the entry whole."""
    whole = entry(
        layer=Layer.PROCEDURE,
        title="título",
        category="stack",
        importance=0.25,
        confidence=1.0,
        access_count=3,
        reinforcement_count=2,
        last_access_time=T0,
        valid_from=T0,
        valid_until=T0 + timedelta(microseconds=1),
        superseded_by="m2",
        supersede_time=T0,
        topics=("a", "b"),
        outcome="fine",
        steps=("one", "two"),
        tags=("x",),
        origin=Origin("chat", "c/1", "t", 4),
    )
    await put(record.store, whole)
    async with record.again() as other:
        assert await other.entries("acme", ["m1"]) == {"m1": replace(whole, version=1)}


async def test_a_decision_sees_the_current_entries_of_its_ids(store: EntryStore) -> None:
    """`decide` gets those of the ids that exist, and no other entry."""
    await put(store, entry("m1"), entry("m2"))
    assert (await seen_by(store, "m1", "unknown")).keys() == {"m1"}


async def test_a_decision_sees_what_its_ids_are_superseded_by(store: EntryStore) -> None:
    """However long the chain is that an id leads to, all of it is seen."""
    chain = [entry(f"m{i}", superseded_by=f"m{i + 1}" if i < 99 else "") for i in range(100)]
    await put(store, *chain)
    assert (await seen_by(store, "m7")).keys() == {f"m{i}" for i in range(6, 100)}


async def test_a_decision_sees_what_its_ids_supersede(store: EntryStore) -> None:
    """Entries that are superseded by an id are seen, even before the id exists."""
    await put(store, entry("old", superseded_by="new"), entry("older", superseded_by="old"))
    assert (await seen_by(store, "new")).keys() == {"old"}


async def test_a_loop_of_links_ends(store: EntryStore) -> None:
    """Links that lead back to their beginning are followed once."""
    await put(store, entry("a", superseded_by="b"), entry("b", superseded_by="a"))
    assert (await seen_by(store, "a")).keys() == {"a", "b"}


async def test_each_put_gets_the_next_version(store: EntryStore) -> None:
    """Versions count from 1, whatever the put says, and start again after a delete."""
    await put(store, entry(version=7))
    await put(store, entry(version=7))
    assert (await store.entries("acme", ["m1"]))["m1"].version == 2
    await delete(store, "m1")
    assert await store.entries("acme", ["m1"]) == {}
    await put(store, entry())
    assert (await store.entries("acme", ["m1"]))["m1"].version == 1


async def test_a_put_that_was_not_asked_for_gets_the_next_version(store: EntryStore) -> None:
    """The versions of entries count on even when a decision never saw them."""
    await put(store, entry())
    await store.change("acme", [], lambda _: Change(Answer("put"), puts=(entry(), entry("m2"))))
    found = await store.entries("acme", ["m1", "m2"])
    assert [found[each].version for each in ("m1", "m2")] == [2, 1]


async def test_the_answer_has_the_version_that_was_written(store: EntryStore) -> None:
    """An answer with a put entry tells its new version, one with another entry is left alone."""
    wanted = entry()
    answer = await store.change("acme", ["m1"], lambda _: Change(Answer("a", wanted), (wanted,)))
    assert answer == Answer("a", replace(wanted, version=1))
    other = entry("m2", version=5)
    answer = await store.change("acme", ["m1"], lambda _: Change(Answer("a", other), (wanted,)))
    assert answer == Answer("a", other)


async def test_each_put_and_delete_leaves_a_row_for_every_index(record: Record) -> None:
    """Both outboxes name exactly the entries that were put or deleted."""
    await put(record.store, entry("m1"), entry("m2"))
    await delete(record.store, "m3")
    for feed in ("vector.1", "keyword.1"):
        rows = await record.outbox.due(feed, 10)
        assert [row.entry_id for row in rows] == ["m1", "m2", "m3"]


async def test_a_quiet_change_leaves_no_row(record: Record) -> None:
    """Puts that touch nothing which an index keeps are written without outbox rows."""
    quiet = Change(Answer("quiet"), puts=(entry(),), quiet=True)
    await record.store.change("acme", ["m1"], lambda _: quiet)
    assert await record.store.count("acme") == 1
    assert await record.outbox.due("vector.1", 10) == []


async def test_what_a_decision_raises_leaves_the_record_as_it_was(record: Record) -> None:
    """The exception comes out unchanged, nothing is written, and the next change works."""

    def refuse(_: Mapping[str, Entry]) -> Change:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await record.store.change("acme", ["m1"], refuse, REQUEST)
    assert await record.store.count("acme") == 0
    done = Answer("done")
    assert await record.store.change("acme", [], lambda _: Change(done), REQUEST) == done


async def test_a_cancelled_change_frees_the_writer(record: Record) -> None:
    """A change that is cancelled at any point is whole or absent, and others go on."""
    started = time.monotonic()
    for number in range(10):
        await put(record.store, *(entry(f"warm{number}-{index}") for index in range(3)))
    whole = (time.monotonic() - started) / 10
    for share in range(80):
        ids = [f"{share}-{index}" for index in range(3)]
        with suppress(TimeoutError):
            async with asyncio.timeout(whole * share / 60):
                await put(record.store, *(entry(each) for each in ids))
        async with asyncio.timeout(PATIENCE_S):
            await put(record.store, entry("after"))
        assert len(await record.store.entries("acme", ids)) in (0, 3)


async def test_the_same_request_is_answered_again_without_deciding(store: EntryStore) -> None:
    """A replay gets the first answer, entry and all, even when the entry has changed since."""
    wanted = entry(tags=("x",))
    first = await store.change(
        "acme", ["m1"], lambda _: Change(Answer("a", wanted, 0.5), (wanted,)), REQUEST
    )
    await put(store, entry(text="changed"))

    def never(_: Mapping[str, Entry]) -> Change:
        raise AssertionError

    assert await store.change("acme", ["m1"], never, REQUEST) == first
    assert (await store.entries("acme", ["m1"]))["m1"].text == "changed"


async def test_a_request_id_with_another_digest_is_refused(store: EntryStore) -> None:
    """RequestIdReused names the id, and nothing is written."""
    await store.change("acme", [], lambda _: Change(Answer("first")), REQUEST)
    other = RequestKey(REQUEST.request_id, "other")
    with pytest.raises(RequestIdReused, match=REQUEST.request_id):
        await store.change("acme", ["m1"], lambda _: Change(Answer("x"), (entry(),)), other)
    with pytest.raises(RequestIdReused):
        await store.count_accesses("acme", ["m1"], None, T0, other)
    assert await store.count("acme") == 0


async def test_request_ids_of_two_tenants_never_meet(store: EntryStore) -> None:
    """The same request id of another tenant is another request."""
    await store.change("acme", [], lambda _: Change(Answer("acme's")), REQUEST)
    answer = await store.change("rival", [], lambda _: Change(Answer("rival's")), REQUEST)
    assert answer.outcome == "rival's"


async def test_an_answer_is_kept_for_24_hours(record: Record) -> None:
    """One second before a day has passed the answer is given again, one second after it is not."""
    await record.store.change("acme", [], lambda _: Change(Answer("first")), REQUEST)
    record.clock.move(timedelta(days=1, seconds=-1))
    again = await record.store.change("acme", [], lambda _: Change(Answer("2nd")), REQUEST)
    assert again.outcome == "first"
    record.clock.move(timedelta(seconds=2))
    again = await record.store.change("acme", [], lambda _: Change(Answer("2nd")), REQUEST)
    assert again.outcome == "2nd"


@settings(max_examples=25, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("kind", list(RECORDS))
def test_tenants_never_mix(kind: str, data: st.DataObject) -> None:
    """Whatever is written under shared ids, each tenant reads what it wrote last, and no more."""
    tenants, ids = st.sampled_from(["acme", "rival", "third"]), st.sampled_from(["a", "b", "c"])
    writes = data.draw(st.lists(st.tuples(tenants, ids, st.booleans()), max_size=12))

    async def run() -> None:
        async with RECORDS[kind]() as record:
            expected: dict[str, dict[str, str]] = {name: {} for name in ("acme", "rival", "third")}
            for number, (tenant, entry_id, is_put) in enumerate(writes):
                text = f"{tenant} {number}"
                if is_put:
                    await put(record.store, entry(entry_id, text), tenant=tenant)
                else:
                    await delete(record.store, entry_id, tenant=tenant)
                if is_put:
                    expected[tenant][entry_id] = text
                else:
                    expected[tenant].pop(entry_id, None)
            every_uid = [entry_uid(tenant, name) for tenant in expected for name in "abc"]
            for tenant, texts in expected.items():
                assert await record.store.count(tenant) == len(texts)
                by_id = await record.store.entries(tenant, ["a", "b", "c"])
                assert {each.id: each.text for each in by_id.values()} == texts
                hits = await record.store.hydrate(tenant, every_uid, model=MODEL)
                assert {each.entry.id: each.entry.text for each in hits.values()} == texts
                seen = await seen_by(record.store, "a", "b", "c", tenant=tenant)
                assert {name: each.text for name, each in seen.items()} == texts

    asyncio.run(run())


async def test_a_vector_of_a_changed_text_is_dropped(store: EntryStore) -> None:
    """Another text loses the vector, other fields keep it, a given one replaces it."""
    uid = entry_uid("acme", "m1")

    async def write(changed: Entry, **vectors: float) -> list[float] | None:
        given = {name: unit(1, value) for name, value in vectors.items()}
        change = Change(Answer("x"), puts=(changed,), vectors=given, model=MODEL)
        await store.change("acme", ["m1"], lambda _: change)
        vector = (await store.hydrate("acme", [uid], model=MODEL))[uid].vector
        return None if vector is None else [round(float(value), 2) for value in vector]

    assert await write(entry(), m1=0) == [1, 0]
    assert await write(entry(category="stack")) == [1, 0]
    assert await write(entry(text="another")) is None
    assert await write(entry(text="another"), m1=1) == [0.71, 0.71]


async def test_a_deleted_entry_takes_its_vector_with_it(store: EntryStore) -> None:
    """An entry that is made anew with the same text has no vector."""
    known = Change(Answer("x"), puts=(entry(),), vectors={"m1": unit(1, 0)}, model=MODEL)
    await store.change("acme", ["m1"], lambda _: known)
    await delete(store, "m1")
    await put(store, entry())
    uid = entry_uid("acme", "m1")
    assert (await store.hydrate("acme", [uid], model=MODEL))[uid].vector is None


async def test_writers_of_two_engines_lose_nothing(record: Record) -> None:
    """Forty increments by two writers at once, each on what the other has left, add up to forty."""
    await put(record.store, entry(access_count=0))

    def increment(current: Mapping[str, Entry]) -> Change:
        old = current["m1"]
        new = replace(old, access_count=old.access_count + 1)
        return Change(Answer("x", new), puts=(new,))

    async with record.again() as other:
        await asyncio.gather(
            *(each.change("acme", ["m1"], increment) for each in (record.store, other) * 20)
        )
    found = (await record.store.entries("acme", ["m1"]))["m1"]
    assert (found.access_count, found.version) == (40, 41)


async def test_ping_and_close(record: Record) -> None:
    """The record answers a ping until it is closed, which may be done twice."""
    await record.store.ping()
    async with record.again() as other:
        await other.close()
        await other.close()
        with pytest.raises(SourceUnavailable):
            await other.ping()
        with pytest.raises(SourceUnavailable):
            await put(other, entry())
    await record.store.ping()


async def test_closing_waits_for_writes_that_nobody_waits_for(record: Record) -> None:
    """A write whose caller is gone is whole when the record is closed."""
    async with record.again() as other:
        writing = asyncio.create_task(put(other, entry()))
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await other.close()
    assert await record.store.count("acme") == 1
