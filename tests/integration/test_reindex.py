"""New indexes beside the live ones: built, switched to, gone back from, dropped, and mended."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from support.retrieval.record import RECORDS, Record, entry
from support.retrieval.service import until

from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.adapters.embedding.hashing import HashingEmbedder
from hilvan_retrieval.adapters.keyword.memory import MemoryKeywordIndex
from hilvan_retrieval.adapters.vector.memory import MemoryVectorIndex
from hilvan_retrieval.core.index import Difference, document
from hilvan_retrieval.errors import EngineMisconfigured, ReindexRefused, SourceUnavailable
from hilvan_retrieval.model.entry import Answer, Change, Entry, Uid, entry_uid
from hilvan_retrieval.model.generation import Generation, GenerationState
from hilvan_retrieval.model.index import Source
from hilvan_retrieval.ports.index import KeywordIndex, VectorIndex
from hilvan_retrieval.usecases.generation import Engine, OpenIndexes
from hilvan_retrieval.usecases.index import CheckedBucket, IndexChecker
from hilvan_retrieval.usecases.outbox import OutboxWorker

OLD, NEW = HashingEmbedder(32), HashingEmbedder(64)
EMBEDDERS = {each.model.id: each for each in (OLD, NEW)}
VECTOR, KEYWORD = Source.VECTOR, Source.KEYWORD


class LostIndex(MemoryVectorIndex):
    """A vector index whose engine can lose everything, or be down."""

    down = False

    async def ensure(self) -> bool:
        """See `VectorIndex`."""
        if self.down:
            raise SourceUnavailable("down")
        return await super().ensure()

    def lose(self) -> None:
        """Be as new."""
        self._documents.clear()
        self._is_new = True


@dataclass
class Engines:
    """OpenIndexes that outlive the processes that use them, by the feed of their generation."""

    made: dict[str, MemoryVectorIndex | MemoryKeywordIndex] = field(default_factory=dict)

    def vector(self, generation: Generation) -> VectorIndex:
        """Connect to a generation's vectors."""
        size = EMBEDDERS[generation.recipe].model.dimensions
        made = self.made.setdefault(generation.feed, LostIndex(size))
        made.__dict__.update(_closed=False)
        return made  # type: ignore[return-value]  # by its feed

    def keyword(self, generation: Generation) -> KeywordIndex:
        """Connect to a generation's words."""
        made = self.made.setdefault(generation.feed, MemoryKeywordIndex())
        made.__dict__.update(_is_closed=False)
        return made  # type: ignore[return-value]  # by its feed

    async def uids(self, feed: str) -> set[Uid]:
        """What an index holds."""
        index = self.made[feed]
        held = index._documents if isinstance(index, MemoryVectorIndex) else index._entries
        return set(held)


@dataclass(frozen=True, slots=True)
class Replica:
    """A process: its record, its open indexes and its worker."""

    record: Record
    indexes: OpenIndexes
    indexer: OutboxWorker

    async def put(self, *entries: Entry) -> None:
        """Write entries."""
        change = Change(Answer("put"), puts=entries)
        await self.record.store.change("acme", [], lambda _: change)
        self.indexer.notice()

    async def delete(self, *ids: str) -> None:
        """Remove entries."""
        change = Change(Answer("gone"), deletes=ids)
        await self.record.store.change("acme", ids, lambda _: change)
        self.indexer.notice()

    async def settled(self, feed: str) -> None:
        """Wait until an index has everything."""

        async def nothing_waits() -> bool:
            self.indexer.notice()
            (generation,) = [
                each for each in await self.record.generations.all() if each.feed == feed
            ]
            counts = await self.record.outbox.counts(feed)
            return generation.is_filled and counts.pending == 0

        await until(nothing_waits)

    async def check(self, *, repair: bool = False) -> dict[str, tuple[int, int, int]]:
        """Tell by feed how much is missing, stale, and a ghost."""
        checker = IndexChecker(self.record.generations, self.record.outbox, self.indexes)
        found = [bucket async for bucket in checker.check(repair=repair)]
        assert [bucket.number for bucket in found] == list(range(1, 257))
        return {
            feed: (
                sum(len(each.missing) for each in differences(found, feed)),
                sum(len(each.stale) for each in differences(found, feed)),
                sum(len(each.ghosts) for each in differences(found, feed)),
            )
            for feed in (each.generation.feed for each in self.indexes.opened)
        }


