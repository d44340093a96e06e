"""What a server of `client_server` does and sees, as a test tells it."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.message import Message
from google.rpc import status_pb2
from grpc import aio

from hilvan.common.v1 import entry_pb2, report_pb2
from hilvan.common.v1.entry_pb2 import Entry
from hilvan.retrieval.v1 import retrieval_service_pb2 as retrieval

Context = aio.ServicerContext[Any, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a call is refused with."""

    code: grpc.StatusCode
    message: str = ""
    details: tuple[Message, ...] = ()

    async def send(self, context: Context) -> None:
        """End the call; with OK let it go on."""
        if self.code is grpc.StatusCode.OK:
            return
        packed = []
        for detail in self.details:
            packed.append(Packed())
            packed[-1].Pack(detail)
        status = status_pb2.Status(
            code=self.code.value[0], message=self.message, details=packed
        ).SerializeToString()
        trailer = (("grpc-status-details-bin", status),) if packed else ()
        await context.abort(self.code, self.message, trailer)


def index_state(
    source: entry_pb2.Source.ValueType, generation: int = 1, **values: Any
) -> retrieval.IndexState:
    """Make the state of an index, a live and whole one unless told otherwise."""
    base: dict[str, Any] = {
        "engine": "memory",
        "status": report_pb2.PART_STATUS_OK,
        "state": retrieval.GENERATION_STATE_LIVE,
        "filled_share": 1.0,
    }
    return retrieval.IndexState(source=source, generation=generation, **(base | values))


@dataclass(slots=True)
class Script:
    """How the server behaves, and what it saw."""

    refusals: list[Refusal] = field(default_factory=list)
    hang: bool = False
    entries: dict[str, Entry] = field(default_factory=dict)
    # Of an import: acknowledgements before each stream breaks; streams after those work.
    drops: list[int] = field(default_factory=list)
    end_early: bool = False
    called: asyncio.Event = field(default_factory=asyncio.Event)
    calls: list[str] = field(default_factory=list)
    remaining: list[float | None] = field(default_factory=list)
    metadata: list[dict[str, Any]] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    largest_window: int = 0
    # What GetIndexState answers, one after the other; the last one stays. Reindex repeats it.
    states: list[list[retrieval.IndexState]] = field(
        default_factory=lambda: [[index_state(entry_pb2.SOURCE_VECTOR)]]
    )
    told: list[retrieval.IndexState] = field(default_factory=list)
    # Of each CheckIndexes, its parts; of each Consolidate, its answers before the refusals.
    parts: list[list[retrieval.CheckIndexesResponse]] = field(default_factory=list)
    taken: list[retrieval.ConsolidateResponse] = field(default_factory=list)

    async def see(self, method: str, request: Any, context: Context) -> None:
        """Note a call, then refuse it or hang as told."""
        self.calls.append(method)
        self.called.set()
        self.requests.append(request)
        self.remaining.append(context.time_remaining())
        self.metadata.append(dict(context.invocation_metadata() or ()))
        if self.hang:
            await asyncio.Event().wait()
        if self.refusals:
            await self.refusals.pop(0).send(context)
