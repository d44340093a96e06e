"""Servers for tests of the kit: four methods, one of each shape, and readers of rich errors."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import StringValue
from google.rpc import error_details_pb2, status_pb2
from grpc import aio

from hilvan_kit.calls import Guard, Guarded
from hilvan_kit.failures import DETAILS_KEY

Act = Callable[[str, Any], Awaitable[str]]
M = TypeVar("M", bound=Message)

SERVICE = "hilvan.test.Shapes"
SHAPES = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


def shapes(act: Act) -> grpc.GenericRpcHandler:
    """Four methods named by their shapes, which answer each text with what ``act`` makes of it."""

    async def answer(request: StringValue, context: Any) -> StringValue:
        return StringValue(value=await act(request.value, context))

    async def answer_stream(request: StringValue, context: Any) -> AsyncIterator[StringValue]:
        yield await answer(request, context)

    async def answer_all(requests: AsyncIterator[StringValue], context: Any) -> StringValue:
        texts = [(await answer(request, context)).value async for request in requests]
        return StringValue(value="".join(texts))

    async def answer_each(
        requests: AsyncIterator[StringValue], context: Any
    ) -> AsyncIterator[StringValue]:
        async for request in requests:
            yield await answer(request, context)

    handlers = (answer, answer_stream, answer_all, answer_each)
    return _handler(dict(zip(SHAPES, handlers, strict=True)))


def one_method(shape: str, handle: Callable[..., Any]) -> grpc.GenericRpcHandler:
    """The one method of that shape, handled as given."""
    return _handler({shape: handle})


def _handler(methods: Mapping[str, Callable[..., Any]]) -> grpc.GenericRpcHandler:
    return grpc.method_handlers_generic_handler(
        SERVICE,
        {
            shape: getattr(grpc, f"{shape}_rpc_method_handler")(
                handle,
                request_deserializer=StringValue.FromString,
                response_serializer=StringValue.SerializeToString,
            )
            for shape, handle in methods.items()
        },
    )


@asynccontextmanager
async def serve(
    guards: Sequence[Guard], *handlers: grpc.GenericRpcHandler
) -> AsyncIterator[aio.Channel]:
    """A real server with these guards, and a channel to it."""
    server = aio.server(interceptors=[Guarded(guards)])
    server.add_generic_rpc_handlers(handlers)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        await server.stop(None)


def start(channel: aio.Channel, shape: str, *texts: str | bytes, **options: Any) -> Any:
    """Start a call of that shape. A text becomes a message; bytes are sent as they are."""
    method = getattr(channel, shape)(
        f"/{SERVICE}/{shape}", response_deserializer=StringValue.FromString
    )
    messages = [
        text if isinstance(text, bytes) else StringValue(value=text).SerializeToString()
        for text in texts
    ]
    return method(iter(messages) if shape.startswith("stream") else messages[0], **options)


async def call(channel: aio.Channel, shape: str, *texts: str | bytes, **options: Any) -> str:
    """All answers of a call, joined."""
    started = start(channel, shape, *texts, **options)
    if shape.endswith("stream"):
        return "".join([answer.value async for answer in started])
    return str((await started).value)


@dataclass(frozen=True, slots=True)
class Refused:
    """A rich error as the client got it; ``details`` by the name of their type."""

    code: grpc.StatusCode
    message: str
    details: Mapping[str, Message]

    @property
    def info(self) -> error_details_pb2.ErrorInfo:
        """The detail that every error has."""
        return self._detail(error_details_pb2.ErrorInfo)

    @property
    def violations(self) -> list[tuple[str, str]]:
        """The (field path, description) pairs of a bad request."""
        bad = self._detail(error_details_pb2.BadRequest)
        return [(each.field, each.description) for each in bad.field_violations]

    def _detail(self, kind: type[M]) -> M:
        detail = self.details[kind.__name__]
        assert isinstance(detail, kind)
        return detail


def read_error(error: aio.AioRpcError) -> Refused:
    """Unpack an error; that status and details agree is checked on the way."""
    raw = dict(error.trailing_metadata() or ())[DETAILS_KEY]
    assert isinstance(raw, bytes)
    status = status_pb2.Status.FromString(raw)
    assert status.code == error.code().value[0]
    assert status.message == error.details()
    details: dict[str, Message] = {}
    for packed in status.details:
        name = packed.TypeName().rpartition(".")[2]
        details[name] = getattr(error_details_pb2, name).FromString(packed.value)
    return Refused(error.code(), status.message, details)


async def refusal(awaitable: Awaitable[Any]) -> Refused:
    """The rich error that a call ends with."""
    try:
        answer = await awaitable
    except aio.AioRpcError as error:
        return read_error(error)
    raise AssertionError(f"not refused: {answer}")


async def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Let the loop run until the condition holds; TimeoutError if it never does."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        await asyncio.sleep(0.002)
