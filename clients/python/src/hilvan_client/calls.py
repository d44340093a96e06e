"""A channel whose calls all have a deadline, say who calls, and raise `HilvanError`.

It has the four methods of a `grpc.aio.Channel` that a generated stub uses, so the stubs stay the
generated ones. Interceptors could do the same; they start a task for each call, which costs more
than the rest of the client (docs/decisions/client.md).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from typing import Any

from grpc import aio

from hilvan_client.status import translate

Metadata = tuple[tuple[str, str], ...]


TIMEOUT_KEY = "hilvan-timeout-ms"
"""Metadata that repeats the deadline: a server can tell by it how long a call has waited."""


class CallingChannel:
    """Wraps a channel; ``timeout`` gives the seconds of a ``/service/method``."""

    def __init__(
        self, channel: aio.Channel, timeout: Callable[[str], float], metadata: Metadata
    ) -> None:
        """Take the metadata that each call carries unless it brings its own under the same key."""
        self._channel, self._timeout, self._metadata = channel, timeout, metadata

    def unary_unary(self, method: str, **options: Any) -> "_Method":
        """For a method with one request and one answer."""
        return self._method(self._channel.unary_unary(method, **options), method, Answer)

    def unary_stream(self, method: str, **options: Any) -> "_Method":
        """For a method with one request and many answers."""
        return self._method(self._channel.unary_stream(method, **options), method, Stream)

    def stream_unary(self, method: str, **options: Any) -> "_Method":
        """For a method with many requests and one answer."""
        return self._method(self._channel.stream_unary(method, **options), method, Answer)

    def stream_stream(self, method: str, **options: Any) -> "_Method":
        """For a method with many requests and many answers."""
        return self._method(self._channel.stream_stream(method, **options), method, Stream)

    def _method(
        self, start: Callable[..., Any], method: str, wrap: Callable[..., Any]
    ) -> "_Method":
        return _Method(start, self._timeout(method), self._metadata, wrap)


class _Method:
    def __init__(
        self,
        start: Callable[..., Any],
        timeout: float,
        metadata: Metadata,
        wrap: Callable[..., Any],
    ) -> None:
        self._start, self._timeout, self._metadata, self._wrap = start, timeout, metadata, wrap

    def __call__(
        self,
        *requests: Any,
        timeout: float | None = None,
        metadata: Iterable[tuple[str, Any]] | None = None,
        **options: Any,
    ) -> Any:
        seconds = self._timeout if timeout is None else timeout
        stated = ((TIMEOUT_KEY, str(int(1000 * seconds))),)
        call = self._start(
            *requests,
            timeout=seconds,
            metadata=_merge(_merge(stated, self._metadata), metadata),
            **options,
        )
        return self._wrap(call)


class Answer:
    """A call with one answer: await it. Everything else is that of the gRPC call."""

    def __init__(self, call: Any) -> None:
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    def __await__(self) -> Generator[Any, None, Any]:
        try:
            return (yield from self._call.__await__())
        except aio.AioRpcError as error:
            raise translate(error) from error


class Stream:
    """A call with many answers: iterate, or `read` and `write`. The rest is the gRPC call's."""

    def __init__(self, call: Any) -> None:
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    async def __aiter__(self) -> AsyncIterator[Any]:
        try:
            async for message in self._call:
                yield message
        except aio.AioRpcError as error:
            raise translate(error) from error
        finally:
            self._call.cancel()  # does nothing to a call that is done

    async def read(self) -> Any:
        """The next message, or `grpc.aio.EOF` after the last."""
        try:
            return await self._call.read()
        except aio.AioRpcError as error:
            raise translate(error) from error

    async def write(self, message: Any) -> None:
        """Send a message; raises what ended the call when it is over."""
        try:
            await self._call.write(message)
        except aio.AioRpcError as error:
            raise translate(error) from error
        except asyncio.InvalidStateError:
            # The call ended between two writes: reading from it raises its status.
            await self.read()
            raise


def _merge(
    defaults: Metadata, given: Iterable[tuple[str, Any]] | None
) -> tuple[tuple[str, Any], ...]:
    own = tuple(given or ())
    keys = {key for key, _ in own}
    return (*(pair for pair in defaults if pair[0] not in keys), *own)
