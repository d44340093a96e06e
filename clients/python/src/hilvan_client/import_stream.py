"""Import over one bidirectional stream, with a window of batches that are not acknowledged yet."""

import asyncio
import random
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grpc import aio

from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_client.errors import DeadlineExceeded, Failure, HilvanError, Overloaded, Unavailable
from hilvan_client.importers.items import Fault, ImportItem

if TYPE_CHECKING:
    from hilvan.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceAsyncStub

Record = ImportItem | pb.ImportRecord
"""What can be imported: an entry, one with a vector of its own, or a fault to be reported."""

Records = AsyncIterable[Record] | Iterable[Record]

# gRPC servers refuse messages above 4 MiB unless told otherwise.
BATCH_BYTES = 3 * 1024 * 1024
# Each stream ends after this many seconds, and the next one goes on where it ended.
STREAM_TIMEOUT = 120.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with full jitter: at most ``attempts`` tries without any progress."""

    initial: float = 0.1
    maximum: float = 5.0
    attempts: int = 10

    def delay(self, attempt: int) -> float:
        """Seconds before the try after the ``attempt``-th failure, which counts from 1.

        Full jitter as in "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
        """
        ceiling = min(self.maximum, self.initial * 2 ** (attempt - 1))
        return random.uniform(0, ceiling)  # noqa: S311 - spreads load, guards nothing


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """Counts of records so far, after an acknowledgement."""

    stored: int
    unchanged: int
    faulted: int


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What became of all records; ``faults`` has those of the source and those of the server."""

    stored: int
    unchanged: int
    faults: tuple[Fault, ...]


@dataclass(slots=True)
class _Import:
    """What is known while an import runs; ``pending`` is in the order of sending."""

    pending: dict[int, pb.ImportEntriesRequest] = field(default_factory=dict)
    acknowledged: int = 0
    stored: int = 0
    unchanged: int = 0
    faults: list[Fault] = field(default_factory=list)

    def settle(self, answer: pb.ImportEntriesResponse) -> None:
        """Take an acknowledgement; one that came before, on a broken stream, counts once."""
        if self.pending.pop(answer.batch, None) is None:
            return
        self.acknowledged += 1
        self.stored += answer.stored_count
        self.unchanged += answer.unchanged_count
        for fault in answer.faults:
            where = fault.id or f"batch {answer.batch}, record {fault.index}"
            self.faults.append(Fault(where, f"{fault.field}: {fault.description}"))


async def import_entries(
    retrieval: "RetrievalServiceAsyncStub",
    records: Records,
    *,
    batch_size: int = 200,
    window: int = 4,
    on_progress: Callable[[ImportProgress], None] | None = None,
    wait: bool = False,
    backoff: Backoff = Backoff(),
    stream_timeout: float = STREAM_TIMEOUT,
) -> ImportSummary:
    """Store the records, in their order, and say what became of them.

    At most ``window`` batches are on their way. A stream that breaks off, is refused for load or
    reaches its deadline is opened again from the first batch that was not acknowledged; sending a
    batch twice changes nothing. Records that are faults already go into the summary as they are.

    Args:
        retrieval: The stub.
        records: Entries, each with an id, and faults; read once, as fast as they are acknowledged.
        batch_size: Records a batch, 1 to 500; large ones are cut earlier, at 3 MiB.
        window: Batches on their way, 1 or more.
        on_progress: Called after each acknowledgement.
        wait: Acknowledge only what both indexes have.
        backoff: How often and after which pauses to try again.
        stream_timeout: Seconds of one stream.

    Raises:
        HilvanError: what can't be mended by trying again, or was not after the last try. What was
            acknowledged until then is stored, and the import may be run again from its beginning.
    """
    state = _Import()
    batches = _batches(records, batch_size, state.faults, wait=wait)
    failures = 0
    while True:
        before = state.acknowledged
        call = retrieval.ImportEntries(timeout=stream_timeout)
        try:
            await _pump(call, batches, state, window, on_progress)
        except (Unavailable, Overloaded, DeadlineExceeded) as error:
            failures = 1 if state.acknowledged > before else failures + 1
            if failures >= backoff.attempts:
                raise
            await asyncio.sleep(_pause(error, backoff.delay(failures)))
        else:
            return ImportSummary(state.stored, state.unchanged, tuple(state.faults))
        finally:
            call.cancel()


async def _pump(
    call: Any,
    batches: AsyncIterator[pb.ImportEntriesRequest],
    state: _Import,
    window: int,
    on_progress: Callable[[ImportProgress], None] | None,
) -> None:
    """Send what is pending, then keep the window full until everything is acknowledged."""
    for unsettled in tuple(state.pending.values()):
        await call.write(unsettled)
    while True:
        while len(state.pending) < window:
            request = await _next(batches)
            if request is None:
                break
            state.pending[request.batch] = request
            await call.write(request)
        if not state.pending:
            break
        answer = await call.read()
        if answer is aio.EOF:
            raise Unavailable(Failure("UNAVAILABLE", "the server ended the import early"))
        state.settle(answer)
        if on_progress:
            on_progress(ImportProgress(state.stored, state.unchanged, len(state.faults)))
    await call.done_writing()
    await call.read()


async def _next(
    batches: AsyncIterator[pb.ImportEntriesRequest],
) -> pb.ImportEntriesRequest | None:
    async for batch in batches:
        return batch
    return None


def _pause(error: HilvanError, delay: float) -> float:
    """What the server asks for, else our own delay; both in seconds."""
    return max(error.failure.retry_after or 0.0, delay)


async def _batches(
    records: Records,
    batch_size: int,
    faults: list[Fault],
    *,
    wait: bool,
) -> AsyncIterator[pb.ImportEntriesRequest]:
    """Cut entries into numbered batches; faults go aside."""
    number, batch, size = 1, list[pb.ImportRecord](), 0
    async for item in _each(records):
        if isinstance(item, Fault):
            faults.append(item)
            continue
        record = item if isinstance(item, pb.ImportRecord) else pb.ImportRecord(entry=item)
        weight = record.ByteSize()
        if batch and (len(batch) == batch_size or size + weight > BATCH_BYTES):
            yield pb.ImportEntriesRequest(batch=number, records=batch, wait=wait)
            number, batch, size = number + 1, [], 0
        batch.append(record)
        size += weight
    if batch:
        yield pb.ImportEntriesRequest(batch=number, records=batch, wait=wait)


async def _each(
    records: Records,
) -> AsyncIterator[Record]:
    if isinstance(records, AsyncIterable):
        async for item in records:
            yield item
    else:
        for item in records:
            yield item
