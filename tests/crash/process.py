"""A retrieval process over one folder that is started and killed again and again."""

import asyncio
import json
import os
import random
import shutil
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

START_S = 60.0
ENGINE_GONE_S = 30.0
"""One that was only being started learns of it when it has its imports behind it."""
MODELS = ("hashing", "hashing-64")


class NotStarted(Exception):
    """The service ended by itself, or did not become ready."""


class Starter:
    """Talks to the process that forks services."""

    def __init__(self, process: Process) -> None:
        """Take a running one."""
        self._process = process
        self._turn = asyncio.Lock()

    async def ask(self, **command: object) -> int | None:
        """Send a command and give its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        async with self._turn:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            line = await self._process.stdout.readline()
        answer: int | None = json.loads(line)
        return answer


@asynccontextmanager
async def running_starter() -> AsyncIterator[Starter]:
    """Run a starter, and end it and what it started."""
    script = str(Path(__file__).with_name("starter.py"))
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, script, stdin=PIPE, stdout=PIPE, env=environment
    )
    try:
        yield Starter(process)
    finally:
        process.kill()
        await process.wait()


class Service:
    """The service of one folder; `start`, `ready`, `kill`, and again."""

    def __init__(self, folder: Path, starter: Starter, record_url: str = "") -> None:
        """Keep data, log and ready file in the folder; the record too, without an address."""
        self.folder = folder
        self._starter = starter
        self._record_url = record_url
        self._ready = folder / "ready"
        self._temporary = folder / "t"
        self.pid = 0

    async def start(self, rng: random.Random) -> None:
        """Fork the service; with either model as the one that a reindex goes over to."""
        self._ready.unlink(missing_ok=True)
        shutil.rmtree(self._temporary, ignore_errors=True)  # what killed ones left
        self._temporary.mkdir()
        model, following = rng.sample(MODELS, 2)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("HILVAN_")}
        environment = inherited | {
            "CRASH_LOG": str(self.folder / "service.log"),
            "TMPDIR": str(self._temporary),
            "HILVAN_AUTH_MODE": "development",
            "HILVAN_RETRIEVAL_LISTEN": "127.0.0.1:0",
            "HILVAN_RETRIEVAL_DATA_DIR": str(self.folder / "data"),
            "HILVAN_RETRIEVAL_RECORD_URL": self._record_url,
            "HILVAN_RETRIEVAL_EMBEDDER": model,
            "HILVAN_RETRIEVAL_NEXT_EMBEDDER": following,
            "HILVAN_RETRIEVAL_READY_FILE": str(self._ready),
            "HILVAN_RETRIEVAL_SOURCE_CAP_MS": "10000",
            "HILVAN_RETRIEVAL_LOG_LEVEL": "warning",
        }
        pid = await self._starter.ask(start=environment)
        assert pid
        self.pid = pid

    async def ready(self) -> str:
        """Wait until it serves, and give its address. Raises NotStarted."""
        until = time.monotonic() + START_S
        looks = 0
        while not self._ready.exists():
            await asyncio.sleep(0.01)
            looks += 1
            if looks % 20 == 0 and await self._starter.ask(poll=self.pid) is not None:
                self.pid = 0
                raise NotStarted("it ended by itself")
            if time.monotonic() > until:
                raise NotStarted(f"not ready within {START_S:.0f} s")
        address: str = json.loads(self._ready.read_text())["address"]
        return address

    async def kill(self) -> None:
        """Let it do nothing more, and wait until its engine is gone as well."""
        engines = self.engines()
        os.kill(self.pid, signal.SIGKILL)
        await self._starter.ask(wait=self.pid)
        self.pid = 0
        until = time.monotonic() + ENGINE_GONE_S
        while any(is_running(each) for each in engines):
            if time.monotonic() > until:
                raise NotStarted("the engine process outlived its service")
            await asyncio.sleep(0.002)

    def kill_engine(self) -> bool:
        """Kill the engine's process alone; whether there was one."""
        engines = self.engines()
        for each in engines:
            os.kill(each, signal.SIGKILL)
        return bool(engines)

    def engines(self) -> list[int]:
        """The processes that the service has started."""
        try:
            told = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        except OSError:
            return []
        return [int(each) for each in told.split()]

    def lose_index(self, rng: random.Random) -> None:
        """Remove what one embedded engine has, as a disk would that is replaced."""
        data = self.folder / "data"
        pattern = rng.choice(("keywords*", "vectors"))
        for each in data.glob(pattern):
            shutil.rmtree(each)

    def log_tail(self, lines: int = 30) -> str:
        """The end of what the services said."""
        log = self.folder / "service.log"
        text = log.read_text(errors="replace") if log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])


def is_running(pid: int) -> bool:
    """Whether a process is there that is no mere entry in a table."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}
