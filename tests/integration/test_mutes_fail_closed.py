"""Curation stops: what it muted stays silent, and soon everything that it can't vouch for."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from support.assembler.doubles import turn
from support.curation.service import Server, tokenizers, write_files
from support.curation.service import serve as serve_curation
from support.retrieval.record import ANA, T0, entry
from support.retrieval.service import Served
from support.retrieval.service import serve as serve_retrieval

from hilvan.curation.v1 import curation_service_pb2 as pb
from hilvan_assembler.adapters.contradiction import evidence_judge
from hilvan_assembler.adapters.services.curation import GrpcCuration
from hilvan_assembler.adapters.services.retrieval import GrpcRetrieval
from hilvan_assembler.composition import compose
from hilvan_assembler.core.recall import BundleBudget
from hilvan_assembler.core.search import Bounds
from hilvan_assembler.model.assembly import Decision
from hilvan_assembler.model.candidate import CandidateRequest
from hilvan_assembler.model.curation import CurationAnswer
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.kind import Layer, Reason, View
from hilvan_assembler.model.options import Fusion
from hilvan_assembler.model.turn import Caller
from hilvan_assembler.ports import Ports
from hilvan_assembler.usecases import UseCases
from hilvan_assembler.usecases.search import Query
from hilvan_assembler.usecases.turn import Turn
from hilvan_curation.adapters.metadata import SqlMetadata
from hilvan_curation.adapters.services.retrieval import GrpcRetrieval as CurationsRetrieval
from hilvan_kit.auth import Role
from hilvan_kit.deadlines import Deadline

VAULT = {
    "Ana/.hilvan-space.yaml": "id: ana\nkind: personal\nowner: ana\n",
    "Ana/memory/diet.md": "---\nsummary: What Ana eats\n---\n",
}
ENTRIES = {"diet": "Ana drinks tea for breakfast", "work": "The tea meeting is on Friday"}
SECOND = timedelta(seconds=1)
LIMIT = 30 * SECOND


class CurationByKey(GrpcCuration):
    """Curation's client with the key that ana has there."""

    def __init__(self, channel: grpc.aio.Channel, key: Mapping[str, tuple[str, str]]) -> None:
        super().__init__(channel)
        self._keys = key

    async def resolve(
        self, caller: Caller, project_id: str, tokenizer: str, deadline: Deadline
    ) -> CurationAnswer:
        """Ask as ana is known there."""
        known = replace(caller, metadata=(self._keys["ana"],))
        return await super().resolve(known, project_id, tokenizer, deadline)


@dataclass(frozen=True, slots=True)
class Said:
    """What an answer shows, what it lacks, and why the rest is out."""

    shown: set[str]
    lacks: set[str]
    reasons: dict[str, Reason]


@dataclass(slots=True)
class Trio:
    """Three services of one user; curation can be stopped, and time goes as told."""

    retrieval: Served
    curation: Server
    use_cases: UseCases
    caller: Caller
    life: AsyncExitStack

    async def mute(self, category: str) -> None:
        """Mute a category of ana's in her files."""
        request = pb.SetCategoryMuteRequest(scope=pb.Scope(), category=category, muted=True)
        assert (await self.curation.call("SetCategoryMute", request)).category.muted

    async def stop_curation(self) -> None:
        """End the service and its beat."""
        await self.life.aclose()

    def pass_time(self, by: timedelta) -> None:
        """Let retrieval's clock go on."""
        self.retrieval.parts.record.clock.move(by)

    async def assemble(self, **more: Any) -> Said:
        """One turn."""
        found = await self.use_cases.assembler.assemble(self._turn(**more))
        return said(found.assembly.decisions, found.degraded)

    async def recall(self, **more: Any) -> Said:
        """Passages."""
        budget = BundleBudget(500, 500)
        found = await self.use_cases.recaller.recall(self._turn(**more), budget)
        return said(found.decisions, found.degraded)

    async def search(self) -> set[str]:
        """What a search finds."""
        request = CandidateRequest("tea", tuple(Layer), None, 50, include_muted=True)
        query = Query(self.caller, request, Fusion(), Bounds(20), Deadline.after(20))
        found = await self.use_cases.searcher.search(query)
        return {hit.id for hit in found.hits}

    def _turn(self, **more: Any) -> Turn:
        """A call whose tokenizer curation has as well."""
        call = turn(view=View.FULL, preview=True, caller=self.caller, **more)
        return replace(call, tokenizer=tokenizers().get(""))


