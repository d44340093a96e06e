"""A server's life: not ready, ready, not ready again, draining, stopped; and what it opens."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from kit_server import SERVICE, call, refusal, shapes, until
from pydantic_settings import SettingsConfigDict

from hilvan_kit.auth import CredentialAuthenticator
from hilvan_kit.channels import open_channel
from hilvan_kit.failures import ErrorTable
from hilvan_kit.guards import standard_guards
from hilvan_kit.server import LIVENESS, Server
from hilvan_kit.settings import ServerSettings, SettingsError

Status = health_pb2.HealthCheckResponse.ServingStatus
SERVING, NOT_SERVING = Status.SERVING, Status.NOT_SERVING
NOBODY = standard_guards(CredentialAuthenticator(None, None), ErrorTable("test.hilvan", {}))


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
        SERVICE,
        guards,
        lambda server: server.add_generic_rpc_handlers((shapes(act),)),
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


def names_in(folder: Path) -> list[str]:
    """What is in a folder."""
    return [path.name for path in folder.iterdir()]


async def health(channel: aio.Channel, name: str) -> int:
    """What the server says of a name."""
    request = health_pb2.HealthCheckRequest(service=name)
    return int((await health_pb2_grpc.HealthStub(channel).Check(request)).status)


async def until_health(channel: aio.Channel, wanted: int) -> None:
    """Watch the service's name until it has that status."""
    watch = health_pb2_grpc.HealthStub(channel).Watch(
        health_pb2.HealthCheckRequest(service=SERVICE), timeout=20
    )
    while (await watch.read()).status != wanted:
        pass
    watch.cancel()


async def test_not_serving_until_the_first_ping_answered() -> None:
    """The port is open and alive before the adapters are ready, and says NOT_SERVING until then."""
    adapter = Adapter()
    adapter.open.clear()
    server = make(adapter.ping)
    starting = asyncio.create_task(server.start())
    await until(lambda: adapter.pings == 1)
    async with aio.insecure_channel(server.address) as channel:
        said = [await health(channel, name) for name in ("", SERVICE, LIVENESS)]
        assert said == [NOT_SERVING, NOT_SERVING, SERVING]
        adapter.open.set()
        await starting
        said = [await health(channel, name) for name in ("", SERVICE, LIVENESS)]
        assert said == [SERVING] * 3
    await server.stop()


async def test_readiness_follows_the_pings_again_and_again() -> None:
    """Broken, whole, hanging: "" and the service's name follow, and liveness stays SERVING."""
    adapter = Adapter()
    adapter.broken = True
    async with running(make(adapter.ping, guards=NOBODY)) as channel:
        assert await health(channel, SERVICE) == NOT_SERVING
        adapter.broken = False
        await until_health(channel, SERVING)
        adapter.open.clear()
        await until_health(channel, NOT_SERVING)
        assert await health(channel, "") == NOT_SERVING
        assert await health(channel, LIVENESS) == SERVING
        adapter.open.set()
        await until_health(channel, SERVING)
        assert await health(channel, "") == SERVING


async def test_a_channel_that_watches_health_follows_readiness() -> None:
    """Our channels call a server only while it is ready, though its port is open."""
    adapter = Adapter()
    adapter.broken = True
    server = make(adapter.ping)
    async with running(server), open_channel(server.address) as channel:
        with pytest.raises(aio.AioRpcError) as caught:
            await call(channel, "unary_unary", "a", timeout=20)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        adapter.broken = False
        assert await call(channel, "unary_unary", "a", timeout=20, wait_for_ready=True) == "a"


async def test_health_and_reflection_need_no_credential() -> None:
    """Probes and tools see the services; the service itself refuses who has no credential."""
    async with running(make(Adapter().ping, guards=NOBODY)) as channel:
        assert await health(channel, SERVICE) == SERVING
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        ask = reflection_pb2.ServerReflectionRequest(list_services="")
        (answer,) = [each async for each in stub.ServerReflectionInfo(iter([ask]))]
        refused = await refusal(call(channel, "unary_unary", "a"))
    names = {each.name for each in answer.list_services_response.service}
    assert names == {
        SERVICE,
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    }
    assert refused.code is grpc.StatusCode.UNAUTHENTICATED


async def test_a_stop_drains_first_and_lets_calls_end() -> None:
    """NOT_SERVING first, serving on during the drain, no new call then, the running one ends."""
    entered, release = asyncio.Event(), asyncio.Event()

    async def act(text: str, _: Any) -> str:
        if text == "slow":
            entered.set()
            await release.wait()
        return text

    server = make(Adapter().ping, act, drain_seconds=0.5)
    await server.start()
    async with aio.insecure_channel(server.address) as channel:
        slow = asyncio.create_task(call(channel, "unary_unary", "slow"))
        await entered.wait()
        stopping = asyncio.create_task(server.stop())
        await until_health(channel, NOT_SERVING)
        assert await health(channel, LIVENESS) == SERVING
        assert await call(channel, "unary_unary", "new") == "new"
        await until_refused(server.address)
        assert not slow.done()
        assert not stopping.done()
        release.set()
        assert await slow == "slow"
        await asyncio.wait_for(stopping, 5)


