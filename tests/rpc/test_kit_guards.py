"""What the guards promise around every call: a real server and channel, all four shapes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.protobuf.wrappers_pb2 import StringValue
from grpc import aio
from prometheus_client import REGISTRY
from structlog.testing import capture_logs
from support.kit.server import (
    SERVICE,
    SHAPES,
    call,
    one_method,
    read_error,
    refusal,
    serve,
    shapes,
    start,
    until,
)

from hilvan_kit.auth import (
    TENANT_KEY,
    USER_KEY,
    DevelopmentAuthenticator,
)
from hilvan_kit.calls import Call, Guard, Step
from hilvan_kit.failures import ErrorTable
from hilvan_kit.guards import (
    credentials,
    principal,
    standard_guards,
    translate,
)

TABLE = ErrorTable("shapes.hilvan", {})
GUARDS = standard_guards(DevelopmentAuthenticator(), TABLE)
SECRET = "secret-9f3a"

every_shape = pytest.mark.parametrize("shape", SHAPES)


async def echo(text: str, _: Any) -> str:
    """Answer what was asked."""
    return text


async def fail(text: str, _: Any) -> str:
    """Meet what nobody foresaw."""
    raise RuntimeError(f"{SECRET} {text}")


def test_the_order_of_the_guards() -> None:
    """Observe, translate, shed, authenticate: nothing refuses before it can be told and counted."""
    names = [guard.__qualname__.partition(".")[0] for guard in GUARDS]
    assert names == ["observe", "translate", "shed", "authenticate"]


@every_shape
async def test_guards_surround_the_handler(shape: str) -> None:
    """The first guard is outermost: it begins first and ends last, whatever the shape."""
    seen: list[str] = []

    def tracer(name: str) -> Guard:
        async def guard(call: Call, proceed: Step) -> Any:
            seen.append(f"{name} begins")
            try:
                return await proceed(call)
            finally:
                seen.append(f"{name} ends")

        return guard

    async def act(text: str, _: Any) -> str:
        seen.append("handler")
        return text

    async with serve([tracer("outer"), tracer("inner")], shapes(act)) as channel:
        assert await call(channel, shape, "a") == "a"
        await until(lambda: "outer ends" in seen)
    assert seen == ["outer begins", "inner begins", "handler", "inner ends", "outer ends"]


@every_shape
async def test_all_messages_pass_the_guards(shape: str) -> None:
    """A stream through the guards loses no message and keeps the order."""
    texts = [str(number) for number in range(50)] if shape.startswith("stream") else ["0"]
    async with serve(GUARDS, shapes(echo)) as channel:
        assert await call(channel, shape, *texts) == "".join(texts)


@every_shape
async def test_an_unforeseen_exception_is_an_incident(shape: str) -> None:
    """The caller gets INTERNAL and a number; the log has the number and the exception."""
    with capture_logs() as logs:
        async with serve(GUARDS, shapes(fail)) as channel:
            refused = await refusal(call(channel, shape, "a"))
            await until(lambda: any(line["event"] == "call" for line in logs))
    assert (refused.code, refused.info.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
    number = refused.info.metadata["incident"]
    assert refused.message == f"internal error; incident {number}"
    (incident,) = [line for line in logs if line["event"] == "incident"]
    assert incident["incident"] == number
    assert incident["exc_info"]
    told = str(refused)
    for leak in (SECRET, "RuntimeError", "Traceback", "test_kit_guards", "Unexpected"):
        assert leak not in told


@pytest.mark.parametrize("place", ["a guard", "the error table"])
async def test_no_place_leaks(place: str) -> None:
    """A guard that fails, or the table itself, is an incident like any other."""

    class Foreseen(Exception):
        pass

    async def broken(_: Call, __: Step) -> Any:
        raise (KeyError(SECRET) if place == "a guard" else Foreseen)

    def row(_: Exception) -> Any:
        raise AttributeError(SECRET)

    table = ErrorTable("shapes.hilvan", {Foreseen: row})
    with capture_logs() as logs:
        async with serve([translate(table), broken], shapes(echo)) as channel:
            refused = await refusal(call(channel, "unary_unary", "a"))
    assert refused.code is grpc.StatusCode.INTERNAL
    assert SECRET not in str(refused)
    also = ["error table"] if place == "the error table" else []
    assert [line["event"] for line in logs] == [*also, "incident"]


@every_shape
async def test_an_abort_of_the_handler_passes(shape: str) -> None:
    """A handler's own abort reaches the caller unchanged, and the log has its status."""

    async def act(_: str, context: Any) -> str:
        await context.abort(grpc.StatusCode.NOT_FOUND, "own words")
        raise AssertionError

    with capture_logs() as logs:
        async with serve(GUARDS, shapes(act)) as channel:
            with pytest.raises(aio.AioRpcError) as caught:
                await call(channel, shape, "a")
            await until(lambda: bool(logs))
    assert (caught.value.code(), caught.value.details()) == (
        grpc.StatusCode.NOT_FOUND,
        "own words",
    )
    assert [line["status"] for line in logs] == ["NOT_FOUND"]


