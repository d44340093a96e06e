"""A lane of consolidations, in a tenant of its own, whose every end is known.

A round imports groups of entries, consolidates, takes that back, consolidates again and forgets
all. Whatever a kill cuts is begun again; what it leaves must be right at any point.
"""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
from crash.lanes import PAUSE_S, Lost, Session, generator
from crash.model import Violation, bare, copied
from crash.writers import sentence

from hilvan.common.v1 import entry_pb2
from hilvan.common.v1.entry_pb2 import Entry
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb

TENANT = "kept"
OWNERS = 6
TWINS = ("a", "b", "c")
"""The leader first: it was said last."""
VERSION = frozenset({"etag"})
SERVERS = VERSION | {"content_hash"}
PHASES = ("fill", "conflicts", "consolidate", "undo", "conflicts", "consolidate", "clear")


class Keeper:
    """Goes through its rounds, phase by phase."""

    tenant = TENANT

    def __init__(self, seed: str) -> None:
        """Begin with the first round."""
        self._rng = generator(seed, "keeper")
        self._phase = 0
        self.round = 1
        self._request = self._entries()
        self._first: dict[str, Entry] = {}
        self._known_runs: set[str] = set()
        self.events: list[str] = []

    @property
    def phase(self) -> str:
        """What is being done."""
        return PHASES[self._phase]

    async def run(self, session: Session) -> None:
        """Go on until the service is dead."""
        while not session.dead.is_set():
            try:
                await self._step(session)
            except Lost:
                self.events.append(f"round {self.round}: {self.phase} unanswered")
            await asyncio.sleep(self._rng.uniform(0, 2 * PAUSE_S))

    async def finish(self, session: Session) -> None:
        """Come to the end of what was begun."""
        while self.phase != "fill":
            await self._step(session)

    def verify(self, found: Iterable[Entry]) -> None:
        """Look at what there is, at any point of a round. Raises Violation."""
        actual = {each.id: each for each in found}
        is_whole = self.phase not in ("fill", "clear")
        if self.phase == "fill" and len(actual) not in (0, len(self._request.records)):
            self._fail("an import is there in part", actual.values())
        for number in range(OWNERS if is_whole else 0):
            names = [self._name(number, role) for role in (*TWINS, "old", "new", "weak", "plain")]
            if missing := [name for name in names if name not in actual]:
                self._fail(f"lost: {missing}", actual.values())
            leader, *twins = [actual[self._name(number, role)] for role in TWINS]
            merged = [each for each in twins if each.superseded_by]
            wanted = self._merged(self._first[leader.id], [self._first[t.id] for t in merged])
            self._same(wanted, leader)

    async def _step(self, session: Session) -> None:
        await getattr(self, f"_{self.phase}")(session)
        self.events.append(f"round {self.round}: {self.phase} done")
        self._phase += 1
        if self._phase == len(PHASES):
            self._phase, self.round = 0, self.round + 1
            self._request = self._entries()

    async def _fill(self, session: Session) -> None:
        calls = session.stub(TENANT)
        with session.doing("import"):
            try:
                call = calls.open("ImportEntries")
                await call.write(self._request)
                await call.done_writing()
                answer = await call.read()
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
                raise Lost from error
        if answer is grpc.aio.EOF or answer.faults:
            self._fail(f"an import fails: {answer}", ())
        self._first = await self._read(session)
        sent = {each.entry.id: each.entry for each in self._request.records}
        if {name: bare(each, SERVERS) for name, each in self._first.items()} != sent:
            self._fail("an import was acknowledged and is not there so", self._first.values())

    async def _conflicts(self, session: Session) -> None:
        request = pb.RecordConflictsRequest(
            conflicts=[
                pb.Conflict(older_id=self._name(each, "old"), newer_id=self._name(each, "new"))
                for each in range(OWNERS)
            ]
        )
        answer = await session.stub(TENANT).call("RecordConflicts", request)
        if answer.recorded_count != OWNERS:
            self._fail(f"conflicts are not noted: {answer}", ())

    async def _consolidate(self, session: Session) -> None:
        with session.doing("consolidation"):
            await self._call(session, "Consolidate", pb.ConsolidateRequest())
        actual = await self._read(session)
        wanted = self._consolidated()
        if actual.keys() != wanted.keys():
            self._fail("other entries after a consolidation", actual.values())
        for name, entry in actual.items():
            self._same(wanted[name], entry)

    async def _undo(self, session: Session) -> None:
        listed = await session.stub(TENANT).call(
            "ListConsolidations", pb.ListConsolidationsRequest()
        )
        runs = [each for each in listed.consolidations if each.run_id not in self._known_runs]
        with session.doing("undo"):
            for each in runs:
                request = pb.UndoConsolidationRequest(run_id=each.run_id)
                (answer,) = await self._call(session, "UndoConsolidation", request)
                if answer.changed_numbers:
                    self._fail(f"steps are not undone: {answer}", ())
        actual = await self._read(session)
        if actual.keys() != self._first.keys():
            self._fail("other entries after an undo", actual.values())
        for name, entry in actual.items():
            self._same(self._first[name], entry)

    async def _clear(self, session: Session) -> None:
        calls = session.stub(TENANT)
        for name in await self._read(session):
            try:
                await calls.call("DeleteEntry", pb.DeleteEntryRequest(id=name))
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.NOT_FOUND:
                    raise
        listed = await calls.call("ListConsolidations", pb.ListConsolidationsRequest())
        self._known_runs = {each.run_id for each in listed.consolidations}

    async def _call(self, session: Session, method: str, request: object) -> list[Any]:
        """Call, and wait while a run that was cut is still held by what was killed."""
        calls = session.stub(TENANT)
        try:
            if method == "Consolidate":
                return await calls.all(method, request)
            return [await calls.call(method, request)]
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.ABORTED:
                raise Lost from error
            raise

    async def _read(self, session: Session) -> dict[str, Entry]:
        pages = await session.stub(TENANT).all("ExportEntries", pb.ExportEntriesRequest())
        return {each.id: each for page in pages for each in page.entries}

    def _name(self, owner: int, role: str) -> str:
        return f"{self.round:04}-{owner}-{role}"

    def _entries(self) -> pb.ImportEntriesRequest:
        """The entries of a round: what must be merged, retired, expired, lowered, and left."""
        now = datetime.now(UTC)
        request = pb.ImportEntriesRequest(batch=1)
        for owner in range(OWNERS):
            said = sentence(self._rng)
            for hours, role in enumerate((*TWINS, "old", "new", "over", "weak", "plain"), 1):
                entry = request.records.add().entry
                entry.id, entry.layer = self._name(owner, role), entry_pb2.LAYER_MEMORY
                entry.owner.axis, entry.owner.id = entry_pb2.AXIS_USER, f"k{owner}"
                entry.text = said if role in TWINS else sentence(self._rng)
                entry.tags.append(role)
                entry.confidence = 0.5
                entry.access_count = self._rng.randrange(5)
                entry.reinforcement_count = self._rng.randrange(5)
                days = {"over": 200, "weak": 60}.get(role, 1)
                entry.create_time.FromDatetime(now - timedelta(days=days, hours=hours))
                entry.update_time.CopyFrom(entry.create_time)
                if role == "over":
                    entry.valid_until_time.FromDatetime(now - timedelta(days=199))
        return request

    def _consolidated(self) -> dict[str, Entry]:
        """What a consolidation must leave of the first entries."""
        left = {name: copied(entry) for name, entry in self._first.items()}
        for owner in range(OWNERS):
            names = {role: self._name(owner, role) for role in (*TWINS, "old", "new", "weak")}
            leader, *twins = [self._first[names[role]] for role in TWINS]
            left[leader.id] = self._merged(leader, twins)
            for gone, by in ((names["b"], leader), (names["c"], leader), (names["old"], None)):
                target = by or self._first[names["new"]]
                left[gone].superseded_by = target.id
                left[gone].supersede_time.CopyFrom(target.create_time)
            left[names["weak"]].confidence = 0.5 * 2 ** -(60 / 180)
            del left[self._name(owner, "over")]
        return left

    def _merged(self, leader: Entry, twins: list[Entry]) -> Entry:
        made = copied(leader)
        for twin in twins:
            made.reinforcement_count += 1 + twin.reinforcement_count
            made.access_count += twin.access_count
            made.confidence = 1.0 - (1.0 - made.confidence) * (1.0 - 0.2)
            made.tags.extend(twin.tags)
        return made

    def _same(self, wanted: Entry, actual: Entry) -> None:
        """Compare all but the version; a lowered confidence depends on the hour."""
        loose = VERSION
        if actual.id.endswith("weak") and abs(wanted.confidence - actual.confidence) < 1e-3:
            loose = VERSION | {"confidence"}
        if bare(wanted, loose) != bare(actual, loose):
            self._fail("an entry is otherwise", (wanted, actual))

    def _fail(self, what: str, shown: Iterable[object]) -> None:
        events = "\n  ".join(self.events[-20:])
        told = "\n".join(map(str, shown))
        raise Violation(
            f"consolidation, round {self.round}, {self.phase}: {what}\n{told}\n  {events}"
        )
