"""The adapter as it speaks to a server: on the wire double, and on a real one where it is given."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import grpc
import pytest
import structlog
from support.engines.vector import (
    DIMENSIONS,
    Reached,
    documents,
    double,
    everything,
    server,
    until_answered,
)

from hilvan_retrieval.adapters.vector.qdrant import QdrantIndex
from hilvan_retrieval.adapters.vector.qdrant.stubs import qdrant
from hilvan_retrieval.errors import EngineMisconfigured, SourceUnavailable


@pytest.fixture(scope="module")
def wire_double() -> Iterator[Reached]:
    """Run one double for this file."""
    with double() as reached:
        yield reached


@pytest.fixture(params=["double", "server"])
def reached(request: pytest.FixtureRequest) -> Reached:
    """Give the way to the double, then to the real server."""
    if request.param == "server":
        return server()
    found: Reached = request.getfixturevalue("wire_double")
    return found


@asynccontextmanager
async def index_on(
    reached: Reached, made_otherwise: qdrant.CreateCollection | None = None
) -> AsyncIterator[QdrantIndex]:
    """Give an index, perhaps on a collection that somebody else made; leave nothing of it."""
    index = reached.index(f"hilvan-test-{uuid.uuid4().hex}")
    try:
        # On a busy machine a first handshake may take longer than gRPC waits for it.
        health = index._connection.service.HealthCheck
        await until_answered(
            lambda: index._connection.call(health, qdrant.HealthCheckRequest(), 20.0)
        )
        if made_otherwise:
            made_otherwise.collection_name = index._collection
            create = index._connection.collections.Create
            await index._connection.call(create, made_otherwise, 20.0)
        yield index
        await index.drop()
    finally:
        await index.close()


def creation(
    size: int = DIMENSIONS, metric: "qdrant.Distance.ValueType" = qdrant.Distance.Cosine
) -> qdrant.CreateCollection:
    """Describe a collection that somebody else makes."""
    request = qdrant.CreateCollection()
    vector = request.vectors_config.params_map.map["dense"]
    vector.size, vector.distance = size, metric
    return request


# What is there already


async def test_what_compares_otherwise_is_refused(reached: Reached) -> None:
    """A collection of another metric or size is refused by name, with the fix."""
    for made, named in (
        (creation(metric=qdrant.Distance.Euclid), "metric is Euclid, not Cosine"),
        (creation(size=DIMENSIONS + 1), f"{DIMENSIONS + 1} dimensions.*{DIMENSIONS}"),
    ):
        async with index_on(reached, made) as index:
            with pytest.raises(EngineMisconfigured, match=f"{named}.*hilvan reindex"):
                await index.ensure()


async def test_a_quantization_that_loses_hits_is_refused(reached: Reached) -> None:
    """Binary vectors are refused by name, for searches that would use them."""
    made = creation()
    made.quantization_config.binary.always_ram = True
    async with index_on(reached, made) as index:
        with pytest.raises(EngineMisconfigured, match=r"quantised as binary.*hilvan reindex"):
            await index.ensure()


async def test_points_without_indexes_are_refused(reached: Reached) -> None:
    """Indexes are made while there are no points; after that, what lacks is named."""
    async with index_on(reached, creation()) as index:
        await index.upsert(documents(1))
        with pytest.raises(EngineMisconfigured, match=r"scope.*bucket.*hilvan reindex"):
            await index.ensure()
        await index.delete([documents(1)[0].uid])
        assert await index.ensure() is False
        await index.upsert(documents(1))
        assert await index.ensure() is False


async def test_a_collection_without_a_graph_is_told(reached: Reached) -> None:
    """What is only slow is used, and a line of the log says why it is slow."""
    made = creation()
    made.hnsw_config.m = 0
    async with index_on(reached, made) as index:
        with structlog.testing.capture_logs() as lines:
            await index.ensure()
        assert ["m is 0" in line["why"] for line in lines] == [True]


async def test_our_own_collection_is_neither_refused_nor_slow(reached: Reached) -> None:
    """What `ensure` makes it accepts without a word, also when two services make it at once."""
    async with index_on(reached) as index:
        with structlog.testing.capture_logs() as lines:
            assert True in await asyncio.gather(index.ensure(), index.ensure())
            assert await index.ensure() is False
        assert lines == []


async def test_a_collection_dropped_behind_our_back_is_made_again(reached: Reached) -> None:
    """Searches, writes and pings say that it is unavailable, until `ensure` makes it."""
    async with index_on(reached) as index:
        await index.ensure()
        await index.upsert(documents(1))
        await index.drop()
        for call in (everything(index), index.upsert(documents(1)), index.revisions("00")):
            with pytest.raises(SourceUnavailable, match="NOT_FOUND"):
                await call
        with pytest.raises(SourceUnavailable, match="no collection"):
            await index.ping()
        assert await index.ensure() is True
        assert await everything(index) == set()


# Keys and certificates


async def test_a_wrong_key_is_named_at_start_and_unavailable_later(wire_double: Reached) -> None:
    """`ensure` names the fix; a search and a ping end as those of an engine that is down."""
    for key in ("", "wrong"):
        index = replace(wire_double, key=key).index()
        with pytest.raises(EngineMisconfigured, match=r"UNAUTHENTICATED.*Set the API key"):
            await index.ensure()
        with pytest.raises(SourceUnavailable, match="UNAUTHENTICATED"):
            await everything(index)
        with pytest.raises(SourceUnavailable, match="UNAUTHENTICATED"):
            await index.ping()
        await index.close()


async def test_an_unknown_certificate_is_not_trusted(wire_double: Reached) -> None:
    """Without the authority's certificate nothing is sent."""
    index = replace(wire_double, ca=b"").index()
    with pytest.raises(SourceUnavailable):
        await index.ensure()
    await index.close()


