"""A real OpenSearch for developers: `make opensearch-up`, `make opensearch-down`.

`up` starts a node in `.hilvan/opensearch` that outlives the terminal and prints its address;
`down` stops it and leaves its data. `lock` writes the hashes of the jars after a change of
`deploy/opensearch-local/pom.xml`.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from support.engines.notes import EngineBroken, EngineMissing
from support.engines.opensearch_jars import LOCK, download, hashes
from support.engines.opensearch_process import NotStarted, await_healthy, healthy, spawn

FOLDER = Path(".hilvan") / "opensearch"
PORT = 9200
STOP_S = 30.0


def running() -> int:
    """The pid of the node in the folder; 0 when none runs."""
    try:
        pid = int((FOLDER / "pid").read_text())
    except FileNotFoundError:
        return 0
    told = subprocess.run(  # noqa: S603 (a number of ours)
        ["ps", "-ww", "-o", "command=", "-p", str(pid)],  # noqa: S607 (wherever the system has it)
        capture_output=True,
        text=True,
        check=False,
    )
    return pid if "LocalNode.java" in told.stdout else 0


def up() -> str:
    """Start a node unless one runs, and give its address."""
    if running() and (url := healthy(FOLDER)):
        return f"OpenSearch is at {url} already"
    FOLDER.mkdir(parents=True, exist_ok=True)
    process = spawn(FOLDER, PORT, daemon=True)
    (FOLDER / "pid").write_text(str(process.pid))
    try:
        return f"OpenSearch is at {await_healthy(FOLDER, process)}"
    except NotStarted:
        process.kill()
        raise


def down() -> str:
    """Stop the node, by SIGKILL when SIGTERM doesn't help in time."""
    if not (pid := running()):
        return "OpenSearch doesn't run"
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + STOP_S
        while time.monotonic() < until:
            os.kill(pid, 0)
            time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)
    (FOLDER / "pid").unlink()
    return "OpenSearch is stopped"


def lock() -> str:
    """Write what Maven brings now into the lock."""
    with tempfile.TemporaryDirectory() as folder:
        download(Path(folder))
        lines = [f"{digest}  {name}\n" for name, digest in hashes(Path(folder)).items()]
    LOCK.write_text("".join(lines), encoding="utf-8")
    return f"{len(lines)} jars"


COMMANDS: Mapping[str, Callable[[], str]] = {"up": up, "down": down, "lock": lock}


def main() -> None:
    """Run the command that is named."""
    command = COMMANDS.get(" ".join(sys.argv[1:]))
    if command is None:
        sys.exit(f"usage: opensearch.py {'|'.join(COMMANDS)}")
    try:
        print(command())
    except (EngineMissing, EngineBroken) as error:
        sys.exit(f"OpenSearch: {error}")


if __name__ == "__main__":
    main()
