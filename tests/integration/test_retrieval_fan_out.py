"""The fan-out over both indexes: what is found, what is left out, and what a bad source costs."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from support.retrieval.record import (
    ANA,
    AS_ANA,
    AS_BOB,
    AS_RIVAL,
    AS_SERVICE,
    DESK,
    NOW,
    SPACE,
    T0,
    entry,
)
from support.retrieval.service import Parts, open_parts

from hilvan_kit.auth import Principal
from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.core.filter import CandidateRequest
from hilvan_retrieval.errors import AllSourcesFailed, SourceTimeout, SourceUnavailable
from hilvan_retrieval.model.entry import Layer
from hilvan_retrieval.model.index import Source
from hilvan_retrieval.model.policy import CategoryMute, EntryMute
from hilvan_retrieval.usecases.candidate import Candidates, PartStatus

OK, TIMEOUT, DOWN, SKIPPED = (
    PartStatus.OK,
    PartStatus.TIMEOUT,
    PartStatus.UNAVAILABLE,
    PartStatus.SKIPPED,
)
CAP_S = 0.15


@pytest_asyncio.fixture
async def parts() -> AsyncIterator[Parts]:
    """Opens parts whose engines have little time, with two memories and an episode in them."""
    async with open_parts(cap_seconds=CAP_S) as opened:
        await opened.store(
            entry("m1", "Ticket QX-4471 was closed by the warehouse"),
            entry("m2", "We talked about closing things"),
            entry("e1", "The warehouse moved", layer=Layer.EPISODE),
        )
        yield opened


async def ask(
    parts: Parts,
    query: str = "warehouse",
    who: Principal = AS_ANA,
    seconds: float = 30,
    **values: Any,
) -> Candidates:
    """Ask for candidates of memories."""
    base: dict[str, Any] = {"layers": (Layer.MEMORY,), "owners": None, "limit": 10, "as_of": NOW}
    request = CandidateRequest(query, **(base | values))
    now = parts.record.clock.moment()
    return await parts.retriever.candidates(who, request, now, Deadline.after(seconds))


def ids(found: Candidates) -> set[str]:
    """Tell the candidates' ids."""
    return {each.entry.id for each in found.candidates}


def statuses(found: Candidates) -> list[PartStatus]:
    """Tell what became of the vector and of the keyword index."""
    assert [each.source for each in found.sources] == [Source.VECTOR, Source.KEYWORD]
    return [each.status for each in found.sources]


async def test_a_keyword_only_hit_is_a_candidate(parts: Parts) -> None:
    """An identifier that no vector knows is found by its word (case 1)."""
    found = await ask(parts, "QX-4471", limit=1)
    best = next(each for each in found.candidates if each.entry.id == "m1")
    assert best.found.keyword_rank == 1
    assert statuses(found) == [OK, OK]


async def test_all_layers_are_asked_in_one_round(parts: Parts) -> None:
    """Each candidate is of the layer that was asked for, each list is reported."""
    found = await ask(parts, layers=(Layer.MEMORY, Layer.EPISODE))
    assert {"m1", "e1"} <= ids(found)
    assert {(each.source, each.layer) for each in found.lists} == {
        (source, layer) for source in Source for layer in (Layer.MEMORY, Layer.EPISODE)
    }
    assert ids(await ask(parts, layers=(Layer.EPISODE,))) == {"e1"}


async def test_a_candidate_has_its_calibrated_similarity(parts: Parts) -> None:
    """Where the vector index found it, and none where only the keyword index did."""
    calibrated = parts.embedder.model.calibration.of
    for each in (await ask(parts)).candidates:
        assert each.found.cosine is not None
        assert each.similarity == pytest.approx(calibrated(each.found.cosine))
    for each in (await ask(parts, sources=(Source.KEYWORD,))).candidates:
        assert (each.found.cosine, each.similarity) == (None, None)


async def test_a_source_that_is_not_asked_is_skipped(parts: Parts) -> None:
    """It gives no list, and its failure is nobody's business."""
    parts.vector.error = SourceUnavailable("down")
    found = await ask(parts, sources=(Source.KEYWORD,), require_all_sources=True)
    assert statuses(found) == [SKIPPED, OK]
    assert {each.source for each in found.lists} == {Source.KEYWORD}
    assert ids(found) == {"m1"}


