"""What every adapter promises: the sentences of `hilvan_retrieval.ports.Generations`."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from support.retrieval.record import MODEL, RECORDS, Record, entry, unit

from hilvan_retrieval.errors import ReindexRefused
from hilvan_retrieval.model.entry import BUCKETS, Answer, Change, Entry, entry_uid
from hilvan_retrieval.model.generation import Generation, GenerationState
from hilvan_retrieval.model.index import Source

VECTOR, KEYWORD = Source.VECTOR, Source.KEYWORD
BUILDING, LIVE, RETIRED = GenerationState
ALL = len(BUCKETS)


@pytest_asyncio.fixture(params=list(RECORDS))
async def record(request: pytest.FixtureRequest) -> AsyncIterator[Record]:
    """Opens a new record of each kind."""
    async with RECORDS[request.param]() as opened:
        yield opened


async def put(record: Record, *entries: Entry) -> None:
    """Write entries as they are."""
    await record.store.change("acme", [], lambda _: Change(Answer("put"), puts=entries))


async def embedded(record: Record, model: str) -> None:
    """Write an entry with a model's vector."""
    known = Change(Answer("put"), puts=(entry("m1"),), vectors={"m1": unit(1, 0)}, model=model)
    await record.store.change("acme", [], lambda _: known)


async def begin(
    record: Record, state: GenerationState = LIVE, recipe: str = MODEL, source: Source = VECTOR
) -> Generation:
    """Begin a generation."""
    return await record.generations.begin(source, "memory", recipe, state)


async def fed(record: Record, feed: str) -> set[str]:
    """Tell the entries that wait for a feed."""
    return {row.entry_id for row in await record.outbox.due(feed, 1000)}


async def filled(record: Record, generation: Generation) -> Generation:
    """Fill a generation to the end."""
    while not generation.is_filled:
        generation = await record.generations.fill(generation, 7)
    return generation


async def test_generations_come_by_source_and_number(record: Record) -> None:
    """Each with what it was begun with; each source counts by itself."""
    first = await begin(record)
    words = await begin(record, source=KEYWORD, recipe="words")
    second = await begin(record, BUILDING, "other")
    assert await record.generations.all() == [words, first, second]
    assert [each.feed for each in (words, first, second)] == ["keyword.1", "vector.1", "vector.2"]


async def test_a_new_live_generation_retires_the_one_before(record: Record) -> None:
    """There is at most one live generation a source; the same one again is given back."""
    first = await begin(record)
    assert await begin(record) == first
    await begin(record, recipe="other")
    states = [each.state for each in await record.generations.all()]
    assert states == [RETIRED, LIVE]


async def test_one_generation_is_built_at_a_time(record: Record) -> None:
    """One of the same kind is given back, another kind is refused by name."""
    await begin(record)
    built = await begin(record, BUILDING, "other")
    assert await begin(record, BUILDING, "other") == built
    with pytest.raises(ReindexRefused, match=r"vector\.2"):
        await begin(record, BUILDING, "third")


async def test_a_number_is_never_used_again(record: Record) -> None:
    """What a dropped index left behind can't be taken for the new one's."""
    await begin(record)
    dropped = await begin(record, BUILDING)
    await record.generations.drop(dropped)
    assert (await begin(record, BUILDING)).number == dropped.number + 1


async def test_every_write_reaches_every_feed_that_there_is(record: Record) -> None:
    """From the moment that a generation is begun, until it is dropped."""
    await begin(record)
    built = await begin(record, BUILDING, "other")
    await put(record, entry("m1"))
    assert await fed(record, "vector.1") == await fed(record, "vector.2") == {"m1"}
    await record.generations.drop(built)
    await put(record, entry("m2"))
    assert await fed(record, "vector.1") == {"m1", "m2"}
    assert await fed(record, "vector.2") == set()


