"""What surrounds every call: guards that run, in order, around each handler.

A guard is given the call and the next step, so it sees the call begin and end, unary or streaming.
The wrapping is of the *handler*: a ``try`` around an interceptor's continuation would catch
nothing, because the continuation only looks the handler up.
"""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from hilvan_kit.malformed import undecodable_fields


@dataclass(slots=True)
class Call:
    """One call as guards see it. ``outcome`` is the status name, for the log and the metrics.

    ``request`` is a message, or an async iterator of messages where the caller streams.
    """

    method: str
    context: "grpc.aio.ServicerContext[Any, Any]"
    request: Any
    metadata: Mapping[str, str]
    started: float = field(default_factory=time.monotonic)
    outcome: str = "OK"
    notes: dict[str, Any] = field(default_factory=dict)


Step = Callable[[Call], Awaitable[Any]]
Guard = Callable[[Call, Step], Awaitable[Any]]
"""Does its part, awaits the next step once, or refuses by raising; returns what the step did."""


class MalformedRequest(Exception):
    """The bytes are not a message of the method's request type; ``faults`` name the bad fields."""

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        """Keep (field path, description) pairs."""
        self.faults = tuple(faults)
        super().__init__("malformed request")


class Guarded(grpc.aio.ServerInterceptor):
    """Runs every handler inside the guards, the first one outermost."""

    def __init__(self, guards: Sequence[Guard]) -> None:
        """Keep the order: tests assert it."""
        self.guards = tuple(guards)
        # By method: a server's handlers are registered once, before it starts.
        self._wrapped: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}

    async def intercept_service(
        self,
        continuation: Callable[
            [grpc.HandlerCallDetails], Awaitable["grpc.RpcMethodHandler[Any, Any] | None"]
        ],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Any, Any] | None":
        """Look the handler up and wrap it."""
        handler = await continuation(handler_call_details)
        method = str(handler_call_details.method)
        if handler is not None and method not in self._wrapped:
            self._wrapped[method] = self._wrap(method, handler)
        return self._wrapped.get(method)

    def _wrap(
        self, method: str, handler: "grpc.RpcMethodHandler[Any, Any]"
    ) -> "grpc.RpcMethodHandler[Any, Any]":
        inner: Any = (
            handler.stream_stream
            or handler.unary_stream
            or handler.stream_unary
            or handler.unary_unary
        )
        step: Step = partial(_stream if handler.response_streaming else _answer, inner)
        for guard in reversed(self.guards):
            step = _inside(guard, step)

        async def handle(request: Any, context: Any) -> Any:
            return await step(Call(method, context, request, _metadata(context)))

        return _MAKERS[handler.request_streaming, handler.response_streaming](
            handle,
            request_deserializer=_lenient(handler.request_deserializer),
            response_serializer=handler.response_serializer,
        )


_MAKERS: Mapping[tuple[bool, bool], Callable[..., "grpc.RpcMethodHandler[Any, Any]"]] = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, False): grpc.stream_unary_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}


def _inside(guard: Guard, step: Step) -> Step:
    return lambda call: guard(call, step)


async def _answer(inner: Any, call: Call) -> Any:
    return await inner(_checked(call.request), call.context)


async def _stream(inner: Any, call: Call) -> None:
    answers = inner(_checked(call.request), call.context)
    if inspect.isawaitable(answers):
        # A handler may write to the context itself, as health's Watch does.
        await answers
        return
    # Writing here, inside the guards, lets a cancellation reach them and the handler at once.
    async with aclosing(answers):
        async for answer in answers:
            try:
                await call.context.write(answer)
            except grpc.aio.InternalError as error:
                raise asyncio.CancelledError("the client has gone") from error


@dataclass(frozen=True, slots=True)
class _Malformed:
    """Stands for a request that could not be parsed, until the handler can answer for it."""

    faults: Sequence[tuple[str, str]]


def _lenient(deserialize: Any) -> Callable[[bytes], Any]:
    # grpc answers INTERNAL when a deserializer raises; a bad request is the caller's fault.
    def parse(data: bytes) -> Any:
        try:
            return deserialize(data)
        except DecodeError:
            message_class = getattr(deserialize, "__self__", None)
            descriptor = getattr(message_class, "DESCRIPTOR", None)
            return _Malformed(undecodable_fields(data, descriptor))

    return parse


def _checked(request: Any) -> Any:
    if isinstance(request, _Malformed):
        raise MalformedRequest(request.faults)
    if hasattr(request, "__aiter__"):
        return _checked_stream(request)
    return request


async def _checked_stream(requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for request in requests:
        yield _checked(request)


def _metadata(context: Any) -> Mapping[str, str]:
    pairs = context.invocation_metadata() or ()
    return {key: value for key, value in pairs if isinstance(value, str)}
