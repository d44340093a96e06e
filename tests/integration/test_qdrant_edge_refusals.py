"""What the engine process and its adapter refuse, and in which words."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import grpc
import pytest
from support.engines.vector import (
    DIMENSIONS,
    EAST,
    documents,
    edge_process,
    engine_folder,
    ensured,
    everything,
)
from support.retrieval.index_documents import no_owner, only

from hilvan_retrieval.adapters.vector.edge import EdgeProcess
from hilvan_retrieval.adapters.vector.qdrant import QdrantIndex
from hilvan_retrieval.adapters.vector.qdrant.stubs import qdrant
from hilvan_retrieval.errors import EngineMisconfigured, SourceUnavailable
from hilvan_retrieval.model.index import VectorQuery


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give an empty folder for an engine."""
    with engine_folder() as folder:
        yield folder


@pytest.fixture
async def engine() -> AsyncIterator[EdgeProcess]:
    """Give a running engine on an empty folder."""
    async with edge_process() as engine:
        yield engine


@pytest.fixture
async def index(engine: EdgeProcess) -> AsyncIterator[QdrantIndex]:
    """Give an empty index on it."""
    async with ensured(QdrantIndex.connect(engine.target, DIMENSIONS)) as index:
        yield index


async def test_a_damaged_folder_is_named(folder: Path) -> None:
    """A collection that can't be opened is refused at start, with its folder and the fix."""
    (folder / "hilvan").mkdir()
    (folder / "hilvan" / "edge_config.json").write_text("{")
    with pytest.raises(EngineMisconfigured, match=f"{folder}.*hilvan reindex"):
        await EdgeProcess.start(folder)


async def test_an_engine_that_is_not_ready_in_time_is_given_up(folder: Path) -> None:
    """A start that takes too long raises SourceUnavailable and leaves no process."""
    with pytest.raises(SourceUnavailable, match=r"within 0\.01 s"):
        await EdgeProcess.start(folder, ready_timeout=0.01)


async def test_another_metric_is_refused_by_name(engine: EdgeProcess, index: QdrantIndex) -> None:
    """A collection that compares by distance is refused at start, with the metric and the fix."""
    vector = qdrant.VectorParams(size=DIMENSIONS, distance=qdrant.Distance.Euclid)
    vectors = qdrant.VectorsConfig(params_map=qdrant.VectorParamsMap(map={"dense": vector}))
    request = qdrant.CreateCollection(collection_name="foreign", vectors_config=vectors)
    await index._connection.call(index._connection.collections.Create, request, 5.0)
    foreign = QdrantIndex.connect(engine.target, DIMENSIONS, "foreign")
    with pytest.raises(EngineMisconfigured, match=r"'foreign'.*Euclid, not Cosine.*hilvan reindex"):
        await foreign.ensure()
    await foreign.close()


async def test_another_size_is_refused_with_both_sizes(
    engine: EdgeProcess, index: QdrantIndex
) -> None:
    """A collection of another embedding model is refused at start."""
    await index.upsert(documents(1))
    other = QdrantIndex.connect(engine.target, DIMENSIONS * 2)
    with pytest.raises(EngineMisconfigured, match=f"{DIMENSIONS} dimensions.*{DIMENSIONS * 2}"):
        await other.ensure()
    await other.close()


async def test_absent_indexes_are_made_before_points_and_refused_after(
    engine: EdgeProcess,
) -> None:
    """A creation cut short is completed while empty; with points it is refused by name."""
    young = QdrantIndex.connect(engine.target, DIMENSIONS, "young")
    await young._create()
    await young.ensure()
    await young.upsert(documents(1))
    await young.ensure()
    old = QdrantIndex.connect(engine.target, DIMENSIONS, "old")
    await old._create()
    await old.upsert(documents(1))
    with pytest.raises(EngineMisconfigured, match=r"'old'.*scope.*live_until.*hilvan reindex"):
        await old.ensure()
    await young.close()
    await old.close()


async def test_two_services_may_make_the_collection_at_once(engine: EdgeProcess) -> None:
    """Of two that start together on an empty engine, both succeed."""
    indexes = [QdrantIndex.connect(engine.target, DIMENSIONS) for _ in range(4)]
    await asyncio.gather(*(index.ensure() for index in indexes))
    for index in indexes:
        await index.ping()
        await index.close()


