"""Bad input of the assembler's calls: every fault of a request is told at once."""

from collections.abc import AsyncIterator

import grpc
import pytest
from google.protobuf.message import Message
from support.assembler.doubles import Running, failure, serving

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.curation.v1 import curation_service_pb2 as curation_pb

Code = grpc.StatusCode
FULL_SCOPE = curation_pb.Scope(project_id="no/project")
BAD_OVERRIDES = pb.Overrides(
    budgets=pb.TierBudgets(memories=-1, episodes=100_001, notes=-(2**31)),
    min_final=float("nan"),
    min_semantic=1.5,
    candidate_limit=0,
    category_boosts=[
        pb.CategoryBoost(category="a", factor=1),
        pb.CategoryBoost(category="a", factor=11),
        pb.CategoryBoost(category="x" * 65, factor=float("inf")),
    ],
    fusion=pb.Fusion(vector_weight=-0.1, keyword_weight=2, rank_constant=0),
    tokenizer="gpt2",
    sections=[pb.SECTION_UNSPECIFIED, 99],  # type: ignore[list-item]  # the wire carries any number
    time_zone="Mars/Olympus",
)
BAD_OVERRIDES.as_of_time.seconds = 10**15
BAD_PATHS = {
    "budgets.memories",
    "budgets.episodes",
    "budgets.notes",
    "min_final",
    "min_semantic",
    "candidate_limit",
    "category_boosts[1].category",
    "category_boosts[1].factor",
    "category_boosts[2].category",
    "category_boosts[2].factor",
    "fusion.vector_weight",
    "fusion.keyword_weight",
    "fusion.rank_constant",
    "tokenizer",
    "sections[0]",
    "sections[1]",
    "time_zone",
    "as_of_time",
}
OFF = pb.Fusion(vector_weight=0, keyword_weight=0)


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    """A server over doubles that answer at once."""
    async with serving() as running:
        yield running


@pytest.mark.parametrize(
    ("method", "request_", "paths"),
    [
        (
            "Assemble",
            pb.AssembleRequest(
                query="x" * 100_000,
                scope=FULL_SCOPE,
                overrides=BAD_OVERRIDES,
                view=9,  # type: ignore[arg-type]  # the wire carries any number
            ),
            {"query", "scope.project_id", "view"} | {f"overrides.{path}" for path in BAD_PATHS},
        ),
        ("Assemble", pb.AssembleRequest(query="a\0b"), {"query"}),
        ("Assemble", pb.AssembleRequest(overrides=pb.Overrides(fusion=OFF)), {"overrides.fusion"}),
        (
            "Assemble",
            pb.AssembleRequest(
                overrides=pb.Overrides(
                    category_boosts=[
                        pb.CategoryBoost(category=f"c{n}", factor=1) for n in range(33)
                    ]
                )
            ),
            {"overrides.category_boosts"},
        ),
        ("StartSession", pb.StartSessionRequest(scope=FULL_SCOPE), {"scope.project_id"}),
        (
            "Recall",
            pb.RecallRequest(
                query="  ",
                project_id="-",
                token_budget=-1,
                max_per_source=100_001,
                overrides=BAD_OVERRIDES,
            ),
            {"query", "project_id", "token_budget", "max_per_source"}
            | {f"overrides.{path}" for path in BAD_PATHS},
        ),
        ("Recall", pb.RecallRequest(query="x" * 8_193), {"query"}),
        ("Recall", pb.RecallRequest(), {"query"}),
        (
            "Search",
            pb.SearchRequest(
                query="\t",
                project_id="x" * 129,
                layers=[0, 77],  # type: ignore[list-item]  # the wire carries any number
                limit=101,
                mode=9,  # type: ignore[arg-type]  # the same
                min_semantic=float("nan"),
                fusion=pb.Fusion(vector_weight=float("-inf")),
            ),
            {"query", "project_id", "layers[0]", "layers[1]", "limit", "mode", "min_semantic"}
            | {"fusion.vector_weight"},
        ),
        ("Search", pb.SearchRequest(query="x", limit=-1), {"limit"}),
        ("Search", pb.SearchRequest(query="x", fusion=OFF), {"fusion"}),
        (
            "Search",
            pb.SearchRequest(
                query="x", mode=pb.SEARCH_MODE_KEYWORD, fusion=pb.Fusion(keyword_weight=0)
            ),
            {"fusion"},
        ),
        ("Preview", pb.PreviewRequest(), {"call"}),
        (
            "Preview",
            pb.PreviewRequest(
                assemble=pb.AssembleRequest(query="x" * 8_193, overrides=pb.Overrides(min_final=-1))
            ),
            {"assemble.query", "assemble.overrides.min_final"},
        ),
        ("Preview", pb.PreviewRequest(recall=pb.RecallRequest()), {"recall.query"}),
        (
            "Preview",
            pb.PreviewRequest(start_session=pb.StartSessionRequest(scope=FULL_SCOPE)),
            {"start_session.scope.project_id"},
        ),
    ],
)
async def test_bad_input_names_every_field_at_once(
    running: Running, method: str, request_: Message, paths: set[str]
) -> None:
    """Nothing is asked of anybody, and each field is told with its full path."""
    failed = await failure(running, method, request_)
    assert (failed.code, failed.reason) == (Code.INVALID_ARGUMENT, "INVALID_FIELD")
    assert failed.paths == paths
    assert not running.retrieval.behaviour.called.is_set()
    assert not running.curation.behaviour.called.is_set()


@pytest.mark.parametrize("query", ["🙂🙂", "the of and", 'C++ (v2): "fix" AND', "x" * 8_192])
async def test_odd_queries_are_queries(running: Running, query: str) -> None:
    """Emoji, stop words, operators and the longest query are asked as they are."""
    await running.call("Assemble", pb.AssembleRequest(query=query))
    assert running.retrieval.requests[0].query == query
