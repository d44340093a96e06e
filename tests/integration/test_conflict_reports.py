"""A contradiction that is found in a turn is settled for good by the next consolidation."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta

import grpc
import pytest
from support.assembler.doubles import MemoryCuration, turn
from support.retrieval.record import ANA, DESK, T0, entry
from support.retrieval.service import Served, serve

from hilvan_assembler.adapters.contradiction import evidence_judge
from hilvan_assembler.adapters.services.retrieval import GrpcRetrieval
from hilvan_assembler.composition import compose
from hilvan_assembler.model.kind import Reason, View
from hilvan_assembler.model.turn import Caller
from hilvan_assembler.ports import Ports
from hilvan_assembler.usecases.assembly import Assembled
from hilvan_kit.tokens import Tokenizers
from hilvan_retrieval.model.contradiction import RecordedContradiction

OLD = entry("old", "The team meets at 9:30 in room 12", owner=ANA)
NEW = entry("new", "The team meets at 10:00 in room 12", owner=ANA, update_time=T0 + timedelta(9))


@dataclass(frozen=True, slots=True)
class Turns:
    """An assembler over real retrieval, and somebody who asks it."""

    served: Served
    retrieval: GrpcRetrieval
    caller: Caller
    project_id: str = ""

    async def assemble(self, *, preview: bool = False) -> Assembled:
        """A turn of an assembler that ends, and so tells what it found."""
        ports = Ports(self.retrieval, MemoryCuration(), evidence_judge, Tokenizers())
        use_cases = compose(ports, lambda: T0)
        found = await use_cases.assembler.assemble(
            turn(
                "when does the team meet",
                self.project_id,
                view=View.FULL,
                preview=preview,
                caller=self.caller,
            )
        )
        await use_cases.close()
        return found

    async def noted(self) -> list[RecordedContradiction]:
        """The conflicts that wait for a consolidation."""
        return await self.served.parts.record.findings.conflicts("acme", ("", ""), 10)

    async def consolidate(self) -> None:
        """Run the job."""
        uses, record = self.served.parts.uses, self.served.parts.record
        async for _ in uses.consolidator.consolidate("acme", record.clock.moment()):
            pass
        await self.served.parts.settle()


@pytest.fixture
async def turns() -> AsyncIterator[Turns]:
    """Two memories of ana's, of which the newer one contradicts the older."""
    async with serve() as served:
        await served.parts.store(OLD, NEW)
        retrieval = GrpcRetrieval(grpc.aio.insecure_channel(served.address))
        yield Turns(served, retrieval, Caller("acme", "ana", served.key("ana")))
        await retrieval.close()


def reasons(found: Assembled) -> dict[str, Reason]:
    """Why each memory is in or out."""
    entries = {"old", "new"}
    return {each.id: each.reason for each in found.assembly.decisions if each.id in entries}


async def test_a_contradiction_is_pruned_each_time_until_it_is_consolidated(turns: Turns) -> None:
    """Then the older one says what replaced it, and there is nothing left to prune."""
    for _ in range(2):
        found = await turns.assemble()
        assert reasons(found) == {"old": Reason.CONTRADICTED_BY, "new": Reason.RENDERED}
    (noted,) = await turns.noted()
    assert (noted.found.older_id, noted.found.newer_id, noted.seen_count) == ("old", "new", 2)
    assert "9:30" in noted.found.evidence
    await turns.consolidate()
    kept = await turns.served.parts.record.store.entries("acme", ["old", "new"])
    assert {name: each.superseded_by for name, each in kept.items()} == {"old": "new", "new": ""}
    found = await turns.assemble()
    assert found.assembly.contradictions == ()
    assert reasons(found).get("old") in (None, Reason.SUPERSEDED_BY)
    assert reasons(found)["new"] is Reason.RENDERED
    assert await turns.noted() == []


async def test_a_preview_leaves_nothing_to_consolidate(turns: Turns) -> None:
    """It finds the same and tells nobody."""
    found = await turns.assemble(preview=True)
    assert reasons(found)["old"] is Reason.CONTRADICTED_BY
    assert await turns.noted() == []


async def test_who_may_only_read_retires_nothing(turns: Turns) -> None:
    """A reader's report of a project's entries is ignored, and is no error; a writer's counts."""
    desk = [
        replace(each, id=f"{each.id}-desk", owner=DESK, text=each.text.replace("team", "desk crew"))
        for each in (OLD, NEW)
    ]
    await turns.served.parts.store(*desk)
    for name, count in (("bob", 0), ("ana", 1)):
        caller = Caller("acme", name, turns.served.key(name))
        found = await replace(turns, caller=caller, project_id="desk").assemble()
        told = {(each.older_id, each.newer_id) for each in found.assembly.contradictions}
        assert ("old-desk", "new-desk") in told
        assert [each.found.older_id for each in await turns.noted()].count("old-desk") == count
