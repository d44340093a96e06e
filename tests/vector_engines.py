"""Where tests keep the files of the vector engine, and how they wait for it."""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hilvan_retrieval.errors import SourceError

PATIENCE_S = 30.0


@contextmanager
def engine_folder() -> Iterator[Path]:
    """Give an empty folder, in memory where that is possible.

    A new collection syncs its files a dozen times, and what survives a kill is no question of
    the disk.
    """
    memory = Path("/dev/shm")  # noqa: S108 - the folder made in it is private
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - the state is another process's
            await asyncio.sleep(0.01)


async def until_answered(call: Callable[[], Awaitable[object]]) -> None:
    """Wait until a call raises no SourceError."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await call()
            except SourceError:
                await asyncio.sleep(0.02)
            else:
                return


async def until_refused(call: Callable[[], Awaitable[object]]) -> SourceError:
    """Wait until a call raises a SourceError, and give it."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await call()
            except SourceError as error:
                return error


def lives(pid: int) -> bool:
    """Tell whether a process runs; one that is dead and not yet collected doesn't."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
