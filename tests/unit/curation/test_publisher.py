"""The publisher, against a port that remembers what it was told."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from support.curation.service import MemoryRetrieval, until
from support.curation.values import category, note, personal, shared

from hilvan_curation.core.access import Vaults
from hilvan_curation.errors import RetrievalUnavailable
from hilvan_curation.model.category import Axis
from hilvan_curation.model.passage import NoteEntry
from hilvan_curation.model.policy import SpacePolicy
from hilvan_curation.model.space import Members
from hilvan_curation.usecases.publication import Publisher

TEAM = shared(
    note("in", project="p", body="in it"),
    note("out", body="out of it"),
    writers=["ana"],
    projects=["p"],
)


@asynccontextmanager
async def running(
    retrieval: MemoryRetrieval, policy_seconds: float = 20.0, confirm_seconds: float = 20.0
) -> AsyncIterator[Publisher]:
    """A publisher at work."""
    publisher = Publisher(retrieval, policy_seconds=policy_seconds, confirm_seconds=confirm_seconds)
    worker = asyncio.create_task(publisher.run())
    yield publisher
    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await worker


async def test_policies_are_in_force_when_it_returns_and_passages_follow() -> None:
    """Nobody finds a passage before it is known who may."""
    retrieval = MemoryRetrieval()
    async with running(retrieval) as publisher:
        await publisher.publish("acme", Vaults((TEAM,)))
        assert retrieval.policies["acme", "team"].writers == {"ana"}
        assert retrieval.entries == {}
        await until(lambda: len(retrieval.entries) == 2)
    assert retrieval.methods() == ["put_policy", "note_entries", "put_notes"]
    assert retrieval.texts("project:p") == {"in it"}
    assert retrieval.texts("space:team") == {"out of it"}


async def test_only_what_changed_is_told() -> None:
    """The same files say nothing; one edited note is one passage and no policy."""
    retrieval = MemoryRetrieval()
    async with running(retrieval) as publisher:
        await publisher.publish("acme", Vaults((TEAM,)))
        await until(lambda: len(retrieval.entries) == 2)
        retrieval.told.clear()
        edited = replace(TEAM, notes=(TEAM.notes[0], replace(TEAM.notes[1], body="edited")))
        await publisher.publish("acme", Vaults((TEAM,)))
        await publisher.publish("acme", Vaults((edited,)))
        await until(lambda: retrieval.texts("space:team") == {"edited"})
    assert retrieval.methods() == ["delete_notes", "put_notes"]
    assert len(retrieval.told[1][1].split()) == 1


async def test_a_changed_policy_is_told_alone() -> None:
    """Members and mutes put a policy; the passages stay."""
    retrieval = MemoryRetrieval()
    muted = replace(TEAM, categories=(category("stack", "p", axis=Axis.PROJECT, muted=True),))
    async with running(retrieval) as publisher:
        await publisher.publish("acme", Vaults((TEAM,)))
        await until(lambda: len(retrieval.entries) == 2)
        retrieval.told.clear()
        await publisher.publish("acme", Vaults((TEAM,), {"team": Members()}))
        assert retrieval.policies["acme", "team"].writers == frozenset()
        await publisher.publish("acme", Vaults((muted,)))
        assert [each.category for each in retrieval.policies["acme", "team"].mutes] == ["stack"]
    assert retrieval.methods() == ["put_policy", "put_policy"]


async def test_what_is_gone_is_deleted() -> None:
    """Removed notes, and the policy and passages of a removed space; other tenants keep theirs."""
    retrieval = MemoryRetrieval()
    mine = personal("ana", note("mine", "ana", body="mine"))
    async with running(retrieval) as publisher:
        await publisher.publish("globex", Vaults((TEAM,)))
        await publisher.publish("acme", Vaults((TEAM, mine)))
        await until(lambda: len(retrieval.entries) == 5)
        await publisher.publish("acme", Vaults((replace(TEAM, notes=TEAM.notes[:1]),)))
        await until(lambda: len(retrieval.entries) == 3)
    assert set(retrieval.policies) == {("globex", "team"), ("acme", "team")}
    assert {each.text for (tenant, _), each in retrieval.entries.items() if tenant == "acme"} == {
        "in it"
    }


@pytest.mark.parametrize("first", ["from", "to"])
async def test_a_note_that_changes_hands_is_deleted_before_it_is_put(first: str) -> None:
    """Whichever space comes first, a note that moves between spaces is not lost."""
    moved = note("n", project="p", body="moving")
    before = [shared(moved, projects=["p"]), personal("ana")]
    after = [shared(projects=["p"]), personal("ana", replace(moved, space_id="ana", project_id=""))]
    order = 1 if first == "from" else -1
    retrieval = MemoryRetrieval()
    async with running(retrieval) as publisher:
        await publisher.publish("acme", Vaults(tuple(before[::order])))
        await until(lambda: retrieval.texts("project:p") == {"moving"})
        await publisher.publish("acme", Vaults(tuple(after[::order])))
        await until(lambda: retrieval.texts("user:ana") == {"moving"})
    assert retrieval.texts("project:p") == set()


async def test_a_restart_with_a_filled_store_sends_nothing_again() -> None:
    """What the store has already is read back and found to be right."""
    retrieval = MemoryRetrieval()
    async with running(retrieval) as publisher:
        await publisher.publish("acme", Vaults((TEAM,)))
        await until(lambda: len(retrieval.entries) == 2)
    retrieval.told.clear()
    gone = replace(TEAM, notes=TEAM.notes[:1])
    async with running(retrieval) as publisher:
        await publisher.publish("acme", Vaults((TEAM,)))
        await until(lambda: "note_entries" in retrieval.methods())
        await publisher.publish("acme", Vaults((gone,)))
        await until(lambda: len(retrieval.entries) == 1)
    assert retrieval.methods() == ["put_policy", "note_entries", "delete_notes"]


async def test_passages_of_a_new_project_are_looked_up_once() -> None:
    """The store may hold them from before; what is known is not asked for again."""
    retrieval = MemoryRetrieval()
    async with running(retrieval) as publisher:
        await publisher.publish("acme", Vaults((personal("ana"),)))
        await until(lambda: ("note_entries", "user:ana") in retrieval.told)
        await publisher.publish("acme", Vaults((personal("ana"), TEAM)))
        await until(lambda: len(retrieval.entries) == 2)
    assert ("note_entries", "project:p space:team") in retrieval.told


async def test_many_passages_go_in_batches() -> None:
    """No call carries more than a batch."""
    retrieval = MemoryRetrieval()
    notes = [note(f"n{number}", body=f"text {number}") for number in range(250)]
    async with running(retrieval) as publisher:
        await publisher.publish("acme", Vaults((shared(*notes),)))
        await until(lambda: len(retrieval.entries) == 250)
    sizes = [len(what.split()) for method, what in retrieval.told if method == "put_notes"]
    assert sizes == [100, 100, 50]


async def test_retrieval_that_is_down_is_told_when_it_is_back() -> None:
    """A change is answered all the same; policies come first, and none is forgotten."""
    retrieval = MemoryRetrieval()
    mine = personal("ana", note("mine", "ana", body="mine"))
    async with running(retrieval) as publisher:
        await publisher.publish("acme", Vaults((TEAM, mine)))
        await until(lambda: len(retrieval.entries) == 3)
        retrieval.told.clear()
        retrieval.down = True
        await publisher.publish("acme", Vaults((replace(TEAM, projects=(), notes=()),)))
        await asyncio.sleep(0)
        assert len(retrieval.policies) == 2
        retrieval.down = False
        await until(lambda: not retrieval.entries)
    assert set(retrieval.policies) == {("acme", "team")}
    assert retrieval.policies["acme", "team"].project_ids == frozenset()
    assert retrieval.methods() == ["delete_policy", "put_policy", "delete_notes"]


class Slow(MemoryRetrieval):
    """The first policy waits until it is let through."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.waiting = 0

    async def put_policy(self, tenant: str, policy: SpacePolicy) -> None:
        """Wait."""
        self.waiting += 1
        if self.waiting == 1:
            await self.gate.wait()
        await super().put_policy(tenant, policy)


