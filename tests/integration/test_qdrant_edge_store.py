"""What the engine process keeps on disk, asked without a process around it."""

import asyncio
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import qdrant_edge
from support.engines.vector import engine_folder

from hilvan_retrieval.adapters.vector.edge.__main__ import open_store
from hilvan_retrieval.adapters.vector.edge.store import OLDEST_S, FolderInUse, Store

DIMENSIONS = 512
NAME = "hilvan"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give an empty folder for a store."""
    with engine_folder() as folder:
        yield folder


def created(folder: Path) -> Store:
    """Open a store with one empty collection."""
    store = Store(folder)
    params = qdrant_edge.EdgeVectorParams(size=DIMENSIONS, distance=qdrant_edge.Distance.Cosine)
    store.create(NAME, {"dense": params})
    store.settle(OLDEST_S)  # every store does so once after it was opened
    return store


def fill(store: Store, count: int, now: float) -> None:
    """Write points at a time."""
    rng = np.random.default_rng(0)
    for _ in range(0, count, 500):
        points = [
            qdrant_edge.Point(str(uuid.uuid4()), {"dense": vector.tolist()}, {})
            for vector in rng.standard_normal((500, DIMENSIONS))
        ]
        store[NAME].update(qdrant_edge.UpdateOperation.upsert_points(points), 500, now)


def segments(store: Store) -> int:
    """Count the segments."""
    return int(store[NAME].shard.info().segments_count)


def test_a_bulk_is_indexed_when_its_time_has_come(folder: Path) -> None:
    """Not at the last write but after it, and once: nothing is lost by it."""
    store = created(folder)
    fill(store, 6_000, now=100.0)
    before = segments(store)
    store.settle(100.0)
    assert segments(store) == before
    store.settle(100.0 + OLDEST_S)
    assert segments(store) == before + 1
    assert store[NAME].shard.count(qdrant_edge.CountRequest(exact=True)) == 6_000
    store.close()


def test_what_a_kill_left_unindexed_is_indexed_after_the_start(folder: Path) -> None:
    """A store that opens a bulk which was never settled settles it without another write."""
    store = created(folder)
    fill(store, 6_000, now=100.0)
    before = segments(store)
    store.close()
    store = Store(folder)
    store.settle(100.0)
    assert segments(store) == before + 1
    store.close()


def test_a_second_store_on_the_folder_is_refused(folder: Path) -> None:
    """A folder belongs to one store; when that has closed, the next may open it."""
    store = created(folder)
    with pytest.raises(FolderInUse, match=NAME):
        Store(folder)
    store.close()
    Store(folder).close()


async def test_a_folder_that_is_let_go_is_opened(folder: Path) -> None:
    """Opening waits for the process that has the folder, and gives up in the end."""
    store = created(folder)
    with pytest.raises(FolderInUse):
        await open_store(folder, patience=0.0)
    waiting = asyncio.create_task(open_store(folder, patience=30.0))
    await asyncio.sleep(0)  # its first attempt fails
    store.close()
    (await waiting).close()


def test_a_deleted_collection_leaves_no_file(folder: Path) -> None:
    """Deleting removes the folder of the collection."""
    store = created(folder)
    store.delete(NAME)
    assert list(folder.iterdir()) == []
    assert store.names == []
    store.close()
