"""The engine process: serves one folder on one address until told to stop."""

import argparse
import asyncio
import ctypes
import os
import signal
import sys
import time
from importlib.metadata import version
from pathlib import Path

import grpc
import uvloop

from hilvan_retrieval.adapters.qdrant_edge.server import OPTIONS, Engine, Methods
from hilvan_retrieval.adapters.qdrant_edge.store import FolderInUse, Store

_TICK_S = 0.25
_OPEN_FOR_S = 10.0  # how long a process that was killed may take to let go of the folder
_GRACE_S = 1.0
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def main() -> int:
    """Read the arguments and serve; the exit code is 0 after an orderly stop."""
    parser = argparse.ArgumentParser(prog="python -m hilvan_retrieval.adapters.qdrant_edge")
    parser.add_argument("--path", type=Path, required=True, help="folder of the collections")
    parser.add_argument("--address", required=True, help="gRPC address, such as unix:/run/e.sock")
    parser.add_argument("--with-parent", action="store_true", help="stop when stdin is closed")
    arguments = parser.parse_args()
    if arguments.with_parent:
        _die_with_parent()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(arguments.path, arguments.address, arguments.with_parent))


async def _serve(path: Path, address: str, with_parent: bool) -> int:  # noqa: FBT001 - see main
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if with_parent:
        loop.add_reader(sys.stdin.fileno(), _stop_at_end, loop, stop)
    try:
        store = await open_store(path, _OPEN_FOR_S)
    except Exception as error:  # noqa: BLE001 - the engine raises nothing narrower
        _report(f"failed {error}")
        return 1
    server = grpc.aio.server(options=OPTIONS)
    server.add_generic_rpc_handlers((Methods(Engine(store, version("qdrant-edge-py"))),))
    server.add_insecure_port(address)
    await server.start()
    _report("serving")
    settling = loop.create_task(_settle(store))
    await stop.wait()
    settling.cancel()
    await server.stop(_GRACE_S)
    store.close()
    return 0


async def open_store(path: Path, patience: float) -> Store:
    """Open a folder, which a process that was just killed may hold for some moments yet.

    Raises `FolderInUse` when it is not free within ``patience`` seconds.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return Store(path)
        except FolderInUse:
            if time.monotonic() >= deadline:
                raise
        await asyncio.sleep(_TICK_S)


async def _settle(store: Store) -> None:
    while True:
        await asyncio.sleep(_TICK_S)
        store.settle(time.monotonic())


def _report(line: str) -> None:
    """Tell the launcher, which waits for one line."""
    print(line, flush=True)  # noqa: T201 - standard output is the channel to the launcher


def _stop_at_end(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        loop.remove_reader(sys.stdin.fileno())
        stop.set()


def _die_with_parent() -> None:
    """Ask Linux to kill this process when its parent is gone, even in the middle of a long call.

    Elsewhere the closed stdin does it, once the call is over.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