async def test_an_older_policy_never_comes_last() -> None:
    """Of two changes at once, the later one is in force in the end."""
    retrieval = Slow()
    publisher = Publisher(retrieval)
    first = asyncio.create_task(publisher.publish("acme", Vaults((TEAM,))))
    await until(lambda: retrieval.waiting == 1)
    last = Vaults((TEAM,), {"team": Members()})
    second = asyncio.create_task(publisher.publish("acme", last))
    await asyncio.sleep(0)
    retrieval.gate.set()
    await asyncio.gather(first, second)
    assert retrieval.policies["acme", "team"].writers == frozenset()


async def test_retrieval_that_does_not_answer_keeps_no_change_waiting() -> None:
    """After a while the change is answered, and the policy follows."""
    retrieval = Slow()
    async with running(retrieval, policy_seconds=0.05) as publisher:
        await publisher.publish("acme", Vaults((TEAM,)))
        retrieval.gate.set()
        await until(lambda: bool(retrieval.policies) and len(retrieval.entries) == 2)


class Mumbling(MemoryRetrieval):
    """Does what it is told, and its answer can get lost."""

    def __init__(self) -> None:
        super().__init__()
        self.lost = False

    async def put_policy(self, tenant: str, policy: SpacePolicy) -> None:
        """Keep it, and perhaps say nothing."""
        await super().put_policy(tenant, policy)
        if self.lost:
            raise RetrievalUnavailable("the answer is lost")


async def test_a_policy_whose_answer_was_lost_counts_as_not_told() -> None:
    """Going back to the one before tells it again."""
    retrieval = Mumbling()
    publisher = Publisher(retrieval)
    open_, shut = Vaults((TEAM,)), Vaults((TEAM,), {"team": Members()})
    await publisher.publish("acme", shut)
    retrieval.lost = True
    await publisher.publish("acme", open_)
    retrieval.lost = False
    await publisher.publish("acme", shut)
    assert retrieval.policies["acme", "team"].writers == frozenset()


class Choosy(MemoryRetrieval):
    """Takes nothing of one tenant for a while."""

    def __init__(self, failure: Exception | None) -> None:
        super().__init__()
        self.failure = failure

    async def put_notes(self, tenant: str, entries: Sequence[NoteEntry]) -> None:
        """Refuse the tenant."""
        if tenant == "acme" and self.failure:
            raise self.failure
        await super().put_notes(tenant, entries)


@pytest.mark.parametrize("failure", [RetrievalUnavailable("no"), ValueError("a fault of ours")])
async def test_one_tenant_that_fails_keeps_no_other_waiting(failure: Exception) -> None:
    """The worker goes on, whatever went wrong, and tries the failed one again."""
    retrieval = Choosy(failure)
    async with running(retrieval) as publisher:
        await publisher.publish("acme", Vaults((TEAM,)))
        await publisher.publish("globex", Vaults((TEAM,)))
        await until(lambda: len(retrieval.entries) == 2)
        assert {tenant for tenant, _ in retrieval.entries} == {"globex"}
        retrieval.failure = None
        await until(lambda: len(retrieval.entries) == 4)