@pytest.mark.parametrize(
    "target",
    ["qdrant:6334", "10.0.0.7:6334", "127.evil.example:6334", "localhost.example:6334", "[::2]:1"],
)
async def test_a_key_does_not_cross_a_network_in_clear(target: str) -> None:
    """A key for another host wants TLS, or a word that the network is private."""
    with pytest.raises(EngineMisconfigured, match=r"unencrypted: use TLS"):
        QdrantIndex.connect(target, DIMENSIONS, api_key="k")
    await QdrantIndex.connect(target, DIMENSIONS, api_key="k", tls=True).close()
    await QdrantIndex.connect(target, DIMENSIONS, api_key="k", key_in_clear=True).close()
    await QdrantIndex.connect(target, DIMENSIONS).close()


@pytest.mark.parametrize(
    "target", ["127.0.0.1:6334", "localhost:6334", "[::1]:6334", "unix:/run/engine.sock"]
)
async def test_a_key_may_stay_on_this_host_in_clear(target: str) -> None:
    """To this host no network is crossed."""
    await QdrantIndex.connect(target, DIMENSIONS, api_key="k").close()


# Servers that answer otherwise


class Saying(grpc.GenericRpcHandler):
    """A server that tells a version, and ends every other call with one code."""

    def __init__(self, version: str, code: grpc.StatusCode) -> None:
        """Keep what to say."""
        self._health = qdrant.HealthCheckReply(title="qdrant - vector", version=version)
        self._code = code

    def service(self, call: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[Any, Any]":
        """Answer a call."""

        async def answer(_: bytes, context: Any) -> bytes:
            if not call.method.endswith("HealthCheck"):
                await context.abort(self._code, "said so")
            return self._health.SerializeToString()

        return grpc.unary_unary_rpc_method_handler(answer)


@asynccontextmanager
async def index_of(
    version: str, code: grpc.StatusCode = grpc.StatusCode.INTERNAL
) -> AsyncIterator[QdrantIndex]:
    """Give an index on such a server."""
    said = grpc.aio.server()
    said.add_generic_rpc_handlers((Saying(version, code),))
    port = said.add_insecure_port("127.0.0.1:0")
    await said.start()
    index = QdrantIndex.connect(f"127.0.0.1:{port}", DIMENSIONS, timeout=20.0)
    yield index
    await index.close()
    await said.stop(None)


async def test_an_old_server_is_refused() -> None:
    """A server that would ignore parts of our messages is named with both versions."""
    async with index_of("1.9.7") as index:
        with pytest.raises(EngineMisconfigured, match=r"1\.9\.7 is older than 1\.17\.1: upgrade"):
            await index.ensure()


@pytest.mark.parametrize(
    ("code", "fix"),
    [
        (grpc.StatusCode.PERMISSION_DENIED, "may read, write and make"),
        (grpc.StatusCode.UNIMPLEMENTED, "gRPC port"),
    ],
)
async def test_what_no_retry_changes_is_named_at_start(code: grpc.StatusCode, fix: str) -> None:
    """A key without rights and a server that is no Qdrant end the start, but no search."""
    async with index_of("1.18.0", code) as index:
        with pytest.raises(EngineMisconfigured, match=f"{code.name}.*{fix}"):
            await index.ensure()
        with pytest.raises(SourceUnavailable, match=code.name):
            await everything(index)


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL, grpc.StatusCode.ABORTED]
)
async def test_what_passes_is_unavailable(code: grpc.StatusCode) -> None:
    """A server over its limits, or that fails, is tried again by whoever asked."""
    async with index_of("1.18.0", code) as index:
        for call in (index.ensure(), everything(index), index.upsert(documents(1)), index.ping()):
            with pytest.raises(SourceUnavailable, match=code.name):
                await call


async def test_a_cluster_applies_writes_in_one_order(wire_double: Reached) -> None:
    """Upserts and deletes go through the one leader, and are waited for by the call's deadline."""
    index = wire_double.index()
    sent: list[Any] = []

    async def keep(request: Any, **_: Any) -> Any:
        sent.append(request)
        done = qdrant.UpdateResult(status=qdrant.UpdateStatus.Completed)
        return qdrant.PointsOperationResponse(result=done)

    index._connection.points.Upsert = index._connection.points.Delete = keep
    await index.upsert(documents(1))
    await index.delete([documents(1)[0].uid])
    assert [request.ordering.type for request in sent] == [qdrant.WriteOrderingType.Strong] * 2
    assert [(r.wait, r.HasField("timeout")) for r in sent] == [(True, False)] * 2
    await index.close()
