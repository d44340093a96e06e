"""Recall, search, and what a session begins with."""

import asyncio
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from support.assembler.doubles import (
    ANA,
    ENTRIES,
    MemoryCuration,
    MemoryRetrieval,
    element,
    found_rows,
)
from support.assembler.values import AS_OF, WORDS, disputes, entry, options

from hilvan_assembler.adapters.contradiction import evidence_judge
from hilvan_assembler.errors import (
    ProjectNotFound,
    ServiceTimeout,
    ServiceUnavailable,
    SourcesFailed,
)
from hilvan_assembler.model.candidate import CandidateRequest
from hilvan_assembler.model.curation import Curated, CurationAnswer
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.kind import Layer, PartStatus, Reason
from hilvan_assembler.model.options import Fusion
from hilvan_assembler.model.session import Brief, Changed
from hilvan_assembler.usecases.assembly import Assembler, Wanted
from hilvan_assembler.usecases.session import NEWS_MOST, ProjectStart, Start, Starter
from hilvan_kit.deadlines import Deadline

Doubles = Any
"""The two services in memory with the use cases over them."""


@pytest.fixture
def turn() -> Doubles:
    """Doubles that answer at once."""
    retrieval, curation = MemoryRetrieval(), MemoryCuration()
    return SimpleNamespace(
        retrieval=retrieval,
        curation=curation,
        assembler=Assembler(retrieval, curation, evidence_judge),
        starter=Starter(retrieval, curation),
    )


def wanted(project_id: str = "") -> Wanted:
    """What a caller wants of retrieval."""
    return Wanted("tea", project_id, 100, as_of_given=False)


async def test_recall_packs_what_was_found_and_says_why(turn: Doubles) -> None:
    """With a project only its entries; explained when asked, the same either way."""
    assembler = Assembler(turn.retrieval, turn.curation, disputes((ENTRIES[0].text, "new")))
    turn.retrieval.answer = found_rows(
        *ENTRIES, entry("n", "new", days=0, similarity=0.5), pairs={("m1", "n"): 0.8}
    )
    asked = wanted(project_id="p1")
    plain, told = [
        await assembler.recall(
            ANA,
            asked,
            options(),
            (500, 500),
            WORDS,
            Deadline.after(20),
            explained=explained,
            preview=True,
        )
        for explained in (False, True)
    ]
    assert plain.bundle == told.bundle
    assert plain.decisions == ()
    assert [each.reason for each in told.decisions].count(Reason.CONTRADICTED_BY) == 1
    none = await assembler.recall(
        ANA, asked, options(), (0, 0), WORDS, Deadline.after(20), explained=True, preview=True
    )
    assert [each.reason for each in none.decisions].count(Reason.CONTRADICTED_BY) == 1
    assert {each.owners for each in turn.retrieval.requests} == {("project:p1",)}
    assert not turn.curation.behaviour.called.is_set()


@pytest.mark.parametrize("error", [ServiceUnavailable("retrieval"), SourcesFailed("both")])
async def test_recall_and_search_are_nothing_without_retrieval(
    turn: Doubles, error: Exception
) -> None:
    """They fail, and say with what."""
    turn.retrieval.behaviour.error = error
    deadline = Deadline.after(20)
    with pytest.raises(type(error)):
        await turn.assembler.recall(
            ANA, wanted(), options(), (9, 9), WORDS, deadline, explained=False, preview=False
        )
    request = CandidateRequest("tea", tuple(Layer), None, 100)
    with pytest.raises(type(error)):
        await turn.assembler.search(ANA, request, Fusion(), 0.0, 20, deadline)


async def test_search_ranks_by_relevance_alone_and_keeps_the_muted(turn: Doubles) -> None:
    """At most so many, and none below the floor that has a similarity."""
    rows = [
        entry("far", similarity=0.5),
        entry("word", bm25=9.0),
        entry("near", similarity=0.9, muted=True, days=900),
    ]
    turn.retrieval.answer = found_rows(*rows)
    request = CandidateRequest("tea", tuple(Layer), None, 100)
    fusion = Fusion(vector_weight=1.0, keyword_weight=0.5)
    hits: list[list[str]] = []
    for floor, limit in ((0.0, 20), (0.6, 20), (0.0, 1), (0.0, 0)):
        found = await turn.assembler.search(ANA, request, fusion, floor, limit, Deadline.after(20))
        hits.append([each.id for each, _ in found.hits])
    assert sorted(hits[0]) == ["far", "near", "word"]
    assert sorted(hits[1]) == ["near", "word"]
    assert (hits[2], hits[3]) == (hits[0][:1], [])


