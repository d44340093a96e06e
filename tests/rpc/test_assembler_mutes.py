"""Unknown mutes on the wire: what is left out, what says so, and how a caller accepts it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.assembler.doubles import ENTRIES, Running, failure, found_rows, serving

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.common.v1 import report_pb2
from hilvan_assembler.errors import ServiceUnavailable

IDS = {each.id for each in ENTRIES}


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    """A server whose curation is gone and whose retrieval was never told what is muted."""
    async with serving() as running:
        running.retrieval.answer = found_rows(*ENTRIES, age=None)
        running.curation.behaviour.error = ServiceUnavailable("curation")
        yield running


async def ask(running: Running, method: str, preview: bool, **fields: Any) -> Any:  # noqa: FBT001 (a parameter of the tests)
    """The answer to a call, or to its preview."""
    request = getattr(pb, f"{method}Request")(query="tea", view=pb.VIEW_FULL, **fields)
    if not preview:
        return await running.call(method, request)
    name = method.lower()
    answer = await running.call("Preview", pb.PreviewRequest(**{name: request}))
    return getattr(answer, name)


@pytest.mark.parametrize("preview", [False, True])
@pytest.mark.parametrize("method", ["Assemble", "Recall"])
async def test_what_may_be_muted_is_left_out_and_named(
    running: Running, method: str, *, preview: bool
) -> None:
    """Each candidate has its reason, and the answer says what it lacks."""
    answer = await ask(running, method, preview)
    assert {(each.id, each.reason) for each in answer.decisions} == {
        (name, pb.REASON_MUTES_UNKNOWN) for name in IDS
    }
    told = {each.part: (each.status, each.description) for each in answer.degraded}
    lacks = "the answer lacks entries that may be muted"
    assert told["mutes"] == (report_pb2.PART_STATUS_UNAVAILABLE, lacks)
    assert set(told) - {"mutes"} == ({"curation"} if method == "Assemble" else set())


@pytest.mark.parametrize("preview", [False, True])
@pytest.mark.parametrize("method", ["Assemble", "Recall"])
async def test_a_caller_may_accept_old_mutes(
    running: Running, method: str, *, preview: bool
) -> None:
    """Then the memory is there, and nothing is said to lack because of them."""
    answer = await ask(running, method, preview, accept_stale_mutes=True)
    rendered = {each.id for each in answer.decisions if each.reason == pb.REASON_RENDERED}
    assert rendered == IDS
    assert "mutes" not in {each.part for each in answer.degraded}


async def test_a_session_without_curation_shows_nothing(running: Running) -> None:
    """It is no session at all."""
    failed = await failure(running, "StartSession", pb.StartSessionRequest())
    assert failed.reason == "CURATION_UNAVAILABLE"


async def test_a_search_shows_everything(running: Running) -> None:
    """It shows what is muted on purpose."""
    answer = await running.call("Search", pb.SearchRequest(query="tea"))
    assert {each.entry.id for each in answer.hits} == IDS
    assert list(answer.degraded) == []
