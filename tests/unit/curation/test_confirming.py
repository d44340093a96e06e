"""The publisher confirms what holds: at once, again and again, and never what is not yet told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from support.curation.service import MemoryRetrieval, until, use_cases
from support.curation.values import shared

from hilvan_curation.adapters.metadata import NoMetadata
from hilvan_curation.core.access import Vaults
from hilvan_curation.errors import RetrievalUnavailable
from hilvan_curation.model.policy import SpacePolicy
from hilvan_curation.model.space import Members
from hilvan_curation.usecases import publication as publishing
from hilvan_curation.usecases.publication import Publisher

TEAM = Vaults((shared(writers=["ana"], projects=["p"]),))
CLOSED = Vaults(TEAM.snapshots, {"team": Members()})
BEAT_S = 0.02
NEVER_S = 1_000.0


class Listening(MemoryRetrieval):
    """Keeps the order of policies and confirmations, and can refuse either of one tenant."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[str] = []
        self.refuses: dict[str, Exception] = {}
        self.hangs: set[str] = set()

    async def put_policy(self, tenant: str, policy: SpacePolicy) -> None:
        """Keep it, or not."""
        await self._meet(f"put {tenant}")
        await super().put_policy(tenant, policy)

    async def confirm_policies(self, tenant: str) -> None:
        """Keep it, or not."""
        await self._meet(f"confirm {tenant}")
        await super().confirm_policies(tenant)

    async def _meet(self, what: str) -> None:
        self.order.append(what)
        if what in self.hangs:
            await asyncio.Event().wait()
        if what in self.refuses:
            raise self.refuses[what]


@asynccontextmanager
async def running(retrieval: MemoryRetrieval, beat: float = BEAT_S) -> AsyncIterator[Publisher]:
    """A publisher at work."""
    publisher = Publisher(retrieval, policy_seconds=0.2, confirm_seconds=beat)
    worker = asyncio.create_task(publisher.run())
    yield publisher
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)


async def test_a_publish_is_confirmed_at_once_after_its_policies() -> None:
    """Once for each change; files that say the same as before wait for the beat."""
    retrieval = Listening()
    async with running(retrieval, NEVER_S) as publisher:
        await publisher.publish("acme", TEAM)
        assert retrieval.order == ["put acme", "confirm acme"]
        await publisher.publish("acme", TEAM)
        await publisher.publish("acme", CLOSED)
        assert retrieval.order == ["put acme", "confirm acme"] * 2


async def test_it_is_confirmed_again_and_again_until_the_service_ends() -> None:
    """Each tenant by itself; nothing goes on after it."""
    retrieval = Listening()
    async with running(retrieval) as publisher:
        await publisher.publish("acme", TEAM)
        await publisher.publish("globex", TEAM)
        await until(lambda: min(map(retrieval.confirmed.count, ("acme", "globex"))) >= 4)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("failure", [RetrievalUnavailable("no"), ValueError("a fault of ours")])
async def test_what_is_not_told_is_not_confirmed(failure: Exception) -> None:
    """And keeps no other tenant waiting; once it is told it is confirmed as well."""
    retrieval = Listening()
    async with running(retrieval) as publisher:
        await publisher.publish("acme", TEAM)
        await until(lambda: retrieval.confirmed.count("acme") > 1)
        retrieval.refuses["put acme"] = RetrievalUnavailable("no")
        await publisher.publish("acme", CLOSED)
        await publisher.publish("globex", TEAM)
        before = retrieval.confirmed.count("acme")
        retrieval.refuses["confirm globex"] = failure
        seen = retrieval.order.count("confirm globex")
        await until(lambda: retrieval.order.count("confirm globex") > seen + 3)
        assert retrieval.confirmed.count("acme") == before
        retrieval.refuses.clear()
        await until(lambda: retrieval.confirmed.count("acme") > before + 1)
        await until(lambda: "globex" in retrieval.confirmed)


async def test_a_tenant_that_hangs_keeps_no_other_waiting() -> None:
    """Whether it is its policy that is long in telling, or the word itself."""
    retrieval = Listening()
    retrieval.hangs = {"confirm hanging", "put busy"}
    async with running(retrieval) as publisher:
        telling = asyncio.create_task(publisher.publish("hanging", Vaults()))
        busy = asyncio.create_task(publisher.publish("busy", TEAM))
        await publisher.publish("acme", TEAM)
        await until(lambda: retrieval.confirmed.count("acme") > 4)
        assert set(retrieval.confirmed) == {"acme"}
        await asyncio.gather(telling, busy)


class Together(MemoryRetrieval):
    """Once told to, takes the word on a tenant only while it is asked of another one too."""

    def __init__(self) -> None:
        super().__init__()
        self.pair: asyncio.Barrier | None = None

    async def confirm_policies(self, tenant: str) -> None:
        """Wait for the other one."""
        if self.pair is not None:
            await self.pair.wait()
        await super().confirm_policies(tenant)


async def test_a_beat_asks_for_all_tenants_at_once() -> None:
    """One after the other, many slow answers would be longer than mutes are relied on."""
    retrieval = Together()
    async with running(retrieval) as publisher:
        publisher.meet("acme")
        publisher.meet("globex")
        await until(lambda: len(retrieval.confirmed) > 3)
        retrieval.pair = asyncio.Barrier(2)
        retrieval.confirmed.clear()
        await until(lambda: set(retrieval.confirmed) == {"acme", "globex"})


async def test_a_failed_word_is_said_by_the_next_beat_alone() -> None:
    """The publish counts as done, and nothing is told twice because of it."""
    retrieval = Listening()
    retrieval.refuses["confirm acme"] = RetrievalUnavailable("no")
    async with running(retrieval) as publisher:
        await publisher.publish("acme", TEAM)
        assert retrieval.confirmed == []
        retrieval.refuses.clear()
        await until(lambda: bool(retrieval.confirmed))
    assert retrieval.order.count("put acme") == 1


async def test_a_tenant_without_vaults_is_confirmed_once_it_is_met() -> None:
    """Nothing is muted there, and retrieval could not know by itself."""
    retrieval = Listening()
    async with use_cases(NoMetadata({}), retrieval) as uses:
        assert uses.catalogue.vaults("acme") == Vaults()
        await until(lambda: retrieval.confirmed == ["acme"])


async def test_only_so_many_tenants_are_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may name any tenant can't fill the memory with names."""
    monkeypatch.setattr(publishing, "MET_MOST", 2)
    retrieval = Listening()
    async with running(retrieval) as publisher:
        for tenant in ("acme", "globex", "acme", "initech"):
            publisher.meet(tenant)
        await until(lambda: retrieval.confirmed.count("globex") > 2)
    assert set(retrieval.confirmed) == {"acme", "globex"}
