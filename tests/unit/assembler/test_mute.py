"""What may be muted is not shown when nobody can vouch that it is not."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.assembler.doubles import (
    ANA,
    CURATION,
    Composed,
    found_rows,
    turn,
)
from support.assembler.values import WORDS, agrees, by_id, entry, options, retrieved

from hilvan_assembler.core import mute, pipeline
from hilvan_assembler.core.search import Bounds
from hilvan_assembler.errors import (
    ProjectNotFound,
    ServiceError,
    ServiceTimeout,
    ServiceUnavailable,
)
from hilvan_assembler.model.candidate import CandidateRequest
from hilvan_assembler.model.curation import Curated, CurationAnswer
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.kind import Layer, PartStatus, Reason, View
from hilvan_assembler.model.options import Fusion
from hilvan_assembler.usecases.assembly import Assembled
from hilvan_assembler.usecases.recall import Recalled
from hilvan_assembler.usecases.search import Query
from hilvan_kit.deadlines import Deadline

LIMIT_S = 30.0
MINE, OURS, THEIRS = "user:ana", "project:p1", "project:p2"
HIDDEN = Degradation("mutes", PartStatus.UNAVAILABLE)
LOST: list[ServiceError] = [ServiceUnavailable("curation"), ServiceTimeout("curation")]

ROWS = (
    entry("mine", owner=MINE, text="Ana drinks tea"),
    entry("event", owner=MINE, text="They drank tea on Friday", layer=Layer.EPISODE),
    entry("steps", owner=OURS, text="How to make tea", layer=Layer.PROCEDURE),
    entry("note", owner=OURS, text="A note about tea", layer=Layer.NOTE),
)


@pytest.mark.parametrize(
    ("age", "reliable"),
    [(None, False), (0.0, True), (LIMIT_S, True), (LIMIT_S + 0.001, False), (1e9, False)],
)
def test_mutes_are_relied_on_for_thirty_seconds(age: float | None, reliable: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    """A word that was never said is no word."""
    assert mute.are_reliable(age) is reliable


@given(
    owners=st.sets(st.sampled_from([MINE, OURS, THEIRS])),
    age=st.none() | st.floats(0, 100),
    accept=st.booleans(),
)
def test_only_owners_with_known_mutes_are_rendered(
    owners: set[str], age: float | None, *, accept: bool
) -> None:
    """Young mutes and those that the caller accepts count for all, else curation's own words do."""
    rows = [entry(owner, owner=owner) for owner in (MINE, OURS, THEIRS)]
    curated = mute.vouched(Curated(), owners, age, accept_stale=accept)
    assembly = pipeline.assemble(retrieved(*rows), curated, options(), WORDS, agrees, explain=True)
    everybody = accept or (age is not None and age <= LIMIT_S)
    shown = {MINE, OURS, THEIRS} if everybody else owners
    assert {each.id for each in assembly.items} == shown
    reasons = {each.id: each.reason for each in assembly.decisions}
    unknown = {name for name, reason in reasons.items() if reason is Reason.MUTES_UNKNOWN}
    assert unknown == {MINE, OURS, THEIRS} - shown
    assert bool(mute.missing(curated, retrieved(*rows))) is bool(unknown)


def test_what_is_known_to_be_muted_is_told_so() -> None:
    """A mute that is known needs no other reason."""
    rows = [entry("single", muted=True), entry("category", category="noise"), entry("other")]
    curated = Curated(muted=frozenset({(MINE, "noise")}), vouched_for=frozenset())
    assembly = pipeline.assemble(retrieved(*rows), curated, options(), WORDS, agrees, explain=True)
    assert {name: each.reason for name, each in by_id(assembly.decisions).items()} == {
        "single": Reason.MUTED,
        "category": Reason.MUTED,
        "other": Reason.MUTES_UNKNOWN,
    }


@pytest.fixture
def composed() -> Composed:
    """The use cases over doubles, whose retrieval has rows of four layers and old mutes."""
    found = Composed.over(judge=agrees)
    found.retrieval.answer = found_rows(*ROWS, age=None)
    return found


async def assemble(composed: Composed, project_id: str = "p1", **wanted: Any) -> Assembled:
    """One turn for ana, explained."""
    return await composed.assemble(turn(project_id=project_id, view=View.FULL, **wanted))


async def recall(composed: Composed, project_id: str = "", **wanted: Any) -> Recalled:
    """Passages for ana, explained."""
    return await composed.recall(turn(project_id=project_id, view=View.FULL, **wanted))


def rendered(found: Assembled | Recalled) -> set[str]:
    """Ids of the candidates in the answer."""
    decisions = found.assembly.decisions if isinstance(found, Assembled) else found.decisions
    ids = {each.id for each in ROWS}
    return {each.id for each in decisions if each.reason is Reason.RENDERED and each.id in ids}


