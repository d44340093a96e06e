"""Follows indexes that are being built until they answer.

The service builds; what is here only looks, and says when to switch. So it may end at any moment,
and whoever looks next goes on.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hilvan_client.cli.index_views import index_name
from hilvan_client.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    Overloaded,
    Unavailable,
)

if TYPE_CHECKING:
    from hilvan.common.v1.entry_pb2 import Source
    from hilvan.retrieval.v1.retrieval_service_pb2 import IndexState
    from hilvan_client import Hilvan

# At most so many writes behind, the service lets an index answer; it has the last word.
_CAUGHT_UP = 256
# A replica looks every 2 s which indexes there are: one that does not know ours may be late.
_UNKNOWN_SECONDS = 10.0
_PAUSE_FIRST, _PAUSE_MOST = 0.1, 2.0
_PASSING = (Unavailable, DeadlineExceeded, Overloaded)


@dataclass(slots=True)
class Build:
    """An index that is being built, as it was last seen.

    ``trouble`` says why it can't answer. The moments are on the monotonic clock.
    """

    index: "IndexState"
    seen: float
    moved: float
    switched: bool = False
    trouble: str = ""
    refusal: str = ""

    @property
    def name(self) -> str:
        """Such as ``vector.2``."""
        return index_name(self.index)

    @property
    def is_open(self) -> bool:
        """Whether there is something to wait for."""
        return not self.switched and not self.trouble

    def look(self, index: "IndexState") -> None:
        """Take note of it as it is now."""
        from hilvan.retrieval.v1 import retrieval_service_pb2 as pb

        self.seen = time.monotonic()
        if _marks(index) != _marks(self.index):
            self.moved = self.seen
        self.index = index
        is_full = index.filled_share >= 1 and not index.pending_count
        if index.state == pb.GENERATION_STATE_LIVE:
            self.switched = True
        elif index.state != pb.GENERATION_STATE_BUILDING:
            self.trouble = "it was switched to, and back"
        elif is_full and index.parked_count:
            self.trouble = f"{index.parked_count} entries could not be written to it"

    def is_late(self, patience: float) -> bool:
        """Whether it has not moved for that many seconds."""
        return time.monotonic() - self.moved > patience


async def begin(hilvan: "Hilvan", asked: "Sequence[Source.ValueType]") -> list[Build]:
    """Begin indexes of these sources, or go on with those of them that are being built.

    Where one is being built, the others are not begun: a run that was cut may have switched them.
    """
    from hilvan.retrieval.v1 import retrieval_service_pb2 as pb

    state = await hilvan.retrieval.GetIndexState(pb.GetIndexStateRequest())
    building = [
        index.source for index in state.indexes if index.state == pb.GENERATION_STATE_BUILDING
    ]
    sources = [source for source in asked if source in building] or asked
    request = pb.ReindexRequest(step=pb.REINDEX_STEP_BEGIN, sources=sources)
    answer = await hilvan.retrieval.Reindex(request)
    now = time.monotonic()
    return [
        Build(index, now, now)
        for index in answer.indexes
        if index.source in sources and index.state == pb.GENERATION_STATE_BUILDING
    ]


async def follow(
    hilvan: "Hilvan",
    builds: Sequence[Build],
    patience: float,
    show: "Callable[[IndexState], None]",
) -> None:
    """Look until each build answers or has trouble, and switch to those that have caught up.

    ``patience`` is in seconds without any progress. A service that is away is waited for so long;
    then its error is raised.
    """
    import asyncio

    pause = _PAUSE_FIRST
    while waiting := [build for build in builds if build.is_open]:
        try:
            found = await _states(hilvan)
        except _PASSING:
            if all(build.is_late(patience) for build in waiting):
                raise
        else:
            for build in waiting:
                await _advance(hilvan, build, found.get(build.name), patience)
                show(build.index)
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _PAUSE_MOST)


async def _states(hilvan: "Hilvan") -> "dict[str, IndexState]":
    from hilvan.retrieval.v1.retrieval_service_pb2 import GetIndexStateRequest

    state = await hilvan.retrieval.GetIndexState(GetIndexStateRequest())
    return {index_name(index): index for index in state.indexes}


async def _advance(
    hilvan: "Hilvan", build: Build, index: "IndexState | None", patience: float
) -> None:
    if index is None:
        if time.monotonic() - build.seen > min(_UNKNOWN_SECONDS, patience):
            build.trouble = "the service does not know it any more: was it dropped?"
        return
    build.look(index)
    if build.is_open and index.filled_share >= 1 and index.pending_count <= _CAUGHT_UP:
        await _switch(hilvan, build)
    if build.is_open and build.is_late(patience):
        build.trouble = build.refusal or f"it has not moved for {patience:g} s"


async def _switch(hilvan: "Hilvan", build: Build) -> None:
    """Try to. Where the answer is lost, the next look tells."""
    from hilvan.retrieval.v1 import retrieval_service_pb2 as pb

    request = pb.ReindexRequest(step=pb.REINDEX_STEP_SWITCH, sources=[build.index.source])
    try:
        await hilvan.retrieval.Reindex(request)
    except (FailedPrecondition, *_PASSING) as error:
        build.refusal = str(error)
    else:
        build.switched = True


def _marks(index: "IndexState") -> tuple[float, int, int]:
    return index.filled_share, index.pending_count, index.document_count