async def test_filling_puts_the_whole_record_into_the_outbox(record: Record) -> None:
    """Some buckets at a time, every tenant, once; what waits already keeps its place."""
    await begin(record)
    await put(record, *(entry(f"m{number}") for number in range(50)))
    await record.store.change("rival", [], lambda _: Change(Answer("put"), puts=(entry("theirs"),)))
    built = await begin(record, BUILDING, "other")
    assert (built.filled, built.is_filled) == (0, False)
    await put(record, entry("m7", "again"))
    (waiting,) = await record.outbox.due("vector.2", 10)
    one = await record.generations.fill(built, 1)
    assert 0 < one.filled < ALL
    built = await filled(record, one)
    assert built.filled == ALL
    rows = await record.outbox.due("vector.2", 1000)
    assert {(row.tenant, row.entry_id) for row in rows} == {
        *(("acme", f"m{number}") for number in range(50)),
        ("rival", "theirs"),
    }
    assert len(rows) == 51
    assert waiting in rows
    assert await record.generations.fill(built, 100) == built


async def test_filling_goes_on_after_a_crash_and_beside_another_replica(record: Record) -> None:
    """What is filled is counted with it: nothing is put twice, and nobody's step is lost."""
    await begin(record)
    await put(record, *(entry(f"m{number}") for number in range(20)))
    built = await begin(record, BUILDING, "other")
    async with record.replica() as other:
        ahead = await other.generations.fill(built, 5)
    after = await record.generations.fill(built, 5)
    assert ahead.filled < after.filled < ALL
    await filled(record, after)
    assert len(await record.outbox.due("vector.2", 1000)) == 20


async def test_of_no_entries_everything_is_filled(record: Record) -> None:
    """A new record's indexes want nothing; writes have rows of their own."""
    first = await begin(record)
    assert first.is_filled
    assert (await record.generations.refill(first)).is_filled


async def test_an_index_that_lost_all_is_filled_again(record: Record) -> None:
    """From the first bucket on; but an index that never had anything has all of it before it."""
    first = await begin(record)
    await put(record, *(entry(f"m{number}") for number in range(5)))
    assert (await record.generations.refill(first)).is_filled
    await record.outbox.settle("vector.1", await record.outbox.due("vector.1", 10))
    again = await record.generations.refill(first)
    assert again.filled == 0
    await filled(record, again)
    assert len(await record.outbox.due("vector.1", 10)) == 5


async def test_a_switch_makes_one_live_and_retires_the_other(record: Record) -> None:
    """In either way; the other source stays as it is."""
    first, words = await begin(record), await begin(record, source=KEYWORD)
    second = await begin(record, BUILDING, "other")
    for there, back in ((second, first), (first, second)):
        await record.generations.switch(there)
        states = {each.feed: each.state for each in await record.generations.all()}
        assert states == {there.feed: LIVE, back.feed: RETIRED, words.feed: LIVE}


async def test_the_live_generation_is_not_dropped(record: Record) -> None:
    """Nor is one that is gone already."""
    first = await begin(record)
    with pytest.raises(ReindexRefused, match="answers"):
        await record.generations.drop(first)
    other = await begin(record, BUILDING, "other")
    await record.generations.drop(other)
    for refused in (record.generations.drop, record.generations.switch):
        with pytest.raises(ReindexRefused, match=r"no vector\.2"):
            await refused(other)


async def test_vectors_go_with_the_last_generation_of_their_model(record: Record) -> None:
    """Those of models that are in use stay."""
    await begin(record)
    old = await begin(record, BUILDING, "other")
    for model in (MODEL, "other"):
        await embedded(record, model)
    await record.generations.drop(old)
    uid = entry_uid("acme", "m1")
    kept = await record.store.hydrate("acme", [uid], model=MODEL)
    gone = await record.store.hydrate("acme", [uid], model="other")
    assert kept[uid].vector is not None
    assert gone[uid].vector is None


async def test_a_bucket_gives_the_records_part_of_it(record: Record) -> None:
    """Of every tenant, by uid; all buckets together are the record."""
    await begin(record)
    await put(record, *(entry(f"m{number}") for number in range(40)))
    await record.store.change("rival", [], lambda _: Change(Answer("put"), puts=(entry("m1"),)))
    found = {bucket: await record.generations.bucket(bucket) for bucket in BUCKETS}
    assert all(uid.startswith(bucket) for bucket, part in found.items() for uid in part)
    everything = {uid: who.id for part in found.values() for uid, (_, who) in part.items()}
    assert len(everything) == 41
    assert everything[entry_uid("rival", "m1")] == "m1"
    assert found[entry_uid("rival", "m1")[:2]][entry_uid("rival", "m1")][0] == "rival"