def said(decisions: tuple[Decision, ...], degraded: tuple[Degradation, ...]) -> Said:
    """Read an answer."""
    reasons = {each.id: each.reason for each in decisions}
    shown = {name for name, reason in reasons.items() if reason is Reason.RENDERED}
    out = {name: reason for name, reason in reasons.items() if name not in shown}
    return Said(shown, {each.part for each in degraded}, out)


@asynccontextmanager
async def three_services(folder: Path, files: Mapping[str, str]) -> AsyncIterator[Trio]:
    """All three over real channels, with ana's two memories."""
    store = await SqlMetadata.open_sqlite(folder / "metadata.sqlite")
    if files:
        await store.add_vault("acme", write_files(folder / "vault", files))
    async with serve_retrieval() as retrieval, AsyncExitStack() as life:
        for category, text in ENTRIES.items():
            row = entry(category, text, category=category, owner=ANA, update_time=T0)
            await retrieval.parts.store(row)
        told = grpc.aio.insecure_channel(retrieval.address)
        port = CurationsRetrieval(told, retrieval.keys["service"])
        curation = await life.enter_async_context(serve_curation(store, port))
        curation.keys.add("ana", Role.MEMBER, "acme")
        asked = GrpcRetrieval(grpc.aio.insecure_channel(retrieval.address))
        keys = {"ana": ("authorization", curation.keys.headers["ana"])}
        resolver = CurationByKey(grpc.aio.insecure_channel(curation.address), keys)
        use_cases = compose(Ports(asked, resolver, evidence_judge, tokenizers()), lambda: T0)
        caller = Caller("acme", "ana", retrieval.key("ana"))
        try:
            yield Trio(retrieval, curation, use_cases, caller, life)
        finally:
            for each in (use_cases, asked, resolver):
                await each.close()


@pytest.fixture
async def trio(tmp_path: Path) -> AsyncIterator[Trio]:
    """The services over a vault in which nothing is muted yet."""
    async with three_services(tmp_path, VAULT) as trio:
        yield trio


async def test_when_curation_stops_memory_is_there_for_thirty_seconds_and_then_gone(
    trio: Trio,
) -> None:
    """What it muted just before it died stays silent; a caller may accept its last word."""
    whole = await trio.assemble()
    assert (whole.shown, whole.lacks) == (set(ENTRIES), set())
    await trio.mute("diet")
    await trio.stop_curation()
    trio.pass_time(LIMIT)
    for found in (await trio.assemble(), await trio.recall()):
        assert found.shown == {"work"}
        assert "mutes" not in found.lacks
    trio.pass_time(SECOND)
    hidden = await trio.assemble()
    assert (hidden.shown, hidden.lacks) == (set(), {"curation", "mutes"})
    assert hidden.reasons == {"work": Reason.MUTES_UNKNOWN}
    assert await trio.recall() == Said(set(), {"mutes"}, {"work": Reason.MUTES_UNKNOWN})
    accepted = await trio.assemble(accept_stale_mutes=True)
    assert (accepted.shown, accepted.lacks) == ({"work"}, {"curation"})
    assert (await trio.recall(accept_stale_mutes=True)).shown == {"work"}
    assert await trio.search() == set(ENTRIES)


async def test_while_curation_answers_no_age_hides_memory(trio: Trio) -> None:
    """Its own word is younger than any; what it muted is out."""
    await trio.mute("diet")
    trio.pass_time(10 * LIMIT)
    for found in (await trio.assemble(), await trio.recall()):
        assert (found.shown, found.lacks) == ({"work"}, set())


async def test_memory_without_any_vault_is_shown(tmp_path: Path) -> None:
    """A recall is answered at once, and lets curation know the tenant; then mutes are known."""
    async with three_services(tmp_path, {}) as trio:
        first = await trio.recall()
        assert (first.shown, first.lacks) == (set(ENTRIES), set())
        policies = trio.retrieval.parts.uses.policies
        async with asyncio.timeout(20):
            while policies.of("acme").confirm_time is None:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.01)
        await trio.stop_curation()
        assert (await trio.recall()).shown == set(ENTRIES)
