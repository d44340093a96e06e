"""Previews, credentials on their way, and the ends of calls."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from support.assembler.doubles import Running, serving

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.common.v1 import report_pb2
from hilvan.curation.v1 import curation_service_pb2 as curation_pb

REQUESTS = {
    "assemble": ("Assemble", pb.AssembleRequest(query="tea", view=pb.VIEW_FULL)),
    "start_session": (
        "StartSession",
        pb.StartSessionRequest(scope=curation_pb.Scope(project_id="p1"), include_bodies=True),
    ),
    "recall": ("Recall", pb.RecallRequest(query="tea", view=pb.VIEW_FULL)),
}


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


def preview_of(name: str, request: Any) -> pb.PreviewRequest:
    """The preview of a call."""
    preview = pb.PreviewRequest()
    getattr(preview, name).CopyFrom(request)
    return preview


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_preview_is_exactly_what_the_call_answers(running: Running, name: str) -> None:
    """Byte for byte, timings aside, with nothing counted and nothing opened."""
    method, request = REQUESTS[name]
    real = await running.call(method, request)
    preview = await running.call("Preview", preview_of(name, request))
    assert preview.WhichOneof("answer") == name
    assert timeless(getattr(preview, name)) == timeless(real)
    await running.use_cases.close()
    assert len(running.retrieval.recorded) == (name in ("assemble", "recall"))
    assert running.curation.opened == [("p1", False), ("p1", True)] * (name == "start_session")


async def test_the_callers_credential_travels_on(running: Running) -> None:
    """The other services see who calls, with the proof that came."""
    await running.call("Assemble", pb.AssembleRequest(query="tea"))
    caller = running.retrieval.behaviour.callers[0]
    assert (caller.tenant, caller.user, caller.metadata) == ("acme", "ana", running.metadata)


async def test_a_tokenizer_file_of_the_server_can_be_named(tmp_path: Path) -> None:
    """The request's name is the file's, and the budget is counted with it."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "words.json"))
    async with serving(folder=tmp_path) as running:
        overrides = pb.Overrides(tokenizer="words")
        request = pb.AssembleRequest(query="tea", overrides=overrides)
        answer = await running.call("Assemble", request)
    assert answer.tokenizer == "words"
    assert running.curation.tokenizers == ["words"]


async def test_a_late_service_is_named_inside_the_deadline(running: Running) -> None:
    """Retrieval hangs: identity and pins arrive before the caller's deadline."""
    running.retrieval.behaviour.open.clear()
    answer = await running.call("Assemble", pb.AssembleRequest(query="tea"), within=0.5)
    assert [each.id for each in answer.items] == ["block", "pin"]
    assert answer.degraded[0].status == report_pb2.PART_STATUS_TIMEOUT


async def test_a_caller_that_goes_away_ends_the_work(running: Running) -> None:
    """Its cancellation reaches both services at once."""
    for double in (running.retrieval, running.curation):
        double.behaviour.open.clear()
    call = running.stub.Assemble(pb.AssembleRequest(query="tea"), metadata=running.metadata)
    asked = asyncio.ensure_future(call)
    await running.retrieval.behaviour.called.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    async with asyncio.timeout(10):
        await running.retrieval.behaviour.cancelled.wait()
        await running.curation.behaviour.cancelled.wait()
    assert await call.code() is grpc.StatusCode.CANCELLED
