"""One sequence of calls that waits for each answer, and goes on with it after a kill."""

import asyncio
import random
import uuid
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import grpc
from crash.model import Operation, World

CALL_S = 20.0
PAUSE_S = 0.05
LOST = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    }
)
"""An answer that leaves open what was done."""

LATE_REPLAYS = 0.05
KEPT_ANSWERS = 50


def generator(seed: str, name: str) -> random.Random:
    """What a part of a run draws from: the same seed and name give the same draws."""
    return random.Random(f"{seed} {name}")  # noqa: S311 - a seed, not a secret


class Lost(Exception):
    """Nobody knows what became of a call."""


@dataclass(slots=True)
class Session:
    """One life of the service: how to call it, and what is going on."""

    address: str
    channel: grpc.aio.Channel
    dead: asyncio.Event = field(default_factory=asyncio.Event)
    active: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Note what is going on, for whoever asks what a kill has hit."""
        self.active[what] += 1
        try:
            yield
        finally:
            if not self.dead.is_set():
                self.active[what] -= 1

    def stub(self, tenant: str) -> "Calls":
        """Calls for a tenant."""
        return Calls(self, tenant)


class Calls:
    """Calls of one tenant: an answer, a refusal as AioRpcError, or Lost."""

    def __init__(self, session: Session, tenant: str) -> None:
        """Take a session."""
        from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as rpc

        self._stub = rpc.RetrievalServiceStub(session.channel)
        self.metadata = (("hilvan-tenant", tenant),)

    async def call(self, method: str, request: Any, seconds: float = CALL_S) -> Any:
        """One answer."""
        try:
            return await getattr(self._stub, method)(
                request, timeout=seconds, metadata=self.metadata
            )
        except grpc.aio.AioRpcError as error:
            raise _told(error) from error

    async def all(self, method: str, request: Any, seconds: float = CALL_S) -> list[Any]:
        """All answers of a stream."""
        try:
            stream = getattr(self._stub, method)(request, timeout=seconds, metadata=self.metadata)
            return [each async for each in stream]
        except grpc.aio.AioRpcError as error:
            raise _told(error) from error

    def open(self, method: str) -> Any:
        """Open a stream both ways."""
        return getattr(self._stub, method)(timeout=CALL_S, metadata=self.metadata)


def _told(error: grpc.aio.AioRpcError) -> Exception:
    return Lost(error.details()) if error.code() in LOST else error


class Lane(Protocol):
    """Something that goes on through every life of the service."""

    async def run(self, session: Session) -> None:
        """Go on until the service is dead; raises Violation."""

    async def finish(self, session: Session) -> None:
        """Have everything answered that is not yet; raises Violation."""


class WritingLane:
    """Calls `draw` for one operation after the other, and repeats what was not answered."""

    name = "write"

    def __init__(self, world: World, tenant: str, owner: str, seed: str) -> None:
        """Write entries of one owner, drawn from a generator of its own."""
        self.world = world
        self.tenant = tenant
        self.owner = owner
        self.rng = generator(seed, owner)
        self._pending: Operation | None = None
        self._answered: deque[tuple[Operation, Any]] = deque(maxlen=KEPT_ANSWERS)

    def draw(self) -> Operation:
        """The next call."""
        raise NotImplementedError

    def learn(self, operation: Operation, answer: Any) -> None:
        """Take over what else an answer says; an answer without an entry by default."""
        self.world.acknowledge(operation, getattr(answer, "entry", None))

    async def check(self, operation: Operation, answer: Any, session: Session) -> None:
        """Look whether what was answered is so."""

    async def run(self, session: Session) -> None:
        """Write until the service is dead."""
        while not session.dead.is_set():
            try:
                if not self._pending and self._answered and self.rng.random() < LATE_REPLAYS:
                    await self._replay_answered(session)
                else:
                    await self._step(session)
            except Lost:
                await asyncio.sleep(PAUSE_S)

    async def finish(self, session: Session) -> None:
        """Have the last call answered."""
        while self._pending:
            try:
                await self._step(session)
            except Lost:
                await asyncio.sleep(PAUSE_S)

    def new_request(self) -> str:
        """A request id."""
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    async def _step(self, session: Session) -> None:
        operation = self._pending = self._pending or self.draw()
        doing = "replays" if operation.was_sent else self.name
        self.world.issue(operation)
        with session.doing(doing):
            try:
                calls = session.stub(self.tenant)
                answer = await calls.call(operation.method, operation.request)
            except grpc.aio.AioRpcError as error:
                self._pending = None
                self.world.refused(operation, error.code(), error.details() or "")
                return
        self._pending = None
        self.learn(operation, answer)
        if getattr(operation.request, "request_id", ""):
            self._answered.append((operation, answer))
        await self.check(operation, answer, session)

    async def _replay_answered(self, session: Session) -> None:
        """An answered request that comes once more: the same answer, and nothing happens."""
        operation, answer = self.rng.choice(self._answered)
        self.world.counts["late replays"] += 1
        self.world.note(operation, "sent again though answered")
        calls = session.stub(self.tenant)
        again: Any = None
        with suppress(grpc.aio.AioRpcError):
            again = await calls.call(operation.method, operation.request)
        if again != answer:
            told = f"{operation.name}: a replay of what was answered differs"
            raise self.world.violation(told, operation.ids, answer, again)
