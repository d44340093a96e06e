"""Calls of Qdrant's gRPC API, and what their failures mean."""

import re
from typing import Any, Self

import grpc

from hilvan_retrieval.adapters.vector.qdrant.stubs import qdrant
from hilvan_retrieval.errors import (
    EngineMisconfigured,
    QueryRefused,
    SourceTimeout,
    SourceUnavailable,
)

_OPTIONS = (
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
    # A host that vanished is found out in 25 s, before the next search has to wait for it.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    # A restarted engine is found again within a second; the defaults wait up to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
)

_HERE = re.compile(
    r"unix:|(ipv4:|ipv6:|dns:///)?(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$", re.IGNORECASE
)

_FIXES = {
    grpc.StatusCode.UNAUTHENTICATED: "Set the API key that this server was started with.",
    grpc.StatusCode.PERMISSION_DENIED: "Set an API key that may read, write and make collections.",
    grpc.StatusCode.UNIMPLEMENTED: "Name the gRPC port of a Qdrant server, 6334 by default.",
}
"""What no retry can change, and what to do about it."""


class Connection:
    """A channel with Qdrant's three services: `points`, `collections` and `service`."""

    def __init__(self, channel: grpc.aio.Channel, api_key: str) -> None:
        """Take over an open channel; `open` makes one."""
        self._channel = channel
        self._metadata = (("api-key", api_key),) if api_key else None
        # The generated stubs carry no types, their messages do.
        self.points: Any = qdrant.PointsStub(channel)  # type: ignore[no-untyped-call]
        self.collections: Any = qdrant.CollectionsStub(channel)  # type: ignore[no-untyped-call]
        self.service: Any = qdrant.QdrantStub(channel)  # type: ignore[no-untyped-call]

    @classmethod
    def open(cls, target: str, api_key: str, *, tls: bool, ca: bytes, key_in_clear: bool) -> Self:
        """Open a channel inside the running loop; nothing is sent yet.

        Raises:
            EngineMisconfigured: the key would cross a network unencrypted.
        """
        if api_key and not (tls or key_in_clear or _HERE.match(target)):
            raise EngineMisconfigured(
                f"the API key of Qdrant would go to {target} unencrypted: use TLS, or say that "
                "the network in between is private"
            )
        if tls:
            credentials = grpc.ssl_channel_credentials(ca or None)
            return cls(grpc.aio.secure_channel(target, credentials, _OPTIONS), api_key)
        return cls(grpc.aio.insecure_channel(target, _OPTIONS), api_key)

    async def call(self, method: Any, request: Any, seconds: float) -> Any:
        """Send a request; the deadline goes with it, so that the server stops too.

        Raises:
            SourceTimeout: no answer in time.
            QueryRefused: the request is none.
            SourceUnavailable: anything else.
        """
        try:
            return await method(request, timeout=seconds, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            fault = f"Qdrant answered {error.code().name}: {error.details()}"
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                raise SourceTimeout(fault) from error
            if error.code() is grpc.StatusCode.INVALID_ARGUMENT:
                raise QueryRefused(fault) from error
            raise SourceUnavailable(fault) from error
        except grpc.aio.UsageError as error:
            raise SourceUnavailable("the connection to Qdrant is closed") from error

    async def set_up(self, method: Any, request: Any, seconds: float) -> Any:
        """`call`, but what no retry can change is an EngineMisconfigured that names the fix."""
        try:
            return await self.call(method, request, seconds)
        except SourceUnavailable as error:
            if fix := _FIXES.get(status(error)):
                raise EngineMisconfigured(f"{error}. {fix}") from error
            raise

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close()


def status(error: SourceUnavailable) -> grpc.StatusCode:
    """The code that a failed call ended with; UNKNOWN when it never reached a server."""
    cause = error.__cause__
    return cause.code() if isinstance(cause, grpc.aio.AioRpcError) else grpc.StatusCode.UNKNOWN