def differences(found: list[CheckedBucket], feed: str) -> list[Difference]:
    """What a check found of one index."""
    return [
        each.difference
        for bucket in found
        for each in bucket.indexes
        if each.generation.feed == feed and each.difference is not None
    ]


@asynccontextmanager
async def running(
    record: Record,
    engines: Engines,
    wanted: str = OLD.model.id,
    known: tuple[str, ...] = tuple(EMBEDDERS),
    engine: str = "memory",
) -> AsyncIterator[Replica]:
    """Run a process over the record."""
    indexes = OpenIndexes(
        record.generations,
        record.outbox,
        Engine(engine, wanted, frozenset(known), engines.vector),
        Engine("memory", "words", frozenset({"words"}), engines.keyword),
        EMBEDDERS,
    )
    await indexes.open()
    indexer = OutboxWorker(record.outbox, indexes)
    worker = asyncio.create_task(indexer.run())
    try:
        yield Replica(record, indexes, indexer)
    finally:
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)


@pytest.fixture(params=list(RECORDS))
async def record(request: pytest.FixtureRequest) -> AsyncIterator[Record]:
    """Opens a new record of each kind."""
    async with RECORDS[request.param]() as opened:
        yield opened


def uids(*ids: str) -> set[Uid]:
    """Name entries of the tenant."""
    return {entry_uid("acme", each) for each in ids}


async def test_another_model_is_built_beside_and_switched_to(record: Record) -> None:
    """Searches stay with the old one until then; writes meanwhile reach both; and back again."""
    engines = Engines()
    async with running(record, engines, wanted=OLD.model.id) as first:
        await first.put(*(entry(f"m{number}") for number in range(30)))
        await first.settled("vector.1")
    async with running(record, engines, wanted=NEW.model.id) as replica:
        assert replica.indexes.live.embedder is OLD
        built = await replica.indexes.begin(VECTOR)
        assert (built.feed, built.recipe) == ("vector.2", NEW.model.id)
        assert replica.indexes.live.vector_feed == "vector.1"
        await replica.put(entry("late"))
        await replica.delete("m3")
        await replica.settled("vector.2")
        expected = uids(*(f"m{number}" for number in range(30) if number != 3), "late")
        assert await engines.uids("vector.2") == expected
        await replica.indexes.switch(VECTOR)
        assert replica.indexes.live.embedder is NEW
        await replica.put(entry("later"))
        await replica.settled("vector.1")
        await replica.settled("vector.2")
        assert await engines.uids("vector.1") == await engines.uids("vector.2")
        await replica.indexes.roll_back(VECTOR)
        assert replica.indexes.live.vector_feed == "vector.1"
        await replica.indexes.roll_back(VECTOR)
        assert [each.feed for each in await replica.indexes.drop(VECTOR)] == ["vector.1"]
        assert await engines.uids("vector.1") == set()
        assert [each.generation.feed for each in replica.indexes.opened] == [
            "keyword.1",
            "vector.2",
        ]
        await replica.put(entry("last"))
        await replica.settled("vector.2")
        assert uids("last") <= await engines.uids("vector.2")


