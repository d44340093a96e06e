"""Servers in a thread of their own, for what runs a loop itself, such as the command."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class InThread(Generic[T]):
    """Something that lives in the loop of a thread of its own."""

    value: T
    loop: asyncio.AbstractEventLoop

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Do something in that loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout=60)


@contextmanager
def in_thread(opened: AbstractAsyncContextManager[T]) -> Iterator[InThread[T]]:
    """Open something in a thread, for callers that run loops of their own."""
    ready: Future[InThread[T]] = Future()
    ended = asyncio.Event()

    async def main() -> None:
        try:
            async with opened as value:
                ready.set_result(InThread(value, asyncio.get_running_loop()))
                await ended.wait()
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    thread = threading.Thread(target=asyncio.run, args=[main()])
    thread.start()
    try:
        running = ready.result(timeout=60)
        try:
            yield running
        finally:
            running.loop.call_soon_threadsafe(ended.set)
    finally:
        thread.join(timeout=60)
