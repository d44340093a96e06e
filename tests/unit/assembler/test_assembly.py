"""Assembling: both services at once, whatever one of them does, and nothing left running."""

import asyncio

import pytest
from support.assembler.doubles import ANA, CURATION, Composed, turn
from support.assembler.values import entry, options, retrieved

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
from hilvan_assembler.model.options import Fusion
from hilvan_assembler.usecases.assembly import Assembled
from hilvan_kit.deadlines import Deadline

LATE, GONE = PartStatus.TIMEOUT, PartStatus.UNAVAILABLE


@pytest.fixture
def composed() -> Composed:
    """The use cases over doubles that answer at once."""
    return Composed.over()


def parts(found: Assembled) -> list[tuple[str, PartStatus]]:
    """What is missing."""
    return [(each.part, each.status) for each in found.degraded]


def ids(found: Assembled) -> list[str]:
    """What is in the prompt."""
    return [each.id for each in found.assembly.items]


async def test_both_services_are_asked_at_the_same_time(composed: Composed) -> None:
    """Each answers only once the other was called."""
    composed.retrieval.behaviour.open = composed.curation.behaviour.called
    composed.curation.behaviour.open = composed.retrieval.behaviour.called
    found = await composed.assemble(turn())
    assert found.degraded == ()
    assert ids(found) == ["block", "pin", "m1", "m2", "e1"]
    assert set(found.timings) == {"retrieval", "vector", "curation", "assemble"}


async def test_a_late_retrieval_leaves_identity_and_pins_inside_the_deadline(
    composed: Composed,
) -> None:
    """The answer comes before the deadline and says that retrieval was late."""
    composed.retrieval.behaviour.open.clear()
    deadline = Deadline.after(0.3)
    found = await composed.assemble(turn(deadline=deadline))
    assert deadline.remaining() > 0
    assert (ids(found), parts(found)) == (["block", "pin"], [("retrieval", LATE)])


async def test_services_get_less_than_the_callers_deadline(composed: Composed) -> None:
    """Something is kept to render and to answer with; of a short deadline a share."""
    for seconds in (20.0, 0.02):
        deadline = Deadline.after(seconds)
        await composed.assemble(turn(deadline=deadline, preview=True))
        for double in (composed.retrieval, composed.curation):
            reserve = deadline.at - double.behaviour.deadlines[-1].at
            assert 0 < reserve <= min(0.015, 0.2 * seconds) + 1e-6


@pytest.mark.parametrize(
    ("error", "status"),
    [(ServiceUnavailable("retrieval"), GONE), (ServiceTimeout("retrieval"), LATE)],
)
async def test_a_refusing_retrieval_is_named(
    composed: Composed, error: Exception, status: PartStatus
) -> None:
    """Identity and pins only, and said so."""
    composed.retrieval.behaviour.error = error
    found = await composed.assemble(turn())
    assert (ids(found), parts(found)) == (["block", "pin"], [("retrieval", status)])


async def test_both_engines_lost_are_named_each(composed: Composed) -> None:
    """Retrieval is there and its sources are not."""
    composed.retrieval.behaviour.error = SourcesFailed("vector, keyword")
    found = await composed.assemble(turn())
    assert (ids(found), parts(found)) == (["block", "pin"], [("vector", GONE), ("keyword", GONE)])


async def test_one_engine_lost_leaves_the_other_ones_hits(composed: Composed) -> None:
    """What retrieval says is missing is passed on."""
    lost = (Degradation("vector", LATE),)
    composed.retrieval.answer = RetrievalAnswer(
        retrieved(entry("m", bm25=3.0), asked=[Source.KEYWORD]), lost
    )
    found = await composed.assemble(turn())
    assert (ids(found), parts(found)) == (["block", "pin", "m"], [("vector", LATE)])


async def test_curation_down_is_no_pins_and_said_so(composed: Composed) -> None:
    """Memory only."""
    composed.curation.behaviour.error = ServiceUnavailable("curation")
    found = await composed.assemble(turn())
    assert (ids(found), parts(found)) == (["m1", "m2", "e1"], [("curation", GONE)])


async def test_both_down_is_an_empty_prompt_and_said_so(composed: Composed) -> None:
    """Not an error: the caller can go on without context, knowingly."""
    composed.retrieval.behaviour.error = ServiceUnavailable("retrieval")
    composed.curation.behaviour.error = ServiceTimeout("curation")
    found = await composed.assemble(turn())
    assert found.assembly.prompt == ""
    assert parts(found) == [("retrieval", GONE), ("curation", LATE)]


