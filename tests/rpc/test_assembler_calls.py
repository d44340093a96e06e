"""Every call of the assembler over the wire."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.assembler.doubles import Running, element, found_rows, serving
from support.assembler.values import AS_OF, entry

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.common.v1 import entry_pb2, report_pb2
from hilvan.curation.v1 import curation_service_pb2 as curation_pb
from hilvan_assembler.errors import ServiceUnavailable
from hilvan_assembler.model.curation import CurationAnswer
from hilvan_assembler.model.entry import Entry, Origin
from hilvan_assembler.model.kind import Layer, Source
from hilvan_assembler.model.session import Brief, Category, Project

OVERRIDES = pb.Overrides(
    budgets=pb.TierBudgets(memories=60, notes=50, pinned=0),
    min_final=0.1,
    min_semantic=0.2,
    candidate_limit=7,
    category_boosts=[pb.CategoryBoost(category="stack", factor=2)],
    fusion=pb.Fusion(
        method=pb.FUSION_METHOD_RECIPROCAL_RANK,
        vector_weight=0.3,
        keyword_weight=0.4,
        rank_constant=5,
    ),
    tokenizer="cl100k_base",
    sections=[pb.SECTION_FACTS, pb.SECTION_PINNED],
    time_zone="America/Bogota",
)
OVERRIDES.as_of_time.FromDatetime(AS_OF - timedelta(days=3))


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    """A server over doubles that answer at once."""
    async with serving() as running:
        yield running


def timeless(answer: Any) -> bytes:
    """An answer's bytes without how long its stages took."""
    if hasattr(answer, "timings"):
        del answer.timings[:]
    data: bytes = answer.SerializeToString(deterministic=True)
    return data


async def test_assemble_answers_the_prompt_and_its_parts(running: Running) -> None:
    """Text, tokens, sections in order, items with scores, timings, the moment and tokenizer."""
    answer = await running.call("Assemble", pb.AssembleRequest(query="tea"))
    assert answer.prompt.startswith("<identity>\n")
    assert answer.token_count == sum(each.token_count for each in answer.sections) > 0
    assert [each.section for each in answer.sections] == list(range(1, 8))
    assert [each.id for each in answer.items] == ["block", "pin", "m1", "m2", "e1"]
    assert [each.HasField("score") for each in answer.items] == [False, False, True, True, True]
    assert (answer.tokenizer, answer.as_of_time.ToDatetime(UTC)) == ("o200k_base", AS_OF)
    stages = {each.stage for each in answer.timings}
    assert stages == {"retrieval", "vector", "curation", "assemble"}
    assert not answer.decisions
    assert not answer.HasField("weights")
    assert not answer.degraded


async def test_the_full_view_adds_decisions_and_changes_nothing(running: Running) -> None:
    """Each decision's numbers give its score; pins and blocks have reasons too."""
    plain = await running.call("Assemble", pb.AssembleRequest(query="tea"))
    told = await running.call("Assemble", pb.AssembleRequest(query="tea", view=pb.VIEW_FULL))
    weights = told.weights
    for each in told.decisions:
        if each.HasField("score"):
            names = ("relevance", "importance", "confidence", "recency", "frequency")
            total = sum(getattr(weights, name) * getattr(each.signals, name) for name in names)
            assert each.score == pytest.approx(each.signals.boost * total)
    reasons = {each.id: each.reason for each in told.decisions}
    assert reasons["gone"] == pb.REASON_MISSING
    assert reasons["m1"] == reasons["block"] == reasons["pin"] == pb.REASON_RENDERED
    del told.decisions[:]
    told.ClearField("weights")
    assert timeless(told) == timeless(plain)


