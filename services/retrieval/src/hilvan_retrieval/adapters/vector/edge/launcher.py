"""Starts the engine process beside a service, and keeps it running."""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Self

import structlog

from hilvan_retrieval.errors import EngineMisconfigured, SourceUnavailable

_GRACE_S = 10.0  # the engine writes everything to disk before it goes
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 2.0
_STABLE_S = 30.0  # a process that lived this long is not one that fails at start

_log = structlog.get_logger(__name__)


class EdgeProcess:
    """One engine process: restarted when it dies, gone when this process is gone.

    ``target`` is the gRPC address for `QdrantIndex`; it stays the same over restarts.
    """

    def __init__(self, path: Path, ready_timeout: float) -> None:
        """Choose an address; `start` makes a running one."""
        self._path = path
        self._ready_timeout = ready_timeout
        # A socket's path may have 108 bytes, so it is not beside the data; mkdtemp gives 0700.
        self._runtime = tempfile.mkdtemp(prefix="hilvan-")
        self.target = f"unix:{self._runtime}/engine.sock"
        self._process: Process | None = None
        self._supervisor: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, path: Path, *, ready_timeout: float = 60.0) -> Self:
        """Start the engine on the folder ``path`` and return when it serves.

        Raises:
            EngineMisconfigured: the folder can't be opened; the message says why.
            SourceUnavailable: the process ended, or did not serve within ``ready_timeout``.
        """
        engine = cls(path, ready_timeout)
        try:
            await engine._spawn()
        except BaseException:
            await engine.close()
            raise
        engine._supervisor = asyncio.create_task(engine._supervise())
        return engine

    @property
    def pid(self) -> int:
        """The number of the current process."""
        if self._process is None:
            raise SourceUnavailable("the vector engine is not started")
        return self._process.pid

    async def close(self) -> None:
        """Stop the engine after it has written everything; may be called twice."""
        if self._supervisor:
            self._supervisor.cancel()
            await asyncio.gather(self._supervisor, return_exceptions=True)
            self._supervisor = None
        await self._stop()
        shutil.rmtree(self._runtime, ignore_errors=True)

    async def _spawn(self) -> None:
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "hilvan_retrieval.adapters.vector.edge"),
            *("--path", str(self._path), "--address", self.target, "--with-parent"),
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # a Ctrl-C is for the service, which stops the engine last
        )
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        try:
            line = await asyncio.wait_for(process.stdout.readline(), self._ready_timeout)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise SourceUnavailable(
                f"the vector engine did not serve within {self._ready_timeout:g} s"
            ) from None
        word, _, reason = line.decode(errors="replace").strip().partition(" ")
        if word == "failed":
            raise EngineMisconfigured(
                f"the vector engine can't open {self._path}: {reason}. Stop what else uses the "
                "folder; if it is damaged, move it away and run `hilvan reindex`."
            )
        if word != "serving":
            raise SourceUnavailable("the vector engine ended before it served")

    async def _supervise(self) -> None:
        pause = _FIRST_PAUSE_S
        while process := self._process:
            started = time.monotonic()
            code = await process.wait()
            if time.monotonic() - started >= _STABLE_S:
                pause = _FIRST_PAUSE_S
            _log.warning("vector engine ended, starting it again", exit_code=code, pause_s=pause)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)
            try:
                await self._spawn()
            except (EngineMisconfigured, SourceUnavailable, OSError) as error:
                _log.error("vector engine did not start", error=str(error))

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _GRACE_S)
        except TimeoutError:
            process.kill()
            await process.wait()
