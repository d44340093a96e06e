"""Recall, search, and what a session begins with."""

import asyncio
from datetime import timedelta

import pytest
from support.assembler.doubles import (
    ANA,
    ENTRIES,
    Composed,
    element,
    found_rows,
    turn,
)
from support.assembler.values import AS_OF, disputes, entry

from hilvan_assembler.core.search import Bounds
from hilvan_assembler.core.session import MAX_CHANGED_ENTRIES
from hilvan_assembler.errors import (
    ProjectNotFound,
    ServiceTimeout,
    ServiceUnavailable,
    SourcesFailed,
)
from hilvan_assembler.model.candidate import CandidateRequest
from hilvan_assembler.model.curation import Curated, CurationAnswer
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.entry import Entry, Origin
from hilvan_assembler.model.kind import ElementKind, Layer, PartStatus, Reason, View
from hilvan_assembler.model.options import Fusion
from hilvan_assembler.model.session import Brief, Category, ProjectStart, Start
from hilvan_assembler.usecases.search import Query
from hilvan_assembler.usecases.session import SessionCall
from hilvan_kit.deadlines import Deadline


@pytest.fixture
def composed() -> Composed:
    """The use cases over doubles that answer at once."""
    return Composed.over()


async def test_recall_packs_what_was_found_and_says_why() -> None:
    """With a project only its entries; explained when asked, the same either way."""
    composed = Composed.over(judge=disputes((ENTRIES[0].text, "new")))
    composed.retrieval.answer = found_rows(
        *ENTRIES, entry("n", "new", days=0, similarity=0.5), pairs={("m1", "n"): 0.8}
    )
    plain, told = [
        await composed.recall(turn(project_id="p1", view=view, preview=True)) for view in View
    ]
    assert plain.bundle.text == told.bundle.text
    assert plain.bundle.passages == told.bundle.passages
    assert plain.decisions == ()
    assert [each.reason for each in told.decisions].count(Reason.CONTRADICTED_BY) == 1
    none = await composed.recall(turn(project_id="p1", view=View.FULL, preview=True), tokens=0)
    assert [each.reason for each in none.decisions].count(Reason.CONTRADICTED_BY) == 1
    assert {each.owners for each in composed.retrieval.requests} == {("project:p1",)}
    assert not composed.curation.behaviour.called.is_set()


@pytest.mark.parametrize("error", [ServiceUnavailable("retrieval"), SourcesFailed("both")])
async def test_recall_and_search_are_nothing_without_retrieval(
    composed: Composed, error: Exception
) -> None:
    """They fail, and say with what."""
    composed.retrieval.behaviour.error = error
    with pytest.raises(type(error)):
        await composed.recall(turn())
    with pytest.raises(type(error)):
        await search(composed)


async def search(
    composed: Composed, fusion: Fusion | None = None, floor: float = 0.0, limit: int = 20
) -> list[str]:
    """The ids of hits."""
    request = CandidateRequest("tea", tuple(Layer), None, 100)
    bounds, deadline = Bounds(limit, floor), Deadline.after(20)
    query = Query(ANA, request, fusion or Fusion(), bounds, deadline)
    return [hit.id for hit in (await composed.use_cases.searcher.search(query)).hits]


async def test_search_ranks_by_relevance_alone_and_keeps_the_muted(composed: Composed) -> None:
    """At most so many, and none below the floor that has a similarity."""
    rows = [
        entry("far", similarity=0.5),
        entry("word", bm25=9.0),
        entry("near", similarity=0.9, muted=True, days=900),
    ]
    composed.retrieval.answer = found_rows(*rows)
    fusion = Fusion(vector_weight=1.0, keyword_weight=0.5)
    hits = [
        await search(composed, fusion, floor, limit)
        for floor, limit in ((0.0, 20), (0.6, 20), (0.0, 1), (0.0, 0))
    ]
    assert sorted(hits[0]) == ["far", "near", "word"]
    assert sorted(hits[1]) == ["near", "word"]
    assert (hits[2], hits[3]) == (hits[0][:1], [])


async def start(composed: Composed, project_id: str = "", *, preview: bool = False) -> Start:
    """A session of ana's."""
    call = SessionCall(ANA, project_id, Deadline.after(20), preview)
    return await composed.use_cases.session_starter.start(call)


async def project(composed: Composed) -> ProjectStart:
    """The project's part of a session."""
    part = (await start(composed, "p1")).project
    assert part is not None
    return part


