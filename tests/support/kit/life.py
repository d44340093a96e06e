"""A service of the four shapes with an adapter that can break, for tests of a server's life."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from pydantic_settings import SettingsConfigDict
from support.kit.server import SERVICE, call, shapes

from hilvan_kit.server import Server
from hilvan_kit.settings import ServerSettings


class Settings(ServerSettings):
    """Settings of the test's service."""

    model_config = SettingsConfigDict(env_prefix="HILVAN_KITTEST_")

    listen: str = "127.0.0.1:0"
    drain_seconds: float = 0.0
    stop_grace_seconds: float = 10.0


class Adapter:
    """What the service depends on: it can break, hang and come back."""

    def __init__(self) -> None:
        """Start whole."""
        self.broken = False
        self.open = asyncio.Event()
        self.open.set()
        self.pings = 0

    async def ping(self) -> None:
        """Raise while broken, wait while not open."""
        self.pings += 1
        await self.open.wait()
        if self.broken:
            raise ConnectionError("engine down")


async def echo(text: str, _: Any) -> str:
    """Answer what was asked."""
    return text


def make(
    ping: Callable[[], Awaitable[None]],
    act: Callable[[str, Any], Awaitable[str]] = echo,
    guards: Any = (),
    **settings: Any,
) -> Server:
    """A server of the four shapes."""
    return Server(
        Settings(**settings),
        {SERVICE: lambda server: server.add_generic_rpc_handlers((shapes(act),))},
        guards,
        ping,
    )


@asynccontextmanager
async def running(server: Server) -> AsyncIterator[aio.Channel]:
    """The started server and a plain channel to it."""
    await server.start()
    try:
        async with aio.insecure_channel(server.address) as channel:
            yield channel
    finally:
        await server.stop()


async def health(channel: aio.Channel, name: str) -> int:
    """What the server says of a name."""
    request = health_pb2.HealthCheckRequest(service=name)
    return int((await health_pb2_grpc.HealthStub(channel).Check(request)).status)


async def until_refused(address: str) -> None:
    """Call on new connections until the server takes none.

    A call that reaches the port in the very moment it closes is ended as CANCELLED by gRPC's core.
    """
    end = time.monotonic() + 10
    while time.monotonic() < end:
        async with aio.insecure_channel(
            address, options=(("grpc.use_local_subchannel_pool", 1),)
        ) as channel:
            try:
                await call(channel, "unary_unary", "probe", timeout=5)
            except aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.UNAVAILABLE:
                    return
                assert error.code() is grpc.StatusCode.CANCELLED  # noqa: PT017 (one more round)
    raise AssertionError("still taking calls")
