"""What surrounds every call: guards that run, in order, around each handler.

A guard is an async context manager, so it sees the call begin and end, unary or streaming. The
wrapping is of the *handler*: a ``try`` around an interceptor's continuation would catch nothing,
because the continuation only looks the handler up.
"""

import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Self

import grpc
from google.protobuf.message import DecodeError

from hilvan_kit.malformed import undecodable_fields


@dataclass(slots=True)
class Call:
    """One call as guards see it. ``outcome`` is the status name, for the log and the metrics."""

    method: str
    context: "grpc.aio.ServicerContext[Any, Any]"
    metadata: Mapping[str, str]
    started: float = field(default_factory=time.monotonic)
    outcome: str = "OK"
    notes: dict[str, Any] = field(default_factory=dict)


Guard = Callable[[Call], AbstractAsyncContextManager[None]]


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

    async def intercept_service(
        self,
        continuation: Callable[
            [grpc.HandlerCallDetails], Awaitable["grpc.RpcMethodHandler[Any, Any] | None"]
        ],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Any, Any] | None":
        """Look the handler up and wrap it."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        method = str(handler_call_details.method)
        wrap = self._streaming if handler.response_streaming else self._unary
        inner: Any = (
            handler.stream_stream
            or handler.unary_stream
            or handler.stream_unary
            or handler.unary_unary
        )
        make = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, False): grpc.stream_unary_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }[(handler.request_streaming, handler.response_streaming)]
        return make(
            wrap(method, inner),
            request_deserializer=_lenient(handler.request_deserializer),
            response_serializer=handler.response_serializer,
        )

    def _unary(self, method: str, inner: Any) -> Any:
        async def handle(request: Any, context: Any) -> Any:
            async with self._around(method, context):
                return await inner(_checked(request), context)

        return handle

    def _streaming(self, method: str, inner: Any) -> Any:
        async def handle(request: Any, context: Any) -> AsyncIterator[Any]:
            async with self._around(method, context):
                answers = inner(_checked(request), context)
                if inspect.isawaitable(answers):
                    # A handler may write to the context itself, as health's Watch does.
                    await answers
                    return
                async for response in answers:
                    yield response

        return handle

    def _around(self, method: str, context: Any) -> AsyncExitStack:
        return _Around(self.guards, Call(method, context, _metadata(context)))


class _Around(AsyncExitStack):
    """Enters all guards, the first outermost."""

    def __init__(self, guards: Sequence[Guard], call: Call) -> None:
        super().__init__()
        self._guards = guards
        self._call = call

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        try:
            for guard in self._guards:
                await self.enter_async_context(guard(self._call))
        except BaseException as error:
            # A guard may refuse while entering; those further out must still see it.
            if not await self.__aexit__(type(error), error, error.__traceback__):
                raise
        return self


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