def change(number: int, category: str = "stack", *, layer: Layer = Layer.MEMORY) -> Entry:
    """An entry of the project that is ``number`` days old; that is its id as well."""
    moment = AS_OF - timedelta(days=number)
    return Entry(
        str(number), layer, "project:p1", "", moment, moment, category=category, origin=Origin()
    )


def brief(*categories: str, muted: tuple[str, ...] = ()) -> Brief:
    """Categories of a scope."""
    return Brief((), tuple(Category(name, "user:ana", muted=name in muted) for name in categories))


async def test_a_session_asks_everything_at_once(composed: Composed) -> None:
    """Each service answers only once the other was called."""
    composed.retrieval.behaviour.open = composed.curation.behaviour.called
    composed.curation.behaviour.open = composed.retrieval.behaviour.called
    begun = await start(composed, "p1")
    assert begun.project is not None
    assert begun.degraded == ()


async def test_a_session_without_a_project_has_the_profile_alone(composed: Composed) -> None:
    """Retrieval is not asked, and a preview opens nothing."""
    begun = await start(composed, preview=True)
    assert begun.project is None
    assert not composed.retrieval.behaviour.called.is_set()
    assert [each.note_id for each in begun.profile] == ["pin"]
    assert composed.curation.opened == [("", True)]
    await start(composed)
    assert composed.curation.opened[-1] == ("", False)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ServiceUnavailable("retrieval"), PartStatus.UNAVAILABLE),
        (ServiceTimeout("retrieval"), PartStatus.TIMEOUT),
    ],
)
async def test_a_session_can_begin_without_news(
    composed: Composed, error: Exception, status: PartStatus
) -> None:
    """Retrieval down or late: no changes, and said so truthfully."""
    composed.retrieval.behaviour.error = error
    begun = await start(composed, "p1")
    assert begun.project is not None
    assert begun.project.changed_entries == ()
    assert begun.degraded == (Degradation("retrieval", status),)


@pytest.mark.parametrize("error", [ServiceUnavailable("curation"), ProjectNotFound()])
async def test_a_session_is_nothing_without_curation(composed: Composed, error: Exception) -> None:
    """It fails, and nothing goes on."""
    composed.retrieval.behaviour.open.clear()
    composed.curation.behaviour.error = error
    with pytest.raises(type(error)):
        await start(composed, "p1")
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_news_are_what_changed_since_the_last_session(composed: Composed) -> None:
    """Newer than that, no notes, none that is muted, at most so many, newest first."""
    composed.curation.since = AS_OF - timedelta(days=60)
    composed.curation.briefs["p1"] = brief("noise", muted=("noise",))
    fresh = [change(n) for n in range(1, MAX_CHANGED_ENTRIES + 9)]
    composed.retrieval.entries = [
        change(0, "noise"),
        change(0, layer=Layer.NOTE),
        *fresh,
        change(60),
    ]
    found = (await project(composed)).changed_entries
    assert [each.id for each in found] == [str(n) for n in range(1, MAX_CHANGED_ENTRIES + 1)]
    composed.retrieval.entries = [change(59), change(60)]
    assert [each.id for each in (await project(composed)).changed_entries] == ["59"]


async def test_a_first_session_has_no_news(composed: Composed) -> None:
    """Nothing was acknowledged yet, so nothing counts as changed."""
    composed.retrieval.entries = [change(1)]
    assert (await project(composed)).changed_entries == ()


async def test_known_categories_are_used_or_named_and_not_muted(composed: Composed) -> None:
    """Those of entries and of category notes, sorted, without the muted and without notes' own."""
    composed.curation.briefs["p1"] = brief("named", "noise", muted=("noise",))
    composed.retrieval.entries = [
        change(1, "used"),
        change(2, "noise"),
        change(3, ""),
        change(4, "of-a-note", layer=Layer.NOTE),
    ]
    assert (await project(composed)).categories == ("named", "used")


async def test_a_project_repeats_nothing_of_the_profile(composed: Composed) -> None:
    """Elements that load in every session, and memory, are not in the project's part."""
    composed.curation.scopes["p1"] = CurationAnswer(
        Curated(), (element("pin"), element("plan"), element("memory", ElementKind.MEMORY_CATEGORY))
    )
    assert [each.note_id for each in (await project(composed)).elements] == ["plan"]