@pytest.mark.parametrize("error", [SourcesFailed("vector"), ServiceUnavailable("retrieval")])
async def test_a_caller_may_require_all_sources(composed: Composed, error: Exception) -> None:
    """Then a lost one is a failure."""
    composed.retrieval.behaviour.error = error
    with pytest.raises(SourcesFailed):
        await composed.assemble(turn(require_all_sources=True))
    assert composed.retrieval.requests[0].require_all_sources


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
async def test_an_empty_query_skips_retrieval(composed: Composed, query: str) -> None:
    """Identity and pins still come, flagged."""
    found = await composed.assemble(turn(query))
    assert composed.retrieval.requests == []
    assert (ids(found), found.query_empty, found.degraded) == (["block", "pin"], True, ())
    assert not (await composed.assemble(turn())).query_empty


async def test_what_retrieval_is_asked(composed: Composed) -> None:
    """The caller's own and the project's entries, all layers with a budget, pairs from the band."""
    await composed.assemble(turn(project_id="p1", wish=options({Tier.NOTES: 0})))
    assert composed.retrieval.requests == [
        CandidateRequest(
            query="tea",
            layers=(Layer.MEMORY, Layer.EPISODE, Layer.PROCEDURE),
            owners=("user:ana", "project:p1"),
            limit=100,
            pair_similarity_floor=0.55,
        )
    ]
    assert composed.curation.tokenizers == ["words"]
    assert composed.retrieval.behaviour.callers == composed.curation.behaviour.callers == [ANA]


async def test_a_source_of_weight_0_is_not_asked_and_a_moment_is_passed_on(
    composed: Composed,
) -> None:
    """Nor is a moment sent that the caller did not give, for the record knows the present best."""
    wish = options(fusion=Fusion(vector_weight=0))
    await composed.assemble(turn(wish=wish, as_of_given=True))
    request = composed.retrieval.requests[0]
    assert (request.sources, request.owners) == ((Source.KEYWORD,), ("user:ana",))
    assert request.as_of == wish.as_of
    assert Layer.NOTE in request.layers


async def test_accesses_are_recorded_after_a_real_call(composed: Composed) -> None:
    """Rendered entries, not pins or blocks, and without holding up the answer."""
    composed.retrieval.recording.open.clear()
    await composed.assemble(turn())
    assert composed.retrieval.recorded == []
    composed.retrieval.recording.open.set()
    await composed.use_cases.close()
    assert composed.retrieval.recorded == [("m1", "m2", "e1")]


async def test_a_preview_counts_nothing(composed: Composed) -> None:
    """Exactly the answer, and no access."""
    real, preview = await composed.assemble(turn()), await composed.assemble(turn(preview=True))
    await composed.use_cases.close()
    assert preview.assembly == real.assembly
    assert len(composed.retrieval.recorded) == 1


async def test_nothing_rendered_is_nothing_to_record(composed: Composed) -> None:
    """Pins alone are no accesses."""
    await composed.assemble(turn(""))
    await composed.use_cases.close()
    assert not composed.retrieval.recording.called.is_set()


async def test_a_failed_report_never_shows(composed: Composed) -> None:
    """Accesses only count; losing some is no error of anybody's."""
    composed.retrieval.recording.error = ServiceUnavailable("retrieval")
    found = await composed.assemble(turn())
    await composed.use_cases.close()
    assert found.degraded == ()
    assert composed.retrieval.recorded == []


async def test_a_failure_ends_the_other_call(composed: Composed) -> None:
    """No task goes on for an answer that nobody gets."""
    composed.retrieval.behaviour.open.clear()
    composed.curation.behaviour.error = ProjectNotFound()
    with pytest.raises(ProjectNotFound):
        await composed.assemble(turn(project_id="nowhere"))
    assert composed.retrieval.behaviour.cancelled.is_set()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancelled_call_ends_both(composed: Composed) -> None:
    """A caller that goes away takes everything with it."""
    doubles = composed.retrieval.behaviour, composed.curation.behaviour
    for each in doubles:
        each.open.clear()
    task = asyncio.create_task(composed.assemble(turn()))
    for each in doubles:
        await each.called.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert all(each.cancelled.is_set() for each in doubles)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_an_answer_of_curation_without_pins_is_whole(composed: Composed) -> None:
    """A user with neither pins nor identity gets memory alone and no degradation."""
    composed.curation.answer = CurationAnswer(CURATION.curated.__class__())
    found = await composed.assemble(turn())
    assert (ids(found), found.degraded) == (["m1", "m2", "e1"], ())