async def test_overrides_reach_the_pipeline_and_retrieval(running: Running) -> None:
    """Budgets, floors, limit, boosts, fusion, tokenizer, sections, moment and zone."""
    rows = [
        entry("m1", "Ana drinks tea", similarity=0.9, vector_rank=1, category="stack"),
        entry("low", "Nothing", similarity=0.1, vector_rank=2),
    ]
    running.retrieval.answer = found_rows(*rows)
    request = pb.AssembleRequest(query="tea", overrides=OVERRIDES, view=pb.VIEW_FULL)
    answer = await running.call("Assemble", request)
    told = {each.id: each for each in answer.decisions}
    asked = running.retrieval.requests[0]
    assert (asked.limit, asked.as_of) == (7, AS_OF - timedelta(days=3))
    assert Layer.NOTE in asked.layers
    assert answer.tokenizer == "cl100k_base"
    assert [each.token_budget for each in answer.sections] == [500, 0, 60, 60, 50, 1000, 500]
    assert 'time_zone="America/Bogota"' in answer.prompt
    assert told["m1"].signals.boost == 2
    assert told["m1"].signals.recency == 1
    assert told["m1"].signals.relevance == pytest.approx(1)
    assert told["low"].reason == pb.REASON_BELOW_MIN_SEMANTIC
    assert told["pin"].reason == pb.REASON_TOO_LARGE
    assert told["block"].reason == pb.REASON_SECTION_OFF
    assert answer.warnings[0].code == "pin_over_budget"


async def test_absent_is_the_default_and_0_is_nothing(running: Running) -> None:
    """A budget of 0 is an empty section, not the default and not unlimited."""
    overrides = pb.Overrides(budgets=pb.TierBudgets(memories=0))
    answer = await running.call("Assemble", pb.AssembleRequest(query="tea", overrides=overrides))
    budgets = [each.token_budget for each in answer.sections]
    assert budgets == [500, 2000, 0, 0, 0, 1000, 500]
    assert "m1" not in {each.id for each in answer.items}


async def test_without_a_given_moment_ages_are_counted_to_the_hour(running: Running) -> None:
    """The same request a little later gives the same bytes; retrieval is asked for the present."""
    answer = await running.call("Assemble", pb.AssembleRequest(query="tea"))
    assert answer.as_of_time.ToDatetime(UTC).minute == 0
    assert running.retrieval.requests[0].as_of is None


async def test_an_empty_query_is_flagged(running: Running) -> None:
    """Nothing was searched, so nothing is said of relevance."""
    answer = await running.call("Assemble", pb.AssembleRequest())
    assert answer.query_empty
    assert not answer.no_relevant_memory
    assert [each.id for each in answer.items] == ["block", "pin"]


async def test_nothing_relevant_is_flagged(running: Running) -> None:
    """Something was searched, and nothing was found that may be rendered."""
    overrides = pb.Overrides(min_final=1)
    answer = await running.call("Assemble", pb.AssembleRequest(query="x", overrides=overrides))
    recall = await running.call("Recall", pb.RecallRequest(query="x", overrides=overrides))
    assert answer.no_relevant_memory
    assert not answer.query_empty
    assert (recall.no_relevant_memory, recall.bundle) == (True, "")


async def test_what_is_missing_is_described(running: Running) -> None:
    """The part, what became of it, and what the answer lacks."""
    running.curation.behaviour.error = ServiceUnavailable("curation")
    answer = await running.call("Assemble", pb.AssembleRequest(query="tea"))
    assert [(each.part, each.status, each.description) for each in answer.degraded] == [
        (
            "curation",
            report_pb2.PART_STATUS_UNAVAILABLE,
            "the answer lacks identity, pins and sets",
        )
    ]


async def test_start_session_without_and_with_a_project(running: Running) -> None:
    """The profile, the readable projects, and the project's index, news and known values."""
    running.curation.briefs[""] = Brief(
        (Project(id="p1"),),
        (Category("people", "user:ana"), Category("noise", "user:ana", muted=True)),
    )
    running.curation.scopes["p1"] = CurationAnswer(
        running.curation.answer.curated, (element("plan"),)
    )
    running.curation.since = AS_OF - timedelta(days=2)
    running.retrieval.entries = [
        Entry("new", Layer.MEMORY, "project:p1", "text", AS_OF, AS_OF, category="stack")
    ]
    plain = await running.call("StartSession", pb.StartSessionRequest())
    assert not plain.HasField("project")
    assert [each.category for each in plain.profile.memory] == ["people"]
    assert [(each.note_id, each.text) for each in plain.profile.always_load] == [("pin", "")]
    assert [each.id for each in plain.projects] == ["p1"]

    request = pb.StartSessionRequest(scope=curation_pb.Scope(project_id="p1"), include_bodies=True)
    answer = await running.call("StartSession", request)
    project = answer.project
    assert (project.note_count, list(project.folders), list(project.tags)) == (2, ["adr"], ["db"])
    assert [(each.note_id, each.text) for each in project.always_load] == [("plan", "the body")]
    assert [each.id for each in project.changed_entries] == ["new"]
    assert list(project.categories) == ["stack"]
    assert project.since_time.ToDatetime(UTC) == running.curation.since
    assert answer.session_id == "session-1"