def reasons(found: Recalled) -> set[Reason]:
    """Why candidates are in or out."""
    return {each.reason for each in found.decisions}


@pytest.mark.parametrize("age", [None, 31.0])
async def test_when_curation_answers_the_age_does_not_matter(
    composed: Composed, age: float | None
) -> None:
    """It says itself what is muted."""
    composed.retrieval.answer = found_rows(*ROWS, age=age)
    found = await assemble(composed)
    assert rendered(found) == {each.id for each in ROWS}
    assert found.degraded == ()


@pytest.mark.parametrize("error", LOST)
@pytest.mark.parametrize("age", [None, 30.5])
async def test_without_curation_old_mutes_hide_all_layers(
    composed: Composed, error: ServiceError, age: float | None
) -> None:
    """Nothing of the store is rendered or counted, and the answer says both."""
    composed.retrieval.answer = found_rows(*ROWS, age=age)
    composed.curation.behaviour.error = error
    found = await assemble(composed)
    assert found.assembly.prompt == ""
    assert {each.reason for each in found.assembly.decisions} == {Reason.MUTES_UNKNOWN}
    late = isinstance(error, ServiceTimeout)
    status = PartStatus.TIMEOUT if late else PartStatus.UNAVAILABLE
    assert found.degraded == (Degradation("curation", status), HIDDEN)
    await composed.use_cases.close()
    assert composed.retrieval.recorded == []


@pytest.mark.parametrize(("age", "accept"), [(30.0, False), (30.5, True), (None, True)])
async def test_without_curation_young_or_accepted_mutes_do(
    composed: Composed,
    age: float | None,
    accept: bool,  # noqa: FBT001 (a parameter of the test)
) -> None:
    """The memory is there, and only curation is named."""
    composed.retrieval.answer = found_rows(*ROWS, age=age)
    composed.curation.behaviour.error = LOST[0]
    found = await assemble(composed, accept_stale_mutes=accept)
    assert rendered(found) == {each.id for each in ROWS}
    assert [each.part for each in found.degraded] == ["curation"]


@pytest.mark.parametrize("query", ["", "tea"])
async def test_nothing_found_is_nothing_hidden(composed: Composed, query: str) -> None:
    """An answer from which no entry is left out does not name the mutes."""
    composed.retrieval.answer = found_rows(age=None)
    composed.curation.behaviour.error = LOST[0]
    found = await composed.assemble(turn(query, preview=True))
    assert [each.part for each in found.degraded] == ["curation"]


async def test_recall_with_young_mutes_asks_nobody_else(composed: Composed) -> None:
    """Nor does one whose caller accepts old ones."""
    composed.retrieval.answer = found_rows(*ROWS, age=1.0)
    assert rendered(await recall(composed)) == {each.id for each in ROWS}
    composed.retrieval.answer = found_rows(*ROWS, age=None)
    found = await recall(composed, accept_stale_mutes=True)
    assert (rendered(found), found.degraded) == ({each.id for each in ROWS}, ())
    assert not composed.curation.behaviour.called.is_set()


async def test_recall_with_old_mutes_asks_curation(composed: Composed) -> None:
    """It vouches for the caller and the project that it was asked about, and for nobody else."""
    noise = frozenset({(MINE, "noise")})
    pins = replace(CURATION.curated, muted=noise)
    composed.curation.answer = CurationAnswer(pins)
    loud = entry("loud", owner=MINE, text="More tea", category="noise")
    composed.retrieval.answer = found_rows(*ROWS, loud, age=31.0)
    found = await recall(composed, "p1")
    assert (rendered(found), found.degraded) == ({each.id for each in ROWS}, ())
    assert reasons(found) == {Reason.RENDERED, Reason.MUTED}
    found = await recall(composed)
    assert (rendered(found), found.degraded) == ({"mine", "event"}, (HIDDEN,))
    assert reasons(found) == {Reason.RENDERED, Reason.MUTED, Reason.MUTES_UNKNOWN}


@pytest.mark.parametrize("error", [*LOST, ProjectNotFound()])
async def test_recall_without_curation_hides_what_may_be_muted(
    composed: Composed, error: Exception
) -> None:
    """Also of a project that curation does not know."""
    composed.curation.behaviour.error = error
    found = await recall(composed, "p1")
    assert (found.bundle.text, found.degraded) == ("", (HIDDEN,))
    assert reasons(found) == {Reason.MUTES_UNKNOWN}


async def test_search_sees_what_may_be_muted(composed: Composed) -> None:
    """People look for what they muted, so it asks for no word of curation's."""
    composed.curation.behaviour.error = LOST[0]
    request = CandidateRequest("tea", tuple(Layer), None, 100, include_muted=True)
    query = Query(ANA, request, Fusion(), Bounds(20), Deadline.after(20))
    found = await composed.use_cases.searcher.search(query)
    assert {each.id for each in found.hits} == {each.id for each in ROWS}
    assert found.degraded == ()
