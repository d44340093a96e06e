"""Starts retrieval again and again: imports it once, and forks a process for each start.

What is forked is the service as `python -m hilvan_retrieval.main` runs it, from its entry point
on; only the two seconds of imports before that are not repeated. It reads a line a command and
answers each with a line: {"start": environment} with the process id, {"wait": pid} with the exit
status once it has ended, {"poll": pid} with null while it has not.
"""

import ctypes
import importlib
import json
import os
import signal
import sys
import traceback
from typing import NoReturn

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>

LATE_IMPORTS = ("alembic.command", "aiosqlite", "asyncpg", "sqlalchemy.dialects.sqlite.aiosqlite")
"""What the service imports when it first needs it."""


def die_with_parent() -> None:
    """Leave no service behind, however the harness ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def become_service(environment: dict[str, str]) -> NoReturn:
    """Be the service until it ends; its errors go to the log that ``CRASH_LOG`` names."""
    status = 1
    try:
        die_with_parent()
        log = os.open(environment["CRASH_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDWR)
        for old, new in ((null, 0), (log, 1), (log, 2)):
            os.dup2(old, new)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv[1:] = []
        from hilvan_retrieval.main import main

        main()
        status = 0
    except SystemExit as error:
        print(error, file=sys.stderr, flush=True)  # noqa: T201 - this is its log
    except BaseException:  # noqa: BLE001 - a fork must never go on as its parent
        traceback.print_exc()
        sys.stderr.flush()
    os._exit(status)


def answer(command: dict[str, object]) -> object:
    """Do one command."""
    if "start" in command:
        pid = os.fork()
        if not pid:
            become_service(command["start"])  # type: ignore[arg-type]  # from JSON
        return pid
    is_poll = "poll" in command
    pid = int(str(command["poll" if is_poll else "wait"]))
    ended, status = os.waitpid(pid, os.WNOHANG if is_poll else 0)
    return os.waitstatus_to_exitcode(status) if ended else None


def serve() -> None:
    """Answer commands until the input ends."""
    die_with_parent()
    importlib.import_module("hilvan_retrieval.main")
    for name in LATE_IMPORTS:
        importlib.import_module(name)
    while line := sys.stdin.readline():
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
