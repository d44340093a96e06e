"""A lane of imports: several batches on one stream, sent again from what was not acknowledged."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import grpc
from crash.lanes import LOST, PAUSE_S, Session, generator
from crash.model import Operation, World, copied
from crash.writers import FIRST_TIME, WAITING, WORDS, sentence, version_after

from hilvan.common.v1 import entry_pb2
from hilvan.common.v1.entry_pb2 import Entry
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb

SLOTS, RECORDS, AHEAD = 20, 6, 6
UNCHANGED = 0.2


class Importer:
    """Sends streams of batches; each batch has ids of its own, and each record a new text."""

    def __init__(self, world: World, tenant: str, owner: str, seed: str) -> None:
        """Own the ids that begin with the owner's name."""
        self.world = world
        self.tenant = tenant
        self._owner = owner
        self._rng = generator(seed, owner)
        self._sent: dict[str, Entry] = {}
        self._pending: list[Operation] = []

    async def run(self, session: Session) -> None:
        """Import until the service is dead."""
        while not session.dead.is_set():
            if not self._pending:
                slots = self._rng.sample(range(SLOTS), AHEAD)
                self._pending = [self._batch(slot, number) for number, slot in enumerate(slots, 1)]
            await self._stream(session)
            await asyncio.sleep(self._rng.uniform(0, PAUSE_S))

    async def finish(self, session: Session) -> None:
        """Have every batch acknowledged."""
        while self._pending:
            await self._stream(session)
            await asyncio.sleep(PAUSE_S)

    async def _stream(self, session: Session) -> None:
        """Send what is not acknowledged, until that is done or the service is gone."""
        by_number = {each.request.batch: each for each in self._pending}
        with session.doing("import"):
            try:
                call = session.stub(self.tenant).open("ImportEntries")
                for operation in self._pending:
                    self.world.issue(operation)
                    await call.write(operation.request)
                await call.done_writing()
                while (answer := await call.read()) is not grpc.aio.EOF:
                    self._acknowledged(by_number[answer.batch], answer)
            except asyncio.InvalidStateError:
                return  # the stream ended while it was written
            except grpc.aio.AioRpcError as error:
                if error.code() not in LOST:
                    told = f"an import fails: {error.code().name} {error.details()}"
                    raise self.world.violation(told, []) from error

    def _acknowledged(self, operation: Operation, answer: pb.ImportEntriesResponse) -> None:
        self._pending.remove(operation)
        (after,) = operation.afters
        changed = sum(after[name] != entry for name, entry in operation.before.items())
        # Known after a kill: was it there, then nothing of it is stored again.
        possible = {True: {0}, False: {changed}, None: {0, changed}}
        counts = possible[operation.applied if operation.was_repeated else False]
        whole = answer.stored_count + answer.unchanged_count
        if answer.faults or answer.stored_count not in counts or whole != len(after):
            raise self.world.violation("a batch counts otherwise", operation.ids, answer)
        self.world.acknowledge(operation)
        self._sent |= {each.entry.id: each.entry for each in operation.request.records}

    def _batch(self, slot: int, number: int) -> Operation:
        request = pb.ImportEntriesRequest(batch=number, wait=self._rng.random() < WAITING)
        names = [f"{self._owner}/{slot:02}-{place}" for place in range(RECORDS)]
        before = {name: self.world.truth.get(name) for name in names}
        after: dict[str, Entry | None] = {}
        for name in names:
            known = self._sent.get(name)
            if known is not None and self._rng.random() < UNCHANGED:
                request.records.add().entry.CopyFrom(known)
                after[name] = before[name]
                continue
            entry = request.records.add().entry
            entry.CopyFrom(self._record(name, names))
            left = copied(entry)
            left.etag = version_after(before[name])
            after[name] = left
        loose = frozenset({"content_hash"})
        return Operation("import", "ImportEntries", request, before, [after], loose)

    def _record(self, name: str, names: Sequence[str]) -> Entry:
        made = Entry(id=name, layer=entry_pb2.LAYER_MEMORY, text=sentence(self._rng))
        made.owner.axis, made.owner.id = entry_pb2.AXIS_USER, self._owner
        made.create_time.FromDatetime(FIRST_TIME + timedelta(seconds=names.index(name)))
        later = FIRST_TIME + timedelta(seconds=self._rng.randrange(10**6))
        made.update_time.FromDatetime(later)
        made.category = self._rng.choice(WORDS)
        return made