async def test_ping_wants_the_collection(engine: EdgeProcess) -> None:
    """An engine without the collection can't serve, and says so."""
    index = QdrantIndex.connect(engine.target, DIMENSIONS)
    with pytest.raises(SourceUnavailable, match="no collection 'hilvan'"):
        await index.ping()
    await index.close()


async def test_a_uid_that_is_no_uuid_is_the_documents_fault(index: QdrantIndex) -> None:
    """A point that the engine refuses is a ValueError, not an engine that is down."""
    [bad] = documents(1)
    object.__setattr__(bad, "uid", "not-a-uuid")
    with pytest.raises(ValueError, match="refused"):
        await index.upsert([bad])


async def test_dropping_removes_the_collection(index: QdrantIndex) -> None:
    """A dropped collection is gone with its points, again is no error, and it can be made anew."""
    await index.upsert(documents(1))
    await index.drop()
    with pytest.raises(SourceUnavailable, match="NOT_FOUND"):
        await everything(index)
    await index.drop()
    assert await index.ensure()
    assert await everything(index) == set()


@pytest.mark.parametrize("name", ["../out", "a/b", "", ".hidden", "x" * 65])
async def test_a_collection_name_never_leaves_the_folder(engine: EdgeProcess, name: str) -> None:
    """A name that is no plain file name is refused."""
    index = QdrantIndex.connect(engine.target, DIMENSIONS, name)
    with pytest.raises(SourceUnavailable, match="INVALID_ARGUMENT"):
        await index.ensure()
    await index.close()


async def test_what_is_not_served_is_refused_in_words(
    index: QdrantIndex,
) -> None:
    """Unknown methods and unserved fields answer UNIMPLEMENTED and name themselves."""
    unserved = qdrant.Filter(should=[qdrant.Condition()])
    calls = {
        "/qdrant.Points/Facet": (index._connection.points.Facet, qdrant.FacetCounts()),
        "ScrollPoints.order_by": (
            index._connection.points.Scroll,
            qdrant.ScrollPoints(collection_name="hilvan", order_by=qdrant.OrderBy(key="bucket")),
        ),
        "WithPayloadSelector.enable": (
            index._connection.points.Scroll,
            qdrant.ScrollPoints(
                collection_name="hilvan", with_payload=qdrant.WithPayloadSelector(enable=True)
            ),
        ),
        "Filter.should": (
            index._connection.points.QueryBatch,
            qdrant.QueryBatchPoints(
                collection_name="hilvan", query_points=[qdrant.QueryPoints(filter=unserved)]
            ),
        ),
        "QueryPoints.score_threshold": (
            index._connection.points.QueryBatch,
            qdrant.QueryBatchPoints(query_points=[qdrant.QueryPoints(score_threshold=0.5)]),
        ),
        "QueryBatchPoints.read_consistency": (
            index._connection.points.QueryBatch,
            qdrant.QueryBatchPoints(read_consistency=qdrant.ReadConsistency(factor=1)),
        ),
        "CountPoints.filter": (
            index._connection.points.Count,
            qdrant.CountPoints(filter=qdrant.Filter()),
        ),
        "PointsSelector.filter": (
            index._connection.points.Delete,
            qdrant.DeletePoints(points=qdrant.PointsSelector(filter=qdrant.Filter())),
        ),
        "CreateCollection.sparse_vectors_config": (
            index._connection.collections.Create,
            qdrant.CreateCollection(
                collection_name="x", sparse_vectors_config=qdrant.SparseVectorConfig()
            ),
        ),
    }
    for named, (method, request) in calls.items():
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await method(request)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert named in str(caught.value.details())


async def test_a_query_that_matches_nothing_asks_nobody() -> None:
    """Without owners or with a limit of 0 the answer is empty, even when no engine is there."""
    index = QdrantIndex.connect("unix:/nowhere/engine.sock", DIMENSIONS)
    queries = [VectorQuery(no_owner(), EAST, 5), VectorQuery(only(), EAST, 0)]
    assert await index.search(queries) == [[], []]
    with pytest.raises(SourceUnavailable):
        await everything(index)
    await index.close()
