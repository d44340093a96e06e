"""An import into a retrieval process that is killed again and again."""

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest
from vector_engines import PATIENCE_S, engine_folder

from hilvan.common.v1 import entry_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as rpc

KILLS = 10
BATCHES, RECORDS = 100, 3


@dataclass(frozen=True, slots=True)
class Running:
    """A retrieval process that serves."""

    process: asyncio.subprocess.Process
    stub: "rpc.RetrievalServiceAsyncStub"

    async def kill(self) -> None:
        """Let it do nothing more."""
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()


@asynccontextmanager
async def retrieval(folder: Path) -> AsyncIterator[Running]:
    """Start the process over a folder, and kill it in the end at the latest."""
    ready = folder / "ready"
    ready.unlink(missing_ok=True)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("HILVAN_")},
        "HILVAN_AUTH_MODE": "development",
        "HILVAN_RETRIEVAL_LISTEN": "127.0.0.1:0",
        "HILVAN_RETRIEVAL_DATA_DIR": str(folder / "data"),
        "HILVAN_RETRIEVAL_EMBEDDER": "hashing",
        "HILVAN_RETRIEVAL_READY_FILE": str(ready),
        "HILVAN_RETRIEVAL_SOURCE_CAP_MS": "10000",
        "HILVAN_RETRIEVAL_LOG_LEVEL": "error",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hilvan_retrieval.main", env=environment
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not ready.exists():
                assert process.returncode is None
                await asyncio.sleep(0.02)
        address = json.loads(ready.read_text())["address"]
        async with grpc.aio.insecure_channel(address) as channel:
            stub: rpc.RetrievalServiceAsyncStub = rpc.RetrievalServiceStub(channel)
            yield Running(process, stub)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@dataclass(slots=True)
class Importing:
    """An import that knows what was acknowledged, and goes on from there."""

    batches: Sequence[pb.ImportEntriesRequest]
    acknowledged: set[int] = field(default_factory=set)
    progress: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, stub: "rpc.RetrievalServiceAsyncStub") -> None:
        """Send what was not acknowledged, four batches ahead, until the server is gone."""
        with suppress(grpc.aio.AioRpcError):
            call = stub.ImportEntries(timeout=PATIENCE_S)
            open_batches = [each for each in self.batches if each.batch not in self.acknowledged]
            for number, batch in enumerate(open_batches):
                await call.write(batch)
                if number >= 4:
                    self._note(await call.read())
            await call.done_writing()
            while (answer := await call.read()) is not grpc.aio.EOF:
                self._note(answer)

    async def gets_on(self, by: int) -> None:
        """Wait for a number of acknowledgements more."""
        target = len(self.acknowledged) + by
        async with asyncio.timeout(PATIENCE_S):
            while len(self.acknowledged) < target:
                self.progress.clear()
                await self.progress.wait()

    def _note(self, answer: object) -> None:
        assert isinstance(answer, pb.ImportEntriesResponse)
        assert not answer.faults
        self.acknowledged.add(answer.batch)
        self.progress.set()


def make_batches(rng: random.Random) -> list[pb.ImportEntriesRequest]:
    """Make records that each have a word of their own."""
    batches = []
    for batch in range(1, BATCHES + 1):
        request = pb.ImportEntriesRequest(batch=batch)
        for index in range(RECORDS):
            words = " ".join(f"{rng.getrandbits(40):010x}" for _ in range(6))
            entry = request.records.add().entry
            entry.id = f"r{batch:03}-{index:02}"
            entry.layer = entry_pb2.LAYER_MEMORY
            entry.owner.axis, entry.owner.id = entry_pb2.AXIS_USER, "dev"
            entry.text = f"word{batch:03}x{index:02} {words}"
        batches.append(request)
    return batches


@pytest.fixture
def folder() -> Iterator[Path]:
    """Gives the process a folder."""
    with engine_folder() as made:
        yield made


async def search(
    stub: "rpc.RetrievalServiceAsyncStub", query: str, source: "entry_pb2.Source.ValueType"
) -> str:
    """Tell the id of the best hit."""
    request = pb.SearchEntriesRequest(query=query, source=source, limit=1)
    answer = await stub.SearchEntries(request, timeout=PATIENCE_S)
    return answer.candidates[0].entry.id if answer.candidates else ""


async def wait_for_indexes(stub: "rpc.RetrievalServiceAsyncStub") -> pb.GetIndexStateResponse:
    """Wait until both indexes have all that the record has."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            state = await stub.GetIndexState(pb.GetIndexStateRequest())
            assert not any(each.parked_count for each in state.indexes)
            if not any(each.pending_count for each in state.indexes):
                return state
            await asyncio.sleep(0.05)


async def test_killed_ten_times_an_import_loses_and_doubles_nothing(folder: Path) -> None:
    """Whatever was acknowledged is found by both sources, and every record is there once."""
    rng = random.Random(4471)  # noqa: S311 - a seed, not a secret
    importing = Importing(make_batches(rng))
    for _ in range(KILLS):
        async with retrieval(folder) as running:
            task = asyncio.create_task(importing.run(running.stub))
            await importing.gets_on(by=rng.randint(0, 4))
            # And into whatever it is doing then: writing, committing, indexing.
            await asyncio.wait([task], timeout=rng.uniform(0, 0.02))
            await running.kill()
            await task
    assert 0 < len(importing.acknowledged) < BATCHES
    async with retrieval(folder) as running:
        await wait_for_indexes(running.stub)
        ids = [
            record.entry.id
            for batch in importing.batches
            for record in batch.records
            if batch.batch in importing.acknowledged
        ]
        found = await running.stub.BatchGetEntries(pb.BatchGetEntriesRequest(ids=ids or ["none"]))
        assert len(found.entries) == len(ids)
        await importing.run(running.stub)
        assert importing.acknowledged == {each.batch for each in importing.batches}
        state = await wait_for_indexes(running.stub)
        whole = BATCHES * RECORDS
        assert state.entry_count == whole
        assert [each.document_count for each in state.indexes] == [whole, whole]
        entries = [record.entry for batch in importing.batches for record in batch.records]
        for queries, source in (
            ([each.text.split()[0] for each in entries], entry_pb2.SOURCE_KEYWORD),
            ([each.text for each in entries], entry_pb2.SOURCE_VECTOR),
        ):
            hits = [search(running.stub, query, source) for query in queries]
            assert await asyncio.gather(*hits) == [each.id for each in entries]
