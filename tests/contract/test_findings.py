"""What every record promises to a consolidation: the sentences of `ports.Findings`."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest
import pytest_asyncio
from support.retrieval.record import ANA, BOB, DESK, NOW, RECORDS, T0, Record, entry

from hilvan_retrieval.model.contradiction import FoundContradiction, RecordedContradiction
from hilvan_retrieval.model.entry import Answer, Change, Entry, Layer, entry_uid

DAY = timedelta(days=1)
PAIR = FoundContradiction("old", "new", "polarity")


@pytest_asyncio.fixture(params=list(RECORDS))
async def record(request: pytest.FixtureRequest) -> AsyncIterator[Record]:
    """Opens a new record of each kind."""
    async with RECORDS[request.param]() as opened:
        yield opened


async def put(record: Record, *entries: Entry, tenant: str = "acme") -> None:
    """Write entries as they are."""
    await record.store.change(tenant, [], lambda _: Change(Answer("put"), puts=entries))


async def ended(record: Record, after: str = "", limit: int = 100) -> list[str]:
    """Tell the ids of what ended before `NOW`."""
    return [each.id for each in await record.findings.ended("acme", NOW, after, limit)]


async def unconfirmed(record: Record, after: str = "", limit: int = 100) -> list[str]:
    """Tell the ids of what was not confirmed since `NOW`."""
    found = await record.findings.unconfirmed("acme", NOW, 0.1, after, limit)
    return [each.id for each in found]


async def kept(record: Record) -> list[RecordedContradiction]:
    """Tell the tenant's conflicts."""
    return await record.findings.conflicts("acme", ("", ""), 100)


async def test_groups_are_owners_with_their_layers(record: Record) -> None:
    """Each pair once, by owner and layer; another tenant's are not there."""
    await put(record, entry("a", owner=BOB), entry("b"), entry("c"))
    await put(record, entry("d", layer=Layer.EPISODE), entry("e", owner=DESK))
    await put(record, entry("f", layer=Layer.PROCEDURE), tenant="rival")
    assert await record.findings.groups("acme") == [
        (DESK, Layer.MEMORY),
        (ANA, Layer.EPISODE),
        (ANA, Layer.MEMORY),
        (BOB, Layer.MEMORY),
    ]


async def test_members_come_newest_first(record: Record) -> None:
    """By falling update time, then id, as many as were asked for, of the group only."""
    await put(record, entry("b"), entry("a"), entry("late", update_time=T0 + DAY))
    await put(record, entry("x", owner=BOB), entry("y", layer=Layer.EPISODE))
    await put(record, entry("z"), tenant="rival")
    members = await record.findings.members("acme", ANA, Layer.MEMORY, 100)
    assert members == [entry_uid("acme", each) for each in ("late", "a", "b")]
    assert await record.findings.members("acme", ANA, Layer.MEMORY, 2) == members[:2]


async def test_what_ended_is_found(record: Record) -> None:
    """By validity or by a link, strictly before the moment, whole, of the tenant only."""
    over = entry("over", valid_until=NOW - DAY)
    await put(record, over, entry("linked", superseded_by="x", supersede_time=NOW - DAY))
    await put(record, entry("at", valid_until=NOW), entry("endless"))
    await put(record, entry("theirs", valid_until=T0), tenant="rival")
    assert await ended(record) == ["linked", "over"]
    found = await record.findings.ended("acme", NOW, "linked", 1)
    assert found == [replace(over, version=1)]


async def test_notes_and_what_was_touched_since_have_not_ended(record: Record) -> None:
    """Passages belong to curation; an end in the past may have been stated only now."""
    await put(
        record,
        entry("note", layer=Layer.NOTE, valid_until=T0),
        entry("updated", valid_until=T0, update_time=NOW),
        entry("judged", valid_until=T0, decay_time=NOW + DAY),
        entry("before", valid_until=T0, decay_time=T0),
    )
    assert await ended(record) == ["before"]


async def test_pages_go_on_behind_an_id(record: Record) -> None:
    """Both kinds of page, by id and at most as many as were asked for."""
    await put(record, *(entry(f"m{i}", confidence=0.5, valid_until=T0 + i * DAY) for i in range(5)))
    for page in (ended, unconfirmed):
        assert await page(record, "", 2) == ["m0", "m1"]
        assert await page(record, "m1", 2) == ["m2", "m3"]
        assert await page(record, "m4", 2) == []


