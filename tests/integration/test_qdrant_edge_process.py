"""The engine process: what survives a kill, and who restarts whom."""

import asyncio
import os
import random
import signal
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from support.engines.vector import (
    DIMENSIONS,
    documents,
    edge_process,
    engine_folder,
    ensured,
    everything,
    lives,
    until,
    until_answered,
    until_refused,
)

from hilvan_retrieval.adapters.vector.edge import EdgeProcess
from hilvan_retrieval.adapters.vector.qdrant import QdrantIndex
from hilvan_retrieval.errors import SourceTimeout, SourceUnavailable
from hilvan_retrieval.model.entry import Uid


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
    async with ensured(QdrantIndex.connect(engine.target, DIMENSIONS, timeout=20.0)) as index:
        yield index


def contents(folder: Path) -> list[str]:
    """List the names in a folder; an absent one has none."""
    return [path.name for path in folder.iterdir()] if folder.exists() else []


def is_private_socket(path: Path) -> bool:
    """Tell whether a socket is in a folder that only its user may enter."""
    return path.is_socket() and stat.S_IMODE(path.parent.stat().st_mode) == 0o700


# Durability


async def test_ten_kills_in_mid_write_lose_no_acknowledged_write(
    engine: EdgeProcess, index: QdrantIndex
) -> None:
    """Every acknowledged upsert is found, and every acknowledged delete gone, after kill -9."""
    rng = random.Random(7)  # noqa: S311 - a seed for the moments
    kept: set[Uid] = set()
    doubtful: set[Uid] = set()
    number = 0
    for _ in range(10):
        killer = asyncio.get_running_loop().call_later(
            rng.uniform(0.0, 0.3), os.kill, engine.pid, signal.SIGKILL
        )
        try:
            while True:
                batch = documents(*range(number, number + rng.randint(1, 300)))
                number += len(batch)
                doubtful = {d.uid for d in batch}
                await index.upsert(batch)
                kept |= doubtful
                doubtful = {batch[0].uid}
                await index.delete([batch[0].uid])
                kept -= doubtful
                doubtful = set()
        except SourceUnavailable:
            killer.cancel()
        await until_answered(index.ping)
        assert kept - doubtful <= await everything(index) <= kept | doubtful
        kept = await everything(index)


async def test_an_orderly_stop_and_a_start_keep_everything(folder: Path) -> None:
    """What was written is there when another process opens the folder, ready for more."""
    for number in range(2):
        engine = await EdgeProcess.start(folder)
        index = QdrantIndex.connect(engine.target, DIMENSIONS)
        await index.ensure()
        await index.upsert(documents(number))
        assert await everything(index) == {d.uid for d in documents(*range(number + 1))}
        await index.close()
        await engine.close()


async def test_a_half_made_collection_is_cleared_away(folder: Path) -> None:
    """What a kill left of a creation does not keep the engine from starting."""
    (folder / ".hilvan" / "segments").mkdir(parents=True)
    engine = await EdgeProcess.start(folder)
    index = QdrantIndex.connect(engine.target, DIMENSIONS)
    await index.ensure()
    await index.close()
    await engine.close()
    assert contents(folder) == ["hilvan"]


# Several collections, as while one is built beside another


async def test_a_bulk_write_lets_searches_of_another_collection_through(
    engine: EdgeProcess, index: QdrantIndex
) -> None:
    """Between the batches of a long write the other collection answers, and in full."""
    await index.upsert(documents(*range(10)))
    async with ensured(QdrantIndex.connect(engine.target, DIMENSIONS, "hilvan-2")) as second:
        batches = 20
        bulk = documents(*range(batches * 128))
        writing = asyncio.create_task(second.upsert(bulk))
        answered = 0
        while not writing.done():
            assert await everything(index) == {d.uid for d in documents(*range(10))}
            answered += 1
        await writing
        assert answered >= batches / 2
        assert (await second.state()).document_count == len(bulk)


