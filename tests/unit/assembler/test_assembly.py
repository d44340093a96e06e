"""Assembling: both services at once, whatever one of them does, and nothing left running."""

import asyncio
from typing import Any

import pytest
from support.assembler.doubles import ANA, CURATION, MemoryCuration, MemoryRetrieval
from support.assembler.values import WORDS, entry, options, retrieved

from hilvan_assembler.adapters.contradiction import evidence_judge
from hilvan_assembler.errors import (
    ProjectNotFound,
    ServiceTimeout,
    ServiceUnavailable,
    SourcesFailed,
)
from hilvan_assembler.model.candidate import CandidateRequest, RetrievalAnswer
from hilvan_assembler.model.curation import CurationAnswer
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.kind import Layer, PartStatus, Source, Tier
from hilvan_assembler.model.options import Fusion, Options
from hilvan_assembler.usecases.assembly import Assembled, Assembler, Wanted
from hilvan_kit.deadlines import Deadline

LATE, GONE = PartStatus.TIMEOUT, PartStatus.UNAVAILABLE


def wanted(query: str = "tea", project_id: str = "", **fields: Any) -> Wanted:
    """What a caller wants of retrieval."""
    return Wanted(query, project_id, 100, **{"as_of_given": False, **fields})


class Turn:
    """An assembler over doubles."""

    def __init__(self) -> None:
        self.retrieval, self.curation = MemoryRetrieval(), MemoryCuration()
        self.assembler = Assembler(self.retrieval, self.curation, evidence_judge)

    async def assemble(
        self,
        asked: Wanted | None = None,
        wish: Options | None = None,
        seconds: float = 20,
        *,
        preview: bool = False,
    ) -> Assembled:
        """One turn for ana."""
        return await self.assembler.assemble(
            ANA,
            asked or wanted(),
            wish or options(),
            WORDS,
            Deadline.after(seconds),
            explained=False,
            preview=preview,
        )


@pytest.fixture
def turn() -> Turn:
    """An assembler over doubles that answer at once."""
    return Turn()


def parts(found: Assembled) -> list[tuple[str, PartStatus]]:
    """What is missing."""
    return [(each.part, each.status) for each in found.degraded]


def ids(found: Assembled) -> list[str]:
    """What is in the prompt."""
    return [each.id for each in found.assembly.items]


async def test_both_services_are_asked_at_the_same_time(turn: Turn) -> None:
    """Each answers only once the other was called."""
    turn.retrieval.behaviour.open = turn.curation.behaviour.called
    turn.curation.behaviour.open = turn.retrieval.behaviour.called
    found = await turn.assemble()
    assert found.degraded == ()
    assert ids(found) == ["block", "pin", "m1", "m2", "e1"]
    assert set(found.timings) == {"retrieval", "vector", "curation", "assemble"}


async def test_a_late_retrieval_leaves_identity_and_pins_inside_the_deadline(turn: Turn) -> None:
    """The answer comes before the deadline and says that retrieval was late."""
    turn.retrieval.behaviour.open.clear()
    deadline = Deadline.after(0.3)
    found = await turn.assembler.assemble(
        ANA, wanted(), options(), WORDS, deadline, explained=False, preview=False
    )
    assert deadline.remaining() > 0
    assert (ids(found), parts(found)) == (["block", "pin"], [("retrieval", LATE)])


async def test_services_get_less_than_the_callers_deadline(turn: Turn) -> None:
    """Something is kept to render and to answer with; of a short deadline a share."""
    for seconds in (20.0, 0.02):
        deadline = Deadline.after(seconds)
        await turn.assembler.assemble(
            ANA, wanted(), options(), WORDS, deadline, explained=False, preview=True
        )
        for double in (turn.retrieval, turn.curation):
            reserve = deadline.at - double.behaviour.deadlines[-1].at
            assert 0 < reserve <= min(0.015, 0.2 * seconds) + 1e-6


@pytest.mark.parametrize(
    ("error", "status"),
    [(ServiceUnavailable("retrieval"), GONE), (ServiceTimeout("retrieval"), LATE)],
)
async def test_a_refusing_retrieval_is_named(
    turn: Turn, error: Exception, status: PartStatus
) -> None:
    """Identity and pins only, and said so."""
    turn.retrieval.behaviour.error = error
    found = await turn.assemble()
    assert (ids(found), parts(found)) == (["block", "pin"], [("retrieval", status)])


async def test_both_engines_lost_are_named_each(turn: Turn) -> None:
    """Retrieval is there and its sources are not."""
    turn.retrieval.behaviour.error = SourcesFailed("vector, keyword")
    found = await turn.assemble()
    assert (ids(found), parts(found)) == (["block", "pin"], [("vector", GONE), ("keyword", GONE)])


async def test_one_engine_lost_leaves_the_other_ones_hits(turn: Turn) -> None:
    """What retrieval says is missing is passed on."""
    lost = (Degradation("vector", LATE),)
    turn.retrieval.answer = RetrievalAnswer(
        retrieved(entry("m", bm25=3.0), asked=[Source.KEYWORD]), lost
    )
    found = await turn.assemble()
    assert (ids(found), parts(found)) == (["block", "pin", "m"], [("vector", LATE)])