async def test_a_switch_waits_until_the_new_index_has_caught_up(record: Record) -> None:
    """Without one, unfilled, or with parked entries it is refused, and says why."""
    engines = Engines()
    async with running(record, engines) as replica:
        with pytest.raises(ReindexRefused, match="keyword: no index is being built"):
            await replica.indexes.switch(KEYWORD)
        with pytest.raises(ReindexRefused, match="no former index"):
            await replica.indexes.roll_back(KEYWORD)
        await replica.put(*(entry(f"m{number}") for number in range(5)))
        await replica.indexes.begin(KEYWORD)
        with pytest.raises(ReindexRefused, match=r"keyword\.2 is not caught up"):
            await replica.indexes.switch(KEYWORD)
        await replica.settled("keyword.2")
    await record.outbox.announce("keyword.2", [entry_uid("acme", "m1")])
    (row,) = await record.outbox.due("keyword.2", 10)
    await record.outbox.postpone("keyword.2", row, "broken", None)
    async with running(record, engines) as replica:
        with pytest.raises(ReindexRefused, match="lacks 1 entries that were parked"):
            await replica.indexes.switch(KEYWORD)
        await replica.check(repair=True)
        await replica.settled("keyword.2")
        assert (await replica.indexes.switch(KEYWORD)).feed == "keyword.2"


async def test_a_build_goes_on_where_a_process_was_cut(record: Record) -> None:
    """Whatever was filled is kept; to begin again is to go on."""
    engines = Engines()
    async with running(record, engines) as replica:
        await replica.put(*(entry(f"m{number}") for number in range(40)))
        built = await replica.indexes.begin(KEYWORD)
    async with running(record, engines) as replica:
        assert (await replica.indexes.begin(KEYWORD)).feed == built.feed
        await replica.settled(built.feed)
        assert len(await engines.uids(built.feed)) == 40


async def test_a_replica_follows_what_another_one_switches(record: Record) -> None:
    """At its next look, without a restart; an index that was dropped is closed."""
    engines = Engines()
    async with (
        record.replica() as other,
        running(record, engines) as here,
        running(other, engines) as there,
    ):
        await here.indexes.begin(KEYWORD)
        await here.settled("keyword.2")
        await here.indexes.switch(KEYWORD)
        assert there.indexes.live.keyword_feed == "keyword.1"
        await there.indexes.refresh()
        assert there.indexes.live.keyword_feed == "keyword.2"
        await here.indexes.drop(KEYWORD)
        await there.indexes.refresh()
        feeds = [each.generation.feed for each in there.indexes.opened]
        assert feeds == ["keyword.2", "vector.1"]


async def test_a_write_waits_for_the_live_indexes_only(record: Record) -> None:
    """One that is being built and can't be reached keeps nobody waiting."""
    engines = Engines()
    async with running(record, engines, wanted=OLD.model.id) as replica:
        await replica.put(entry("m1"))
        await replica.settled("vector.1")
    engines.made["vector.2"] = unreachable = LostIndex(NEW.model.dimensions)
    unreachable.down = True
    async with running(record, engines, wanted=NEW.model.id) as replica:
        await replica.indexes.begin(VECTOR)
        await replica.put(entry("m2"))
        assert await replica.indexer.settled([entry_uid("acme", "m2")], Deadline.after(20))
        assert (await record.outbox.counts("vector.2")).pending
        unreachable.down = False
        await replica.settled("vector.2")


async def test_an_index_that_lost_everything_is_filled_again(record: Record) -> None:
    """The record fills it when the engine comes back empty."""
    engines = Engines()
    async with running(record, engines) as replica:
        await replica.put(*(entry(f"m{number}") for number in range(20)))
        await replica.settled("vector.1")
    lost = engines.made["vector.1"]
    assert isinstance(lost, LostIndex)
    lost.lose()
    async with running(record, engines) as replica:
        await replica.settled("vector.1")
        assert len(await engines.uids("vector.1")) == 20
    # A process may end between making the index anew and noting that it wants filling.
    lost.lose()
    assert await lost.ensure()
    async with running(record, engines) as replica:
        await replica.settled("vector.1")
        assert len(await engines.uids("vector.1")) == 20


async def test_vectors_of_an_unknown_model_are_not_left_behind(record: Record) -> None:
    """The start is refused with the model's name and the way to another one."""
    engines = Engines()
    async with running(record, engines, known=(OLD.model.id,)):
        pass
    with pytest.raises(EngineMisconfigured, match=r"hashing-32.*hilvan reindex"):
        async with running(record, engines, wanted=NEW.model.id, known=(NEW.model.id,)):
            pass