async def until_refused(address: str) -> None:
    """Call on new connections until the server takes none."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        async with aio.insecure_channel(
            address, options=(("grpc.use_local_subchannel_pool", 1),)
        ) as channel:
            try:
                await call(channel, "unary_unary", "probe", timeout=5)
            except aio.AioRpcError as error:
                assert error.code() is grpc.StatusCode.UNAVAILABLE  # noqa: PT017 (the loop's end)
                return
    raise AssertionError("still taking calls")


async def test_a_call_that_does_not_end_is_cancelled_after_the_grace() -> None:
    """The grace bounds a stop: what still runs then is cancelled, and its handler knows."""
    entered, cancelled = asyncio.Event(), asyncio.Event()

    async def act(_: str, __: Any) -> str:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError

    server = make(Adapter().ping, act, stop_grace_seconds=0.1)
    await server.start()
    async with aio.insecure_channel(server.address) as channel:
        endless = asyncio.create_task(call(channel, "unary_unary", "a"))
        await entered.wait()
        await asyncio.wait_for(server.stop(), 10)
        await asyncio.wait_for(cancelled.wait(), 10)
        with pytest.raises(aio.AioRpcError):
            await endless


async def test_a_stop_leaves_no_task_and_may_come_twice() -> None:
    """After a stop nothing of the server runs, a check under way included; a second is nothing."""
    adapter = Adapter()
    server = make(adapter.ping)
    before = len(asyncio.all_tasks())
    await server.stop()
    await server.start()
    adapter.open.clear()
    await until(lambda: adapter.pings == 2)
    await server.stop()
    await server.stop()
    await until(lambda: len(asyncio.all_tasks()) == before)


@pytest.mark.parametrize(
    ("setting", "variable"), [("listen", "LISTEN"), ("metrics_port", "METRICS_PORT")]
)
async def test_a_taken_port_is_a_setting_that_can_not_be_used(setting: str, variable: str) -> None:
    """One line that names the variable, and no server is left half open."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        value: Any = port if setting == "metrics_port" else f"127.0.0.1:{port}"
        server = make(Adapter().ping, **{setting: value})
        with pytest.raises(SettingsError) as caught:
            await server.start()
        await server.stop()
    (fault,) = caught.value.faults
    assert fault.startswith(f"HILVAN_KITTEST_{variable}: can't listen on ")
    assert str(port) in fault
    assert "\n" not in fault


async def test_an_address_of_another_machine_is_told_alike() -> None:
    """An address that is not this machine's is told by its variable too."""
    with pytest.raises(SettingsError, match="HILVAN_KITTEST_LISTEN: can't listen on 192"):
        await make(Adapter().ping, listen="192.0.2.1:0").start()


async def test_the_address_has_the_port_that_was_picked(tmp_path: Path) -> None:
    """Port 0 becomes a real one; a socket's path stays as it is."""
    for listen in ("127.0.0.1:0", f"unix:{tmp_path}/socket"):
        server = make(Adapter().ping, listen=listen)
        async with running(server) as channel:
            assert await call(channel, "unary_unary", "a") == "a"
        host, _, port = server.address.rpartition(":")
        if listen.startswith("unix"):
            assert server.address == listen
        else:
            assert host == "127.0.0.1"
            assert int(port) > 0


async def test_metrics_are_on_loopback_until_the_stop() -> None:
    """The Prometheus page is served while the server runs, and the port is free after."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for _ in range(2):  # the second start finds the port free again
        async with running(make(Adapter().ping, metrics_port=port)):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
            page = await reader.read()
            writer.close()
            await writer.wait_closed()
        assert b"grpc_server_call_started_total" in page


async def test_a_ready_file_that_can_not_be_written_ends_the_server(tmp_path: Path) -> None:
    """The variable is named, the port is closed again, and no temporary file stays."""
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "missing" / "ready", tmp_path / "folder"):
        server = make(Adapter().ping, ready_file=path)
        with pytest.raises(SettingsError, match="HILVAN_KITTEST_READY_FILE: can't write"):
            await server.run()
        await until_refused(server.address)
    assert names_in(tmp_path) == ["folder"]


async def test_the_ready_file_is_replaced_whole(tmp_path: Path) -> None:
    """Readers see the old file or the new one; the new one has the address that answers."""
    path = tmp_path / "ready"
    path.write_text("old")
    server = make(Adapter().ping, ready_file=path)
    with path.open() as old:
        task = asyncio.create_task(server.run())
        await until(lambda: path.read_text() != "old")
        assert old.read() == "old"
    ready = json.loads(path.read_text())
    assert ready["address"] == server.address
    async with aio.insecure_channel(ready["address"]) as channel:
        assert await health(channel, "") == SERVING
    assert names_in(tmp_path) == ["ready"]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_refused(server.address)