@pytest.mark.parametrize(
    ("error", "status"), [(SourceUnavailable("down"), DOWN), (SourceTimeout("slow"), TIMEOUT)]
)
async def test_one_failed_source_is_told_and_the_other_answers(
    parts: Parts, error: Exception, status: PartStatus
) -> None:
    """Whichever of the three parts fails, the hits of what is left come."""
    parts.vector.error = error
    found = await ask(parts)
    assert (statuses(found), ids(found)) == ([status, OK], {"m1"})
    parts.vector.error, parts.keyword.error = None, error
    found = await ask(parts)
    assert (statuses(found), ids(found)) == ([OK, status], {"m1", "m2"})
    parts.keyword.error, parts.embedder.error = None, error
    found = await ask(parts)
    assert (statuses(found), ids(found)) == ([status, OK], {"m1"})


async def test_a_slow_engine_costs_its_cap_and_no_more(parts: Parts) -> None:
    """The answer comes with what the other one gave, long before the deadline."""
    parts.vector.gate = asyncio.Event()
    found = await ask(parts)
    assert (statuses(found), ids(found)) == ([TIMEOUT, OK], {"m1"})
    assert CAP_S <= found.sources[0].seconds < 20
    assert parts.vector.ended == ["cancelled"]


async def test_both_sources_failed_is_an_error(parts: Parts) -> None:
    """It tells what became of each."""
    parts.vector.error, parts.keyword.error = SourceUnavailable("down"), SourceTimeout("slow")
    with pytest.raises(AllSourcesFailed, match="vector: unavailable, keyword: timeout"):
        await ask(parts)


async def test_all_sources_can_be_required(parts: Parts) -> None:
    """Then one that fails fails the call."""
    parts.keyword.error = SourceUnavailable("down")
    await ask(parts)
    with pytest.raises(AllSourcesFailed):
        await ask(parts, require_all_sources=True)


async def no_task_is_left(call: Callable[[], Awaitable[object]]) -> None:
    """Make a call, whatever it raises, and see that nothing of it goes on."""
    before = asyncio.all_tasks()
    await asyncio.gather(call(), return_exceptions=True)
    assert asyncio.all_tasks() == before


async def test_a_sleeping_engine_does_not_hold_the_turn() -> None:
    """The answer comes inside a deadline of 100 ms, and the late branch is cancelled (case 45)."""
    async with open_parts() as parts:
        await parts.store(entry("m1", "the warehouse"))
        await ask(parts)
        parts.keyword.gate = asyncio.Event()

        before = asyncio.all_tasks()
        took = []
        for _ in range(5):
            started = time.monotonic()
            found = await ask(parts, seconds=0.1)
            took.append(time.monotonic() - started)
            assert (statuses(found), ids(found)) == ([OK, TIMEOUT], {"m1"})
        # The fastest of them: a busy machine may stop any single one.
        assert min(took) < 0.1
        assert asyncio.all_tasks() == before
        assert parts.keyword.ended == ["cancelled"] * 5


async def test_a_hanging_embedder_leaves_time_to_answer() -> None:
    """What is left of the deadline after waiting for it is enough to read the record."""
    async with open_parts() as parts:
        await parts.store(entry("m1", "the warehouse"))
        parts.embedder.gate = asyncio.Event()
        found = await ask(parts, seconds=0.5)
        assert (statuses(found), ids(found)) == ([TIMEOUT, OK], {"m1"})
        assert found.sources[0].seconds < 0.95 * 0.5


async def test_a_cancelled_call_leaves_no_task(parts: Parts) -> None:
    """Both branches end with their caller."""
    parts.vector.gate = parts.keyword.gate = asyncio.Event()

    async def call() -> None:
        asking = asyncio.create_task(ask(parts))
        await asyncio.gather(parts.vector.reached.wait(), parts.keyword.reached.wait())
        asking.cancel()
        await asking

    parts.vector.reached.clear()
    parts.keyword.reached.clear()
    await no_task_is_left(call)
    assert (parts.vector.ended, parts.keyword.ended) == (["cancelled"], ["cancelled"])


async def test_a_fault_of_ours_leaves_no_task(parts: Parts) -> None:
    """A branch that raises what nobody foresaw takes the other one with it."""
    parts.vector.error, parts.keyword.gate = RuntimeError("a fault of ours"), asyncio.Event()
    await no_task_is_left(lambda: ask(parts))
    assert parts.keyword.ended == ["cancelled"]
    with pytest.raises(ExceptionGroup, match="unhandled errors"):
        await ask(parts)