async def start(turn: Doubles, project_id: str = "", *, preview: bool = False) -> Start:
    """A session of ana's."""
    begun: Start = await turn.starter.start(ANA, project_id, Deadline.after(20), preview=preview)
    return begun


async def project(turn: Doubles) -> ProjectStart:
    """The project's part of a session."""
    part = (await start(turn, "p1")).project
    assert part is not None
    return part


def change(number: int, category: str = "stack", *, is_note: bool = False) -> Changed:
    """An entry of the project that is ``number`` days old."""
    moment = AS_OF - timedelta(days=number)
    return Changed(category, "project:p1", moment, is_note, wire=number)


def brief(*categories: str, muted: tuple[str, ...] = ()) -> Brief:
    """Categories of a scope."""
    return Brief((), tuple((name, name in muted, None) for name in categories))


async def test_a_session_asks_everything_at_once(turn: Doubles) -> None:
    """Each service answers only once the other was called."""
    turn.retrieval.behaviour.open = turn.curation.behaviour.called
    turn.curation.behaviour.open = turn.retrieval.behaviour.called
    begun = await start(turn, "p1")
    assert begun.project is not None
    assert begun.degraded == ()


async def test_a_session_without_a_project_has_the_profile_alone(turn: Doubles) -> None:
    """Retrieval is not asked, and a preview opens nothing."""
    begun = await start(turn, preview=True)
    assert begun.project is None
    assert not turn.retrieval.behaviour.called.is_set()
    assert [each.note_id for each in begun.profile] == ["pin"]
    assert turn.curation.opened == [("", True)]
    await start(turn)
    assert turn.curation.opened[-1] == ("", False)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ServiceUnavailable("retrieval"), PartStatus.UNAVAILABLE),
        (ServiceTimeout("retrieval"), PartStatus.TIMEOUT),
    ],
)
async def test_a_session_can_begin_without_news(
    turn: Doubles, error: Exception, status: PartStatus
) -> None:
    """Retrieval down or late: no changes, and said so truthfully."""
    turn.retrieval.behaviour.error = error
    begun = await start(turn, "p1")
    assert begun.project is not None
    assert begun.project.news == ()
    assert begun.degraded == (Degradation("retrieval", status),)


@pytest.mark.parametrize("error", [ServiceUnavailable("curation"), ProjectNotFound()])
async def test_a_session_is_nothing_without_curation(turn: Doubles, error: Exception) -> None:
    """It fails, and nothing goes on."""
    turn.retrieval.behaviour.open.clear()
    turn.curation.behaviour.error = error
    with pytest.raises(type(error)):
        await start(turn, "p1")
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_news_are_what_changed_since_the_last_session(turn: Doubles) -> None:
    """Newer than that, no notes, none that is muted, at most so many, newest first."""
    turn.curation.since = AS_OF - timedelta(days=60)
    turn.curation.briefs["p1"] = brief("noise", muted=("noise",))
    fresh = [change(n) for n in range(1, NEWS_MOST + 9)]
    turn.retrieval.changes = [change(0, "noise"), change(0, is_note=True), *fresh, change(60)]
    assert [each.wire for each in (await project(turn)).news] == list(range(1, NEWS_MOST + 1))
    turn.retrieval.changes = [change(59), change(60)]
    assert [each.wire for each in (await project(turn)).news] == [59]


async def test_a_first_session_has_no_news(turn: Doubles) -> None:
    """Nothing was acknowledged yet, so nothing counts as changed."""
    turn.retrieval.changes = [change(1)]
    assert (await project(turn)).news == ()


async def test_known_categories_are_used_or_named_and_not_muted(turn: Doubles) -> None:
    """Those of entries and of category notes, sorted, without the muted and without notes' own."""
    turn.curation.briefs["p1"] = brief("named", "noise", muted=("noise",))
    turn.retrieval.changes = [
        change(1, "used"),
        change(2, "noise"),
        change(3, ""),
        change(4, "of-a-note", is_note=True),
    ]
    assert (await project(turn)).categories == ("named", "used")


async def test_a_project_repeats_nothing_of_the_profile(turn: Doubles) -> None:
    """Elements that load in every session, and memory, are not in the project's part."""
    turn.curation.scopes["p1"] = CurationAnswer(
        Curated(), (element("pin"), element("plan"), element("memory", is_memory=True))
    )
    assert [each.note_id for each in (await project(turn)).elements] == ["plan"]
