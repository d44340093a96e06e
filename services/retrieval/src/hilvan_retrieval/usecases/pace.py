"""Work in the background that leaves the machine to others."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

LONGEST_PAUSE_SECONDS = 5.0

T = TypeVar("T")


class Pace:
    """Leaves the machine to others for a share of the time."""

    def __init__(
        self,
        share: float = 0.5,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """``share`` of the time is worked, above 0 and at most 1: with 0.5 as much is slept."""
        self._rest = 1 / share - 1
        self._clock = clock
        self._sleep = sleep

    async def __call__(self, work: Awaitable[T]) -> T:
        """Do a piece of the work, then rest for as long as it is due."""
        begin = self._clock()
        result = await work
        pause = (self._clock() - begin) * self._rest
        await self._sleep(min(pause, LONGEST_PAUSE_SECONDS))
        return result
