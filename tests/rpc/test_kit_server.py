"""A server's life: not ready, ready, not ready again, draining, stopped; and what it opens."""

import asyncio
from typing import Any

import grpc
import pytest
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from support.kit.life import Adapter, health, make, running, until_refused
from support.kit.server import SERVICE, call, refusal, until

from hilvan_kit.auth import CredentialAuthenticator
from hilvan_kit.channels import open_channel
from hilvan_kit.failures import ErrorTable
from hilvan_kit.guards import standard_guards
from hilvan_kit.server import LIVENESS

Status = health_pb2.HealthCheckResponse.ServingStatus
SERVING, NOT_SERVING = Status.SERVING, Status.NOT_SERVING
NOBODY = standard_guards(CredentialAuthenticator(None, None), ErrorTable("test.hilvan", {}))


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