async def test_another_engine_gets_an_index_of_its_own(record: Record) -> None:
    """It answers at once and is filled from the record; the former one is kept."""
    engines = Engines()
    async with running(record, engines) as replica:
        await replica.put(*(entry(f"m{number}") for number in range(20)))
        await replica.settled("vector.1")
    async with running(record, engines, engine="cluster") as replica:
        assert replica.indexes.live.vector_feed == "vector.2"
        await replica.settled("vector.2")
        assert await engines.uids("vector.2") == await engines.uids("vector.1")
    states = {each.feed: each.state.value for each in await record.generations.all()}
    assert states == {"keyword.1": "live", "vector.1": "retired", "vector.2": "live"}


async def test_a_check_finds_what_an_index_has_otherwise(record: Record) -> None:
    """Missing, stale and ghost documents, and a repair mends all of them (case 39)."""
    engines = Engines()
    async with running(record, engines) as replica:
        await replica.put(*(entry(f"m{number}") for number in range(20)))
        await replica.settled("vector.1")
        await replica.settled("keyword.1")
        assert await replica.check() == {"keyword.1": (0, 0, 0), "vector.1": (0, 0, 0)}
        index = engines.made["keyword.1"]
        await index.delete([*uids("m1", "m2")])
        ghost = document("acme", entry_uid("acme", "ghost"), entry("ghost"))
        stale = document("acme", entry_uid("acme", "m3"), entry("m3", "as it was"))
        await index.upsert([ghost, stale])
        assert await replica.check() == {"keyword.1": (2, 1, 1), "vector.1": (0, 0, 0)}
        assert await replica.check(repair=True) == {
            "keyword.1": (2, 1, 1),
            "vector.1": (0, 0, 0),
        }
        await replica.settled("keyword.1")
        assert await replica.check() == {"keyword.1": (0, 0, 0), "vector.1": (0, 0, 0)}
        assert len(await engines.uids("keyword.1")) == 20


async def test_what_waits_in_the_outbox_is_no_difference(record: Record) -> None:
    """An index that is behind is known to be."""
    engines = Engines()
    async with running(record, engines):
        pass
    stopped = OpenIndexes(
        record.generations,
        record.outbox,
        Engine("memory", OLD.model.id, frozenset(EMBEDDERS), engines.vector),
        Engine("memory", "words", frozenset({"words"}), engines.keyword),
        EMBEDDERS,
    )
    await stopped.open()
    replica = Replica(record, stopped, OutboxWorker(record.outbox, stopped))
    await replica.put(entry("m1"))
    assert await replica.check() == {"keyword.1": (0, 0, 0), "vector.1": (0, 0, 0)}


async def test_an_index_that_does_not_answer_is_no_difference(record: Record) -> None:
    """The check goes on with the other one and tells which was not asked."""
    engines = Engines()
    async with running(record, engines) as replica:
        await replica.put(entry("m1"))
        await replica.settled("keyword.1")
        await engines.made["vector.1"].close()
        checker = IndexChecker(record.generations, record.outbox, replica.indexes)
        found = [bucket async for bucket in checker.check(repair=False)]
    silent = {
        each.generation.feed
        for bucket in found
        for each in bucket.indexes
        if each.difference is None
    }
    assert silent == {"vector.1"}
    assert sum(bucket.entry_count for bucket in found) == 1


def test_engines_open_what_they_made() -> None:
    """Only generations of their kind, with a recipe that they have."""
    engine = Engine("memory", "new", frozenset({"old", "new"}), Engines().keyword)
    made = Generation(KEYWORD, 1, "memory", "old", GenerationState.LIVE)
    assert engine.can_open(made)
    assert not engine.can_open(replace(made, engine="other"))
    assert not engine.can_open(replace(made, recipe="third"))
