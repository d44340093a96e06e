"""Asks the other services: at the same time, and early enough to still answer."""

import asyncio
import time
from collections.abc import Awaitable
from typing import Any, TypeVar

from hilvan_assembler.errors import ServiceError, ServiceTimeout
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.kind import PartStatus
from hilvan_kit.deadlines import Deadline

RESERVE_SECONDS = 0.015
RESERVE_SHARE = 0.2
"""What an answer without the other services takes: rendering cold, and the way back. Of a short
deadline a share, so that something is left to ask with."""

T = TypeVar("T")


async def together(*asked: Awaitable[Any]) -> list[Any]:
    """The results in order. When one fails the others end before its exception is raised."""
    tasks = [asyncio.ensure_future(each) for each in asked]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def early(deadline: Deadline) -> Deadline:
    """The deadline of what an answer can do without."""
    reserve = min(RESERVE_SECONDS, RESERVE_SHARE * deadline.remaining())
    return Deadline(deadline.at - reserve, deadline.clock)


def lost(error: ServiceError) -> Degradation:
    """What an answer without a service says of it."""
    late = isinstance(error, ServiceTimeout)
    return Degradation(error.service, PartStatus.TIMEOUT if late else PartStatus.UNAVAILABLE)


async def timed(asked: Awaitable[T], stage: str, timings: dict[str, float]) -> T:
    """What was asked for; notes the seconds that it took, also when it fails."""
    started = time.perf_counter()
    try:
        return await asked
    finally:
        timings[stage] = time.perf_counter() - started
