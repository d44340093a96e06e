"""Starting and stopping the three services as processes of their own."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hilvan_client.cli import dev_state
from hilvan_client.cli.dev_state import Process
from hilvan_client.cli.output import Code, CommandError
from hilvan_client.service_config import Service

# The first start of retrieval loads an embedding model and may build indexes.
START_TIMEOUT = 120.0
# Draining, the last calls and the last writes; longer than the services' own grace.
STOP_TIMEOUT = 20.0
_POLL = 0.05
_TAIL_LINES = 20


@dataclass(frozen=True, slots=True)
class Launch:
    """What the processes are started with: listen addresses by service, and folders."""

    home: Path
    listen: Mapping[Service, str]
    vault_roots: tuple[Path, ...]
    model_dir: Path | None


def environment(
    launch: Launch, service: Service, upstream: Mapping[Service, str]
) -> dict[str, str]:
    """The settings of one service; ``upstream`` are the addresses of those that run already."""
    prefix = f"HILVAN_{service.upper()}"
    settings = {
        "HILVAN_AUTH_MODE": "development",
        f"{prefix}_LISTEN": launch.listen[service],
        f"{prefix}_READY_FILE": str(ready_file(launch.home, service)),
    }
    if service is not Service.ASSEMBLER:  # which keeps nothing
        settings[f"{prefix}_DATA_DIR"] = str((launch.home / service).absolute())
    if service is Service.RETRIEVAL and launch.model_dir:
        settings[f"{prefix}_MODEL_DIR"] = str(launch.model_dir.absolute())
    if service is Service.CURATION:
        roots = (str(root.absolute()) for root in launch.vault_roots)
        settings[f"{prefix}_VAULT_ROOTS"] = os.pathsep.join(roots)
    for other, address in upstream.items():
        settings[f"{prefix}_{other.upper()}_TARGET"] = address
    return settings


def ready_file(home: Path, service: Service) -> Path:
    """Where a service says that it serves."""
    return (home / "ready" / f"{service}.json").absolute()


def start(launch: Launch, service: Service, upstream: Mapping[Service, str]) -> Process:
    """Start a service and wait until it says that it serves.

    Raises:
        CommandError: it ended, or did not get ready in time; with the tail of its log. It runs
            no more then.
    """
    import subprocess

    ready, log = ready_file(launch.home, service), launch.home / "logs" / f"{service}.log"
    for folder in (ready.parent, log.parent, launch.home / service):
        folder.mkdir(parents=True, exist_ok=True)
    ready.unlink(missing_ok=True)
    with log.open("wb") as output:
        child = subprocess.Popen(  # noqa: S603 - our own modules
            [sys.executable, "-m", f"hilvan_{service}.main"],
            env={**os.environ, **environment(launch, service, upstream)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that Ctrl-C here does not end it
        )
    try:
        _wait(lambda: _is_ready(ready, child.pid) or child.poll() is not None, START_TIMEOUT)
    except BaseException:
        child.kill()
        raise
    if _is_ready(ready, child.pid):
        address = str(json.loads(ready.read_text(encoding="utf-8"))["address"])
        return Process(child.pid, address, str(log))
    ended = child.poll()
    child.kill()
    child.wait()
    what = (
        f"is not ready after {START_TIMEOUT:.0f} s" if ended is None else f"ended with code {ended}"
    )
    raise CommandError(
        f"{service} {what}; the end of {log}:\n{tail(log)}",
        f"put right what the log says and run `hilvan dev up` again; whole log: {log}",
        Code.UNREACHABLE,
    )


def stop(service: Service, process: Process, timeout: float = STOP_TIMEOUT) -> bool:
    """Stop a service; False when it had to be killed, True also when it did not run."""
    if not dev_state.is_running(service, process.pid):
        return True
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
    if _wait(lambda: not dev_state.is_running(service, process.pid), timeout):
        return True
    with suppress(ProcessLookupError):
        # Its whole session, so that an engine that it started does not stay behind.
        os.killpg(process.pid, signal.SIGKILL)
    _wait(lambda: not dev_state.is_running(service, process.pid), timeout)
    return False


def tail(log: Path, lines: int = _TAIL_LINES) -> str:
    """The last lines of a log."""
    text = log.read_bytes()[-64_000:].decode("utf-8", "replace")
    return "\n".join(text.splitlines()[-lines:]) or "(nothing was logged)"


def _is_ready(path: Path, pid: int) -> bool:
    try:
        return bool(json.loads(path.read_text(encoding="utf-8"))["pid"] == pid)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _wait(done: Callable[[], bool], timeout: float) -> bool:
    """Whether it was done in time."""
    deadline = time.monotonic() + timeout
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True