async def test_what_nobody_confirmed_is_found(record: Record) -> None:
    """Memories and procedures with a confidence above the floor, untouched since the moment."""
    await put(
        record,
        entry("m", confidence=0.5),
        entry("p", confidence=0.5, layer=Layer.PROCEDURE, last_access_time=T0, decay_time=NOW),
        entry("event", confidence=0.5, layer=Layer.EPISODE),
        entry("note", confidence=0.5, layer=Layer.NOTE),
        entry("unstated"),
        entry("low", confidence=0.1),
        entry("updated", confidence=0.5, update_time=NOW + DAY),
        entry("accessed", confidence=0.5, last_access_time=NOW + DAY),
        entry("judged", confidence=0.5, decay_time=NOW + DAY),
    )
    await put(record, entry("theirs", confidence=0.5), tenant="rival")
    assert await unconfirmed(record) == ["m", "p"]


async def test_a_conflict_is_kept_with_the_contents_of_now(record: Record) -> None:
    """Evidence and both hashes, by ids, behind an id pair, of the tenant only."""
    old, new = entry("old", "a"), entry("new", "b")
    await put(record, old, new)
    await put(record, old, new, tenant="rival")
    other = FoundContradiction("new", "old", "the other way")
    assert await record.findings.record_conflicts("acme", [PAIR, other], None, NOW) == 2
    first, second = await kept(record)
    assert first == RecordedContradiction(other, new.content_hash, old.content_hash)
    assert second == RecordedContradiction(PAIR, old.content_hash, new.content_hash)
    assert await record.findings.conflicts("acme", ("new", "old"), 1) == [second]
    assert await record.findings.conflicts("acme", ("", ""), 1) == [first]
    assert await record.findings.conflicts("rival", ("", ""), 9) == []


async def test_a_conflict_that_is_seen_again_is_counted(record: Record) -> None:
    """Once a call, with the last evidence; with another text it counts from one."""
    old = entry("old", "a")
    await put(record, old, entry("new", "b"))
    again = replace(PAIR, evidence="again")
    for found in ([PAIR], [PAIR, again]):
        assert await record.findings.record_conflicts("acme", found, None, NOW) == 1
    (conflict,) = await kept(record)
    assert (conflict.seen_count, conflict.found) == (2, again)
    await put(record, replace(old, text="c"))
    await record.findings.record_conflicts("acme", [PAIR], None, NOW)
    (conflict,) = await kept(record)
    assert (conflict.seen_count, conflict.older_hash) == (1, replace(old, text="c").content_hash)


async def test_only_pairs_that_are_somebodys_are_kept(record: Record) -> None:
    """Of an owner that the caller names, both of the same one, both there and live, two of them."""
    await put(record, entry("old"), entry("new"), entry("bobs", owner=BOB))
    await put(record, entry("over", valid_until=T0))
    ana = frozenset([ANA.key])
    refused = [("old", "bobs"), ("old", "gone"), ("gone", "old"), ("old", "over"), ("old", "old")]
    pairs = [FoundContradiction(*each) for each in refused]
    assert await record.findings.record_conflicts("acme", pairs, None, NOW) == 0
    assert await record.findings.record_conflicts("acme", [PAIR], frozenset([BOB.key]), NOW) == 0
    assert await record.findings.record_conflicts("acme", [], None, NOW) == 0
    assert await kept(record) == []
    assert await record.findings.record_conflicts("acme", [PAIR], ana, NOW) == 1


async def test_a_conflict_is_forgotten_unless_it_was_kept_anew(record: Record) -> None:
    """What another caller found meanwhile, of other contents, stays."""
    await put(record, entry("old", "a"), entry("new", "b"))
    await record.findings.record_conflicts("acme", [PAIR], None, NOW)
    before = await kept(record)
    await put(record, entry("old", "c"))
    await record.findings.record_conflicts("acme", [PAIR], None, NOW)
    await record.findings.forget_conflicts("acme", before)
    await record.findings.forget_conflicts("rival", await kept(record))
    assert len(await kept(record)) == 1
    await record.findings.forget_conflicts("acme", await kept(record))
    await record.findings.forget_conflicts("acme", [])
    assert await kept(record) == []
