"""Ends another process when this one's standard input ends: leash.py PID SIGNAL FOLDER.

A test run that is killed can't clean up. The kernel closes its end of the pipe whatever happens,
so this process learns of it, ends the engine and removes the engine's folder.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE_S = 20.0


def end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """End a process of ours: by a signal, or by SIGKILL when that doesn't help in time."""
    process.send_signal(how)
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(PATIENCE_S)


@contextmanager
def leashed(
    process: subprocess.Popen[bytes], folder: Path, how: signal.Signals = signal.SIGTERM
) -> Iterator[None]:
    """Let a process end with this block or with this program, however this program ends.

    The folder is removed only when this program dies; otherwise it is the caller's.
    """
    words = [str(process.pid), str(int(how)), str(folder)]
    command = [sys.executable, "-S", str(Path(__file__)), *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as watcher:
        try:
            yield
        finally:
            end(process, how)
            watcher.kill()


def main(pid: int, how: int, folder: str) -> None:
    """Wait for the end of the input, then end the process and remove its folder."""
    sys.stdin.buffer.read()
    with suppress(ProcessLookupError):
        os.kill(pid, how)
        for _ in range(int(PATIENCE_S * 20)):
            time.sleep(0.05)
            os.kill(pid, 0)
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