async def test_dropping_a_collection_disturbs_no_other(
    engine: EdgeProcess, index: QdrantIndex
) -> None:
    """While one collection is removed with its points the other answers, and outlives a kill."""
    await index.upsert(documents(*range(10)))
    kept = {d.uid for d in documents(*range(10))}
    async with ensured(QdrantIndex.connect(engine.target, DIMENSIONS, "hilvan-2")) as second:
        await second.upsert(documents(*range(1_000)))
        dropping = asyncio.create_task(second.drop())
        while not dropping.done():
            assert await everything(index) == kept
        await dropping
        os.kill(engine.pid, signal.SIGKILL)
        await until_answered(index.ping)
        assert await everything(index) == kept
        with pytest.raises(SourceUnavailable, match="no collection"):
            await second.ping()
        assert await second.ensure() is True
        assert await everything(second) == set()


# Who restarts whom


async def test_a_killed_engine_is_started_again_at_its_address(
    engine: EdgeProcess, index: QdrantIndex
) -> None:
    """Meanwhile searches raise SourceUnavailable at once; afterwards the same index answers."""
    await index.upsert(documents(1))
    first, target = engine.pid, engine.target
    os.kill(first, signal.SIGKILL)
    assert isinstance(await until_refused(lambda: everything(index)), SourceUnavailable)
    await until_answered(index.ping)
    assert engine.pid != first
    assert engine.target == target
    assert await everything(index) == {documents(1)[0].uid}


async def test_an_engine_that_hangs_is_a_timeout(engine: EdgeProcess) -> None:
    """A search that is not answered raises SourceTimeout after the index's own timeout."""
    index = QdrantIndex.connect(engine.target, DIMENSIONS, timeout=0.2)
    await index.ensure()
    os.kill(engine.pid, signal.SIGSTOP)
    try:
        with pytest.raises(SourceTimeout):
            await everything(index)
        with pytest.raises(SourceUnavailable):
            await index.ping()
    finally:
        os.kill(engine.pid, signal.SIGCONT)
    await until_answered(lambda: everything(index))
    await index.close()


async def test_a_caller_may_stop_waiting(engine: EdgeProcess, index: QdrantIndex) -> None:
    """Cancelling a search ends it at once, and the index goes on."""
    os.kill(engine.pid, signal.SIGSTOP)
    try:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(everything(index), 0.05)
    finally:
        os.kill(engine.pid, signal.SIGCONT)
    await until_answered(lambda: everything(index))


PARENT = """
import asyncio, sys
from pathlib import Path
from hilvan_retrieval.adapters.vector.edge import EdgeProcess

async def main():
    engine = await EdgeProcess.start(Path(sys.argv[1]))
    print(engine.pid, flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


async def started_parent(folder: Path) -> asyncio.subprocess.Process:
    """Start a program that starts an engine; what it leaves when it is killed is in the folder."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PARENT, str(folder / "data")),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
    )


async def test_the_engine_dies_with_its_parent_and_the_folder_is_free(folder: Path) -> None:
    """After kill -9 of the parent the engine is gone, and a new parent starts at once."""
    for _ in range(2):
        parent = await started_parent(folder)
        assert parent.stdout is not None
        pid = int(await parent.stdout.readline())
        parent.kill()
        await parent.wait()
        engine = await EdgeProcess.start(folder / "data")
        assert not lives(pid)
        await engine.close()


async def test_the_engine_dies_with_its_parent_in_the_midst_of_a_call(folder: Path) -> None:
    """An engine that is stopped, and so reads no pipe and no signal, dies with its parent too."""
    parent = await started_parent(folder)
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    os.kill(pid, signal.SIGSTOP)
    parent.kill()
    await parent.wait()
    await until(lambda: not lives(pid))


async def test_a_closed_pipe_is_an_orderly_stop(folder: Path) -> None:
    """The engine writes everything and ends by itself when its standard input ends."""
    engine = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hilvan_retrieval.adapters.vector.edge", "--with-parent"),
        *("--path", str(folder / "data"), "--address", f"unix:{folder}/engine.sock"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert engine.stdin is not None
    assert engine.stdout is not None
    assert await engine.stdout.readline() == b"serving\n"
    engine.stdin.close()
    assert await engine.wait() == 0


async def test_close_ends_the_process_and_removes_its_socket(folder: Path) -> None:
    """Nothing is left of a closed engine; closing twice is fine."""
    engine = await EdgeProcess.start(folder)
    pid, socket = engine.pid, Path(engine.target.removeprefix("unix:"))
    assert is_private_socket(socket)
    await engine.close()
    await engine.close()
    assert not lives(pid)
    assert contents(socket.parent) == []
    with pytest.raises(SourceUnavailable):
        _ = engine.pid