async def test_recall_answers_passages_with_sources(running: Running) -> None:
    """Best first, within the budget and the share of a source."""
    rows = [
        entry("n1", "tea in the morning", similarity=0.9, layer=Layer.NOTE,
               origin=Origin(uri="note-1")),
        entry("m1", "Ana drinks tea", similarity=0.7, owner="project:p1"),
    ]  # fmt: skip
    running.retrieval.answer = found_rows(*rows)
    answer = await running.call("Recall", pb.RecallRequest(query="tea", project_id="p1"))
    note, memory = answer.passages
    assert [each.id for each in answer.passages] == ["n1", "m1"]
    assert (note.layer, note.origin.uri) == (entry_pb2.LAYER_NOTE, "note-1")
    assert (memory.owner.id, memory.HasField("origin")) == ("p1", False)
    assert sum(each.token_count for each in answer.passages) == answer.token_count
    small = pb.RecallRequest(query="tea", token_budget=30, max_per_source=10, view=pb.VIEW_FULL)
    told = await running.call("Recall", small)
    assert told.bundle == ""
    assert {each.detail for each in told.decisions} == {"share of note-1", "share of m1"}
    none = await running.call("Recall", pb.RecallRequest(query="tea", token_budget=0))
    assert none.token_count == 0


async def test_recalls_share_is_half_of_the_budget(running: Running) -> None:
    """Unless the request says otherwise, whatever the budget."""
    answer = await running.call("Recall", pb.RecallRequest(query="tea", token_budget=30))
    assert not answer.passages
    whole = pb.RecallRequest(query="tea", token_budget=30, max_per_source=30)
    assert len((await running.call("Recall", whole)).passages) == 1


@pytest.mark.parametrize(
    ("mode", "sources"),
    [
        (pb.SEARCH_MODE_UNSPECIFIED, (Source.VECTOR, Source.KEYWORD)),
        (pb.SEARCH_MODE_HYBRID, (Source.VECTOR, Source.KEYWORD)),
        (pb.SEARCH_MODE_KEYWORD, (Source.KEYWORD,)),
        (pb.SEARCH_MODE_SEMANTIC, (Source.VECTOR,)),
    ],
)
async def test_search_modes_choose_sources(
    running: Running, mode: Any, sources: tuple[Source, ...]
) -> None:
    """And muted entries are asked for on purpose."""
    await running.call("Search", pb.SearchRequest(query="tea", mode=mode))
    asked = running.retrieval.requests[0]
    assert (asked.sources, asked.include_muted, asked.limit) == (sources, True, 100)
    assert asked.layers == tuple(Layer)


async def test_search_answers_hits_with_snippets_and_raw_scores(running: Running) -> None:
    """Relevance, similarity and BM25 where there are some, and the mute."""
    rows = [
        entry("m1", "word " * 90 + "needle", similarity=0.9, bm25=4.0, muted=True),
        entry("m2", "x", bm25=1.0),
    ]
    running.retrieval.answer = found_rows(*rows)
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    request = pb.SearchRequest(
        query="needle", project_id="p1", layers=[entry_pb2.LAYER_MEMORY] * 2, limit=1
    )
    request.as_of_time.FromDatetime(moment)
    answer = await running.call("Search", request)
    (hit,) = answer.hits
    assert (hit.entry.id, hit.relevance, hit.muted) == ("m1", 1.0, True)
    assert (hit.similarity, hit.bm25) == (0.9, 4.0)
    assert hit.snippet.endswith("needle")
    asked = running.retrieval.requests[0]
    assert (asked.layers, asked.owners) == ((Layer.MEMORY,), ("project:p1",))
    assert asked.as_of == moment
    none = await running.call("Search", pb.SearchRequest(query="needle", limit=0))
    assert not none.hits
