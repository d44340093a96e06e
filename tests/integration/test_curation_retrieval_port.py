"""Every sentence of curation's `Retrieval`, asked of the real service and of the tests' own."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import grpc
import pytest
from support.curation.service import MemoryRetrieval
from support.curation.values import NOW
from support.retrieval.service import serve

from hilvan_curation.adapters.services.retrieval import GrpcRetrieval
from hilvan_curation.errors import RetrievalUnavailable
from hilvan_curation.model.category import Axis, CategoryNote
from hilvan_curation.model.passage import NoteEntry
from hilvan_curation.model.policy import SpacePolicy
from hilvan_curation.ports.retrieval import Retrieval

MUTE = CategoryNote(Axis.PROJECT, "p", "stack", "", muted=True, muted_until=NOW, note_id="n")
POLICY = SpacePolicy("team", frozenset({"bob"}), frozenset({"ana"}), frozenset({"p"}), (MUTE,))
EMPTY = SpacePolicy("team", frozenset(), frozenset(), frozenset(), ())


def entry(
    entry_id: str, owner: str = "space:team", *, text: str = "text", **more: int
) -> NoteEntry:
    """A passage."""
    return NoteEntry(
        entry_id, owner, "Title › Part", text, ("a", "b"), "note", more.get("at", 0), NOW
    )


@pytest.fixture(params=["memory", "grpc"])
async def port(request: pytest.FixtureRequest) -> AsyncIterator[Retrieval]:
    """Each implementation."""
    async with AsyncExitStack() as stack:
        if request.param == "memory":
            yield MemoryRetrieval()
        else:
            served = await stack.enter_async_context(serve())
            yield GrpcRetrieval(served.channel, served.keys["service"])


async def test_passages_are_told_by_their_fingerprints(port: Retrieval) -> None:
    """Exactly what was put comes back, for the owners that were asked."""
    put = [entry("note:1"), entry("note:2", "project:p", at=3), entry("note:3", "user:ana")]
    await port.put_notes("acme", put)
    assert await port.note_entries("acme", ["space:team", "user:ana"]) == {
        each.id: each.fingerprint for each in (put[0], put[2])
    }
    assert await port.note_entries("acme", []) == {}
    assert await port.note_entries("acme", ["space:other"]) == {}


async def test_putting_again_changes_nothing_and_a_change_replaces(port: Retrieval) -> None:
    """The last put is what the store has."""
    for text in ("one", "one", "two"):
        await port.put_notes("acme", [entry("note:1", text=text)])
    found = await port.note_entries("acme", ["space:team"])
    assert found == {"note:1": entry("note:1", text="two").fingerprint}


async def test_more_passages_than_a_page_are_all_told(port: Retrieval) -> None:
    """Page by page, and for more owners than one request may name."""
    owners = [f"project:p{number}" for number in range(150)]
    put = [entry(f"note:{number}", owners[max(0, number - 1_050)]) for number in range(1_200)]
    for start in range(0, len(put), 400):
        await port.put_notes("acme", put[start : start + 400])
    assert len(await port.note_entries("acme", owners)) == 1_200


async def test_passages_are_forgotten_and_unknown_ones_ignored(port: Retrieval) -> None:
    """Also twice."""
    await port.put_notes("acme", [entry("note:1"), entry("note:2")])
    for _ in range(2):
        await port.delete_notes("acme", ["note:1", "note:unknown"])
    assert set(await port.note_entries("acme", ["space:team"])) == {"note:2"}


async def test_one_passage_that_is_refused_keeps_no_other_out(port: Retrieval) -> None:
    """An id that belongs to another owner is left alone."""
    await port.put_notes("acme", [entry("note:1", "user:ana", text="hers")])
    await port.put_notes("acme", [entry("note:1"), entry("note:2")])
    assert set(await port.note_entries("acme", ["space:team"])) == {"note:2"}
    assert set(await port.note_entries("acme", ["user:ana"])) == {"note:1"}


async def test_policies_are_put_replaced_confirmed_and_forgotten(port: Retrieval) -> None:
    """With members or without any; an unknown space is ignored."""
    await port.confirm_policies("acme")
    await port.put_policy("acme", POLICY)
    await port.put_policy("acme", EMPTY)
    for _ in range(2):
        await port.delete_policy("acme", "team")
    await port.confirm_policies("acme")


def tell(port: Retrieval) -> list[Callable[[], object]]:
    """Each thing that can be told."""
    return [
        lambda: port.put_policy("acme", POLICY),
        lambda: port.delete_policy("acme", "team"),
        lambda: port.confirm_policies("acme"),
        lambda: port.note_entries("acme", ["space:team"]),
        lambda: port.put_notes("acme", [entry("note:1")]),
        lambda: port.delete_notes("acme", ["note:1"]),
    ]


async def test_retrieval_that_is_not_there_is_unavailable() -> None:
    """Every method says so, and closing works all the same, twice."""
    down = MemoryRetrieval()
    down.down = True
    nobody = GrpcRetrieval(grpc.aio.insecure_channel("127.0.0.1:1"), "")
    for port in (down, nobody):
        for each in tell(port):
            with pytest.raises(RetrievalUnavailable):
                await each()  # type: ignore[misc]  # a coroutine of any result
        await port.close()
        await port.close()


async def test_a_credential_that_is_not_good_is_unavailable_too() -> None:
    """Retrieval takes nothing from who is no service of the tenant; that is told again later."""
    async with serve() as served:
        port = GrpcRetrieval(served.channel, served.keys["unknown"])
        for each in tell(port):
            with pytest.raises(RetrievalUnavailable):
                await each()  # type: ignore[misc]  # a coroutine of any result
