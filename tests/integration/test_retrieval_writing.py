"""Writes through the use case: who may, what is remembered, and what others never notice."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
from support.retrieval.record import (
    ANA,
    AS_ADMIN,
    AS_ANA,
    AS_BOB,
    AS_CAL,
    AS_SERVICE,
    BOB,
    DESK,
    NOW,
    T0,
    entry,
)
from support.retrieval.service import Parts, open_parts

from hilvan_kit.auth import Principal
from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.errors import NotFound, NotYetSearchable, SourceUnavailable, WriteRefused
from hilvan_retrieval.model.entry import Answer, Axis, Entry, Layer, Owner, entry_uid
from hilvan_retrieval.model.index import Source


@pytest_asyncio.fixture
async def parts() -> AsyncIterator[Parts]:
    """Opens the parts."""
    async with open_parts() as opened:
        yield opened


async def remember(parts: Parts, each: Entry, who: Principal = AS_ANA) -> Answer:
    """Remember a statement now."""
    return await parts.writer.remember(who, each, parts.record.clock.moment(), None)


async def outcomes(parts: Parts, *texts: str) -> list[str]:
    """Remember statements one after the other and tell what became of each."""
    return [
        (await remember(parts, entry(f"s{number}", text))).outcome
        for number, text in enumerate(texts)
    ]


async def test_a_trivial_variant_reinforces(parts: Parts) -> None:
    """Whether the index has the first statement yet or not; the answer is the stored one."""
    assert await outcomes(parts, "I live in Madrid", "i live in madrid!") == [
        "stored",
        "reinforced",
    ]
    await parts.settle()
    answer = await remember(parts, entry("s9", "I live in Madrid."))
    assert answer.entry is not None
    assert (answer.entry.id, answer.entry.reinforcement_count) == ("s0", 2)
    assert answer.similarity == 1.0
    assert await parts.record.store.count("acme") == 1


async def test_the_same_words_reinforce_below_the_models_threshold(parts: Parts) -> None:
    """Although another statement is nearer by the model's own measure."""
    texts = ("la reunión es el miércoles", "La reunion es el miercoles con Ana", "otra cosa")
    for number, text in enumerate(texts):
        await parts.store(entry(f"m{number}", text))
    shouted = "¡LA REUNIÓN ES EL MIÉRCOLES!"
    answer = await remember(parts, entry("new", shouted))
    assert (answer.outcome, answer.similarity) == ("reinforced", 1.0)
    assert answer.entry is not None
    assert answer.entry.id == "m0"


async def test_a_changed_number_is_another_statement(parts: Parts) -> None:
    """It is stored beside the first one."""
    assert await outcomes(parts, "vuelo a las 9", "vuelo a las 10") == ["stored", "stored"]


async def test_statements_of_other_owners_and_layers_are_none_of_it(parts: Parts) -> None:
    """Each owner and layer remembers for itself."""
    text = "the office is in Madrid"
    for each, who in (
        (entry("m1", text), AS_ANA),
        (entry("m2", text, owner=DESK), AS_ANA),
        (entry("m3", text, layer=Layer.EPISODE), AS_ANA),
        (entry("m4", text, owner=BOB), AS_BOB),
    ):
        answer = await remember(parts, each, who)
        assert (answer.outcome, answer.similarity) == ("stored", None)


async def test_what_no_longer_holds_is_said_anew(parts: Parts) -> None:
    """A superseded or ended statement is not reinforced."""
    ended = entry("m1", "I live in Madrid", valid_until=NOW - timedelta(days=1))
    await parts.store(ended)
    assert (await remember(parts, entry("m2", "I live in Madrid"))).outcome == "stored"


async def test_a_stale_index_reinforces_nobody_elses_entry(parts: Parts) -> None:
    """An id that was deleted and is another owner's now is not what the index says it is."""
    await parts.store(entry("m1", "I live in Madrid"))
    parts.vector.check = parts.keyword.check = refuse_to_write
    await parts.writer.delete(AS_ANA, "m1", "", None)
    await remember(parts, entry("m1", "I live in Madrid", owner=BOB), AS_BOB)
    # A service sees both owners, so that only the record keeps them apart.
    answer = await remember(parts, entry("m2", "I live in Madrid"), AS_SERVICE)
    assert (answer.outcome, answer.similarity) == ("stored", None)
    assert (await parts.uses.reader.get(AS_BOB, "m1")).reinforcement_count == 0


def refuse_to_write(_: object) -> None:
    """Be down for writes."""
    raise SourceUnavailable("down")


async def test_two_statements_at_once_do_not_miss_each_other(parts: Parts) -> None:
    """One is stored, all others reinforce it."""
    answers = await asyncio.gather(
        *(remember(parts, entry(f"m{number}", "I live in Madrid")) for number in range(6))
    )
    assert sorted(each.outcome for each in answers) == ["reinforced"] * 5 + ["stored"]
    assert await parts.record.store.count("acme") == 1


async def test_reinforcing_touches_no_index(parts: Parts) -> None:
    """It leaves no row for them, and nothing is embedded again."""
    await parts.store(entry("m1", "I live in Madrid"))
    parts.embedder.embedded.clear()
    await remember(parts, entry("m2", "I live in Madrid"))
    assert not await parts.record.outbox.unsettled(
        [entry_uid("acme", "m1")], parts.indexes.live.feeds
    )
    assert parts.embedder.embedded == ["I live in Madrid"]


async def test_a_stored_statement_keeps_its_vector(parts: Parts) -> None:
    """What was embedded to compare is not embedded again to index."""
    await remember(parts, entry("m1", "I live in Madrid"))
    await parts.settle()
    assert parts.embedder.embedded == ["I live in Madrid"]