@every_shape
@pytest.mark.parametrize("way", ["cancel", "deadline"])
async def test_a_call_that_ends_early_cancels_its_handler(shape: str, way: str) -> None:
    """A cancelled or late call stops its handler, leaves no task, and is logged as CANCELLED."""
    entered, stopped = asyncio.Event(), asyncio.Event()

    async def act(_: str, __: Any) -> str:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    with capture_logs() as logs:
        async with serve(GUARDS, shapes(act)) as channel:
            before = len(asyncio.all_tasks())
            timeout = 0.2 if way == "deadline" else None
            started = asyncio.create_task(call(channel, shape, "a", timeout=timeout))
            await asyncio.wait_for(entered.wait(), 10)
            if way == "cancel":
                started.cancel()
            with contextlib.suppress(asyncio.CancelledError, aio.AioRpcError):
                await started
            await asyncio.wait_for(stopped.wait(), 10)
            await until(lambda: len(asyncio.all_tasks()) == before)
            await until(lambda: bool(logs))
    assert [line["status"] for line in logs] == ["CANCELLED"]


async def test_a_client_that_stops_reading_ends_the_stream() -> None:
    """A stream that waits for its reader is closed when the reader goes, its handler first."""
    closed: list[str] = []

    async def endless(_: Any, __: Any) -> AsyncIterator[StringValue]:
        try:
            while True:
                yield StringValue(value="a" * 64 * 1024)
        finally:
            closed.append("handler")

    async def guard(call: Call, proceed: Step) -> Any:
        try:
            return await proceed(call)
        except asyncio.CancelledError:
            closed.append("guard")
            raise

    async with serve([*GUARDS, guard], one_method("unary_stream", endless)) as channel:
        before = len(asyncio.all_tasks())
        started = start(channel, "unary_stream", "a")
        for _ in range(3):
            await started.read()
        started.cancel()
        await until(lambda: len(closed) == 2)
        await until(lambda: len(asyncio.all_tasks()) == before)
    assert closed == ["handler", "guard"]


@every_shape
async def test_calls_in_flight_keep_their_own_principals(shape: str) -> None:
    """Each handler sees whom its own call acts for, and the metadata that proves it."""
    both = asyncio.Barrier(2)

    async def act(_: str, __: Any) -> str:
        await both.wait()
        who = principal()
        assert dict(credentials())[USER_KEY] == who.user
        return f"{who.tenant}/{who.user}/{who.role}"

    async with serve(GUARDS, shapes(act)) as channel:
        answers = await asyncio.gather(
            *(
                call(channel, shape, "a", metadata=((TENANT_KEY, "acme"), (USER_KEY, user)))
                for user in ("ana", "bob")
            )
        )
    assert answers == ["acme/ana/member", "acme/bob/member"]


def test_there_is_no_principal_outside_of_a_call() -> None:
    """Code that runs outside of an authenticated call can't take anybody's rights."""
    with pytest.raises(LookupError):
        principal()
    with pytest.raises(LookupError):
        credentials()


async def test_calls_are_counted_by_method_and_status() -> None:
    """The metrics have the method, the status and a plausible duration."""
    method = f"/{SERVICE}/unary_unary"

    def count(status: str) -> float:
        labels = {"grpc_method": method, "grpc_status": status}
        return REGISTRY.get_sample_value("grpc_server_call_duration_seconds_count", labels) or 0

    before = count("OK"), count("INTERNAL")

    async def act(text: str, _: Any) -> str:
        return await (fail if text == "bad" else echo)(text, None)

    with capture_logs() as logs:
        async with serve(GUARDS, shapes(act)) as channel:
            await call(channel, "unary_unary", "a")
            await refusal(call(channel, "unary_unary", "bad"))
            await until(lambda: count("INTERNAL") == before[1] + 1)
    assert count("OK") == before[0] + 1
    lines = [line for line in logs if line["event"] == "call"]
    assert [line["status"] for line in lines] == ["OK", "INTERNAL"]
    assert all(line["milliseconds"] >= 0 and line["tenant"] == "dev" for line in lines)
    assert lines[1]["reason"] == "INTERNAL"


async def test_an_unknown_method_is_unimplemented() -> None:
    """A method that no handler has is answered by gRPC itself, without an incident."""
    async with serve(GUARDS, one_method("unary_unary", echo)) as channel:
        with pytest.raises(aio.AioRpcError) as caught:
            await call(channel, "unary_stream", "a")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_an_error_after_some_answers_is_rich_as_well() -> None:
    """A stream that breaks gives what it had, and then the whole error."""

    async def act(text: str, _: Any) -> str:
        return await (fail if text == "bad" else echo)(text, None)

    async with serve(GUARDS, shapes(act)) as channel:
        started = start(channel, "stream_stream", "a", "b", "bad", "c")
        assert [(await started.read()).value for _ in range(2)] == ["a", "b"]
        with pytest.raises(aio.AioRpcError) as caught:
            await started.read()
    assert read_error(caught.value).code is grpc.StatusCode.INTERNAL