async def test_curation_down_is_no_pins_and_said_so(turn: Turn) -> None:
    """Memory only."""
    turn.curation.behaviour.error = ServiceUnavailable("curation")
    found = await turn.assemble()
    assert (ids(found), parts(found)) == (["m1", "m2", "e1"], [("curation", GONE)])


async def test_both_down_is_an_empty_prompt_and_said_so(turn: Turn) -> None:
    """Not an error: the caller can go on without context, knowingly."""
    turn.retrieval.behaviour.error = ServiceUnavailable("retrieval")
    turn.curation.behaviour.error = ServiceTimeout("curation")
    found = await turn.assemble()
    assert found.assembly.prompt == ""
    assert parts(found) == [("retrieval", GONE), ("curation", LATE)]


@pytest.mark.parametrize("error", [SourcesFailed("vector"), ServiceUnavailable("retrieval")])
async def test_a_caller_may_require_all_sources(turn: Turn, error: Exception) -> None:
    """Then a lost one is a failure."""
    turn.retrieval.behaviour.error = error
    with pytest.raises(SourcesFailed):
        await turn.assemble(wanted(require_all_sources=True))
    assert turn.retrieval.requests[0].require_all_sources


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
async def test_an_empty_query_skips_retrieval(turn: Turn, query: str) -> None:
    """Identity and pins still come, flagged."""
    found = await turn.assemble(wanted(query))
    assert turn.retrieval.requests == []
    assert (ids(found), found.query_empty, found.degraded) == (["block", "pin"], True, ())
    assert not (await turn.assemble()).query_empty


async def test_what_retrieval_is_asked(turn: Turn) -> None:
    """The caller's own and the project's entries, all layers with a budget, pairs from the band."""
    await turn.assemble(wanted(project_id="p1"), options({Tier.NOTES: 0}))
    assert turn.retrieval.requests == [
        CandidateRequest(
            query="tea",
            layers=(Layer.MEMORY, Layer.EPISODE, Layer.PROCEDURE),
            owners=("user:ana", "project:p1"),
            limit=100,
            pair_similarity_floor=0.55,
        )
    ]
    assert turn.curation.tokenizers == ["words"]
    assert turn.retrieval.behaviour.callers == turn.curation.behaviour.callers == [ANA]


async def test_a_source_of_weight_0_is_not_asked_and_a_moment_is_passed_on(turn: Turn) -> None:
    """Nor is a moment sent that the caller did not give, for the record knows the present best."""
    wish = options(fusion=Fusion(vector_weight=0))
    await turn.assemble(wanted(as_of_given=True), wish)
    request = turn.retrieval.requests[0]
    assert (request.sources, request.owners) == ((Source.KEYWORD,), ("user:ana",))
    assert request.as_of == wish.as_of
    assert Layer.NOTE in request.layers


async def test_accesses_are_recorded_after_a_real_call(turn: Turn) -> None:
    """Rendered entries, not pins or blocks, and without holding up the answer."""
    turn.retrieval.recording.open.clear()
    await turn.assemble()
    assert turn.retrieval.recorded == []
    turn.retrieval.recording.open.set()
    await turn.assembler.close()
    assert turn.retrieval.recorded == [("m1", "m2", "e1")]


async def test_a_preview_counts_nothing(turn: Turn) -> None:
    """Exactly the answer, and no access."""
    real, preview = await turn.assemble(), await turn.assemble(preview=True)
    await turn.assembler.close()
    assert preview.assembly == real.assembly
    assert len(turn.retrieval.recorded) == 1


async def test_nothing_rendered_is_nothing_to_record(turn: Turn) -> None:
    """Pins alone are no accesses."""
    await turn.assemble(wanted(""))
    await turn.assembler.close()
    assert not turn.retrieval.recording.called.is_set()


async def test_a_failed_report_never_shows(turn: Turn) -> None:
    """Accesses only count; losing some is no error of anybody's."""
    turn.retrieval.recording.error = ServiceUnavailable("retrieval")
    found = await turn.assemble()
    await turn.assembler.close()
    assert found.degraded == ()
    assert turn.retrieval.recorded == []


async def test_a_failure_ends_the_other_call(turn: Turn) -> None:
    """No task goes on for an answer that nobody gets."""
    turn.retrieval.behaviour.open.clear()
    turn.curation.behaviour.error = ProjectNotFound()
    with pytest.raises(ProjectNotFound):
        await turn.assemble(wanted(project_id="nowhere"))
    assert turn.retrieval.behaviour.cancelled.is_set()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancelled_call_ends_both(turn: Turn) -> None:
    """A caller that goes away takes everything with it."""
    doubles = turn.retrieval.behaviour, turn.curation.behaviour
    for each in doubles:
        each.open.clear()
    task = asyncio.create_task(turn.assemble())
    for each in doubles:
        await each.called.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert all(each.cancelled.is_set() for each in doubles)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_an_answer_of_curation_without_pins_is_whole(turn: Turn) -> None:
    """A user with neither pins nor identity gets memory alone and no degradation."""
    turn.curation.answer = CurationAnswer(CURATION.curated.__class__())
    found = await turn.assemble()
    assert (ids(found), found.degraded) == (["m1", "m2", "e1"], ())
