"""Calls to another service: when it is no longer asked, and how it is asked again."""

import asyncio
from typing import Any

import grpc
import pytest
from support.assembler.doubles import ANA

from hilvan_assembler.adapters.services.call import PROBE_SECONDS, Service
from hilvan_assembler.errors import (
    ProjectNotFound,
    ServiceError,
    ServiceTimeout,
    ServiceUnavailable,
)
from hilvan_kit.breaker import FAILURES_IN_A_ROW, Breaker, State
from hilvan_kit.deadlines import Deadline
from hilvan_kit.failures import DETAILS_KEY, Failure, status

LATE, GONE = grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE
SOON = 20.0
LONG_S = 100.0


NO_PROJECT = {"PROJECT_NOT_FOUND": lambda _: ProjectNotFound()}
RICH = status(Failure(grpc.StatusCode.NOT_FOUND, "PROJECT_NOT_FOUND", ""), "curation.hilvan")
DETAILS = {grpc.StatusCode.NOT_FOUND: grpc.aio.Metadata((DETAILS_KEY, RICH.SerializeToString()))}
"""The metadata of errors that have an ErrorInfo."""


class Method:
    """A method of a stub that answers with a code, or when it is let."""

    def __init__(self) -> None:
        self.code: grpc.StatusCode | None = None
        self.open = asyncio.Event()
        self.open.set()
        self.reached = asyncio.Event()
        self.timeouts: list[float] = []

    async def __call__(self, request: str, *, timeout: float, metadata: object) -> str:  # noqa: ASYNC109
        """Answer the request itself."""
        del metadata
        self.timeouts.append(timeout)
        self.reached.set()
        await self.open.wait()
        if self.code is not None:
            empty = grpc.aio.Metadata()
            raise grpc.aio.AioRpcError(self.code, empty, DETAILS.get(self.code, empty))
        return request


class Asked:
    """A service with one method, and a clock of its breaker."""

    def __init__(self) -> None:
        self.method = Method()
        self.seconds = 0.0
        self.service = Service("curation")
        self.service._breaker = Breaker(now=lambda: self.seconds)

    async def ask(self, seconds: float = SOON) -> Any:
        """Call the method."""
        deadline = Deadline.after(seconds)
        return await self.service.call(self.method, "x", ANA, deadline, NO_PROJECT)

    async def fail(self, code: grpc.StatusCode, times: int = FAILURES_IN_A_ROW) -> None:
        """Let calls fail with a code."""
        self.method.code = code
        for _ in range(times):
            with pytest.raises((ServiceError, ProjectNotFound)):
                await self.ask()

    async def open(self) -> None:
        """Fail until it is not asked, then be well, and wait until it may be tried."""
        await self.fail(GONE)
        self.method.code = None
        self.method.timeouts.clear()
        self.seconds += LONG_S


@pytest.fixture
def asked() -> Asked:
    """A service that answers."""
    return Asked()


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (LATE, ServiceTimeout),
        (GONE, ServiceUnavailable),
        (grpc.StatusCode.CANCELLED, ServiceUnavailable),
    ],
)
async def test_a_service_that_keeps_failing_is_not_asked(
    asked: Asked, code: grpc.StatusCode, error: type[Exception]
) -> None:
    """The error is the one that it failed with, and names it."""
    await asked.fail(code)
    asked.method.timeouts.clear()
    asked.method.code = None
    with pytest.raises(error, match="curation"):
        await asked.ask()
    assert asked.method.timeouts == []


@pytest.mark.parametrize(
    "code",
    [
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.INTERNAL,
    ],
)
async def test_an_answer_to_one_caller_is_no_failure_of_the_service(
    asked: Asked, code: grpc.StatusCode
) -> None:
    """Whatever it refuses, it lives."""
    await asked.fail(code, 30)
    asked.method.code = None
    assert await asked.ask() == "x"


async def test_an_error_with_a_meaning_ends_a_row_of_failures(asked: Asked) -> None:
    """A service that says that a project is not there works."""
    await asked.fail(GONE, FAILURES_IN_A_ROW - 1)
    await asked.fail(grpc.StatusCode.NOT_FOUND, 1)
    await asked.fail(GONE, FAILURES_IN_A_ROW - 1)
    asked.method.code = None
    assert await asked.ask() == "x"


async def test_who_has_no_time_does_not_blame_the_service(asked: Asked) -> None:
    """Timeouts of callers in haste don't take it from the others."""
    asked.method.code = LATE
    for seconds in (0.0, 0.03):
        for _ in range(30):
            with pytest.raises(ServiceTimeout):
                await asked.ask(seconds)
    asked.method.code = None
    assert await asked.ask() == "x"


async def test_one_call_tries_it_again_and_briefly(asked: Asked) -> None:
    """Calls beside it are refused at once; after its answer all are asked."""
    await asked.open()
    asked.method.open.clear()
    asked.method.reached.clear()
    probe = asyncio.create_task(asked.ask())
    await asked.method.reached.wait()
    with pytest.raises(ServiceUnavailable):
        await asked.ask()
    asked.method.open.set()
    assert await probe == "x"
    assert await asked.ask() == "x"
    trial, normal = asked.method.timeouts
    assert trial <= PROBE_SECONDS < normal


async def test_a_probe_outlives_its_caller(asked: Asked) -> None:
    """Else a use case of two calls, of which one is refused, would end every probe."""
    await asked.open()
    asked.method.open.clear()
    asked.method.reached.clear()
    probe = asyncio.create_task(asked.ask())
    await asked.method.reached.wait()
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    asked.method.open.set()
    await asyncio.gather(*asked.service._probes)
    assert asked.service._breaker.state is State.CLOSED
    assert await asked.ask() == "x"


async def test_closing_ends_the_probe(asked: Asked) -> None:
    """No task is left, and its caller knows."""
    before = asyncio.all_tasks()
    await asked.open()
    asked.method.open.clear()
    asked.method.reached.clear()
    probe = asyncio.create_task(asked.ask())
    await asked.method.reached.wait()
    await asked.service.close()
    with pytest.raises(asyncio.CancelledError):
        await probe
    assert asyncio.all_tasks() == before