async def test_remembering_needs_the_model_and_the_index(parts: Parts) -> None:
    """Without either nothing is stored, rather than stored twice."""
    for part in (parts.embedder, parts.vector):
        part.error = SourceUnavailable("down")
        with pytest.raises(SourceUnavailable):
            await remember(parts, entry())
        part.error = None
    assert await parts.record.store.count("acme") == 0


async def test_only_who_may_write_an_owner_stores_its_entries(parts: Parts) -> None:
    """A reader is refused, an admin and a service are not."""
    for who in (AS_BOB, AS_CAL):
        with pytest.raises(WriteRefused):
            await parts.writer.upsert(who, entry(owner=DESK), None)
        with pytest.raises(WriteRefused):
            await remember(parts, entry(owner=DESK), who)
    assert await parts.record.store.count("acme") == 0
    for who in (AS_ANA, AS_ADMIN, AS_SERVICE):
        await parts.writer.upsert(who, entry(owner=DESK), None)


async def test_who_reads_is_refused_and_who_does_not_finds_nothing(parts: Parts) -> None:
    """For a change of an entry of the project by Bob, who reads it, and Cal, who doesn't."""
    await parts.store(entry("p1", owner=DESK), entry("c1", owner=Owner(Axis.USER, "cal")))
    for who, error in ((AS_BOB, WriteRefused), (AS_CAL, NotFound)):
        with pytest.raises(error):
            await parts.writer.update(who, "p1", {"text": "x"}, "", NOW, None)
        with pytest.raises(error):
            await parts.writer.delete(who, "p1", "", None)
        with pytest.raises(error):
            await parts.writer.supersede(who, "p1", "c1", "", None)
    with pytest.raises(NotFound):
        await parts.writer.supersede(AS_CAL, "c1", "p1", "", None)


async def test_a_link_to_what_cannot_be_seen_is_a_link_to_nothing(parts: Parts) -> None:
    """It is dated like one to a made-up id, and stays so when that entry changes (case 36)."""
    await parts.store(entry("bobs", owner=BOB, create_time=NOW))
    for target in ("bobs", "made-up"):
        answer = await parts.writer.upsert(AS_ANA, entry("m1", superseded_by=target), None)
        assert answer.entry is not None
        assert answer.entry.supersede_time == T0
    await parts.writer.upsert(AS_ANA, entry("m1", superseded_by="bobs"), None)
    await parts.store(entry("bobs", owner=BOB, valid_from=NOW))
    assert (await parts.uses.reader.get(AS_ANA, "m1")).supersede_time == T0
    imported = {0: entry("m2", superseded_by="bobs"), 1: entry("m3", superseded_by="made-up")}
    answer, faults = await parts.writer.import_batch(AS_ANA, imported, {})
    assert (answer.outcome, faults) == ("2", {})


async def test_an_import_refuses_what_the_caller_may_not_write(parts: Parts) -> None:
    """By record: another owner's entry, and an id that is another owner's."""
    await parts.store(entry("bobs", owner=BOB))
    records = {0: entry("m1"), 1: entry("m2", owner=BOB), 2: entry("bobs")}
    answer, faults = await parts.writer.import_batch(AS_ANA, records, {})
    assert answer.outcome == "1"
    assert {index: fault[0].field for index, fault in faults.items()} == {
        1: "entry.owner",
        2: "entry.id",
    }


async def test_accesses_are_counted_of_what_the_caller_sees(parts: Parts) -> None:
    """Another owner's entries count no access by it."""
    await parts.store(entry("m1"), entry("bobs", owner=BOB))
    assert await parts.writer.count_accesses(AS_ANA, ["m1", "bobs", "made-up"], NOW, None) == 1
    assert (await parts.uses.reader.get(AS_BOB, "bobs")).access_count == 0


async def test_waiting_for_a_write_ends_at_the_deadline(parts: Parts) -> None:
    """With an error that names the entry; the write itself is recorded."""
    parts.vector.check = refuse_to_write
    await parts.writer.upsert(AS_ANA, entry(), None)
    with pytest.raises(NotYetSearchable, match="m1"):
        await parts.writer.settle(AS_ANA, ["m1"], Deadline.after(0.05))
    assert await parts.record.store.count("acme") == 1
    parts.vector.check = lambda _: None
    await parts.writer.settle(AS_ANA, ["m1"], Deadline.after(30))


async def test_an_index_that_does_not_answer_has_no_state(parts: Parts) -> None:
    """The other one tells its own, and both outboxes are counted."""
    await parts.store(entry())
    parts.vector.error = SourceUnavailable("down")
    keyword, vector = await parts.uses.reader.index_states()
    assert (vector.generation.source, vector.state) == (Source.VECTOR, None)
    assert keyword.generation.source is Source.KEYWORD
    assert keyword.state is not None
    assert (keyword.state.document_count, keyword.counts.pending) == (1, 0)


async def test_pages_are_cut_between_equal_times(parts: Parts) -> None:
    """A page's key is exact to the microsecond in any year: nothing is skipped or repeated."""
    base = datetime(2040, 1, 1, tzinfo=UTC)
    times = [base + timedelta(microseconds=14 + 21 * (number // 3)) for number in range(30)]
    await parts.store(*(entry(f"m{n:02}", update_time=time) for n, time in enumerate(times)))
    found: list[str] = []
    after = None
    while True:
        page, after = await parts.uses.reader.page(
            AS_ANA,
            owners=frozenset({ANA}),
            layers=frozenset(),
            categories=frozenset(),
            updated_after=None,
            size=4,
            after=after,
        )
        found += [each.id for each in page]
        if after is None:
            break
    assert sorted(found) == [f"m{n:02}" for n in range(30)]