async def test_a_deleted_entry_is_gone_though_indexes_still_have_it(parts: Parts) -> None:
    """The record decides (case 39), and in the record's time, not the indexes'."""
    parts.vector.forgets = parts.keyword.forgets = False
    await parts.writer.delete(AS_ANA, "m1", "", None)
    await parts.settle()
    assert (await parts.vector.inner.state()).document_count == 3
    found = await ask(parts)
    assert [each.hit_count for each in found.lists] == [2, 1]
    assert ids(found) == {"m2"}


async def test_what_changed_since_it_was_indexed_is_left_out(parts: Parts) -> None:
    """Superseded, ended, or of another category: while the indexes lag the record decides."""
    parts.vector.check = parts.keyword.check = refuse_to_write
    changes: tuple[dict[str, Any], ...] = (
        {"superseded_by": "m2"},
        {"valid_until": T0 + timedelta(days=1)},
        {"category": "other"},
    )
    for values in changes:
        assert ids(await ask(parts, categories=frozenset({""}))) == {"m1", "m2"}
        await parts.writer.upsert(AS_ANA, entry("m1", "the warehouse", **values), None)
        assert ids(await ask(parts, categories=frozenset({""}))) == {"m2"}
        await parts.writer.upsert(AS_ANA, entry("m1", "the warehouse"), None)


def refuse_to_write(_: object) -> None:
    """Be down for writes."""
    raise SourceUnavailable("down")


async def test_muted_entries_are_left_out_unless_wanted(parts: Parts) -> None:
    """By category for everybody, by themselves for one user; with `include_muted` they say so."""
    await parts.store(entry("m3", "the warehouse", category="gossip"))
    mutes = (CategoryMute(ANA, "gossip", NOW + timedelta(days=1)),)
    await parts.uses.policies.put_space("acme", replace(SPACE, mutes=mutes))
    await parts.uses.policies.put_user_mutes("acme", "ana", [EntryMute("m1")])
    assert ids(await ask(parts)) == {"m2"}
    found = await ask(parts, include_muted=True)
    assert {each.entry.id: each.muted for each in found.candidates} == {
        "m1": True,
        "m2": False,
        "m3": True,
    }
    assert {"m1", "m2"} == ids(await ask(parts, who=AS_SERVICE, owners=frozenset({ANA})))
    parts.record.clock.move(timedelta(days=2))
    assert ids(await ask(parts)) == {"m2", "m3"}


async def test_the_past_is_answered_as_it_was(parts: Parts) -> None:
    """A superseded entry counts at a moment before its replacement came."""
    await parts.store(
        entry("old", "room 12", superseded_by="new"), entry("new", "room 40", create_time=NOW)
    )
    assert {"old", "new"} & ids(await ask(parts, "room", as_of=NOW)) == {"new"}
    before = NOW - timedelta(days=1)
    assert "old" in ids(await ask(parts, "room", as_of=before))


async def test_nobody_is_given_what_is_not_theirs(parts: Parts) -> None:
    """Neither by asking for everything nor by naming owners."""
    await parts.store(entry("p1", "the warehouse", owner=DESK))
    for owners in (None, frozenset({ANA, DESK})):
        assert ids(await ask(parts, who=AS_BOB, owners=owners)) == {"p1"}
        assert ids(await ask(parts, who=AS_RIVAL, owners=owners)) == set()


async def test_similar_pairs_are_told_when_asked_for(parts: Parts) -> None:
    """By index of the candidates, from the floor on; without a floor there are none."""
    await parts.store(entry("m3", "ticket qx-4471 was closed by the warehouse!"))
    found = await ask(parts, pair_similarity_floor=0.9)
    ((left, right),) = zip(found.pairs.left, found.pairs.right, strict=True)
    assert {found.candidates[each].entry.id for each in (left, right)} == {"m1", "m3"}
    assert found.pairs.similarity[0] == pytest.approx(1, abs=1e-3)
    assert len((await ask(parts)).pairs.left) == 0


async def test_each_stage_is_timed(parts: Parts) -> None:
    """Under the names that the wire promises."""
    found = await ask(parts)
    assert found.timings.keys() == {"embed", "vector", "keyword", "record", "pairs"}
    assert all(seconds >= 0 for seconds in found.timings.values())
