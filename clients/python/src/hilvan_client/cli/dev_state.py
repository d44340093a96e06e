"""The file in which `hilvan dev up` leaves word of what it started."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from hilvan_client.service_config import Service


@dataclass(frozen=True, slots=True)
class Process:
    """A started service."""

    pid: int
    address: str
    log: str


def load(home: Path) -> dict[Service, Process]:
    """What was started, running or not; nothing when the file is missing or is not ours."""
    try:
        record = json.loads(_path(home).read_text(encoding="utf-8"))
        return {Service(name): Process(**process) for name, process in record.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def save(home: Path, processes: Mapping[Service, Process]) -> None:
    """Write the file, whole or not at all."""
    record = {service.value: asdict(process) for service, process in processes.items()}
    draft = _path(home).with_suffix(".draft")
    draft.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    draft.replace(_path(home))


def clear(home: Path) -> None:
    """Forget everything."""
    _path(home).unlink(missing_ok=True)


def is_running(service: Service, pid: int) -> bool:
    """Whether the process is there and is that service, and no later one with the same number."""
    return f"hilvan_{service}" in _command_line(pid)


def _path(home: Path) -> Path:
    return home / "dev.json"


def _command_line(pid: int) -> str:
    """The command line of a process; empty when there is none, or it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    if Path("/proc/self").exists():
        return ""
    import subprocess

    try:
        os.kill(pid, 0)
        done = subprocess.run(  # noqa: S603 - a fixed program, and the number of a process
            ["/bin/ps", "-o", "command=", "-p", str(pid)],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout
