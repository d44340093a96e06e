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

from hilvan_retrieval.adapters.vector.edge.server import OPTIONS, Engine, Methods
from hilvan_retrieval.adapters.vector.edge.store import FolderInUse, Store

_TICK_S = 0.25
_OPEN_FOR_S = 10.0  # how long a process that was killed may take to let go of the folder
_GRACE_S = 1.0
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def main() -> int:
    """Read the arguments and serve; the exit code is 0 after an orderly stop."""
    parser = argparse.ArgumentParser(prog="python -m hilvan_retrieval.adapters.vector.edge")
    parser.add_argument("--path", type=Path, required=True, help="folder of the collections")
    parser.add_argument(
        "--address", required=True, help="gRPC address: unix:/run/e.sock, or 127.0.0.1:0"
    )
    parser.add_argument("--with-parent", action="store_true", help="stop when stdin is closed")
    parser.add_argument("--api-key-file", type=Path, help="serve only calls with this key")
    parser.add_argument("--tls-cert", type=Path, help="serve TLS with this certificate (PEM)")
    parser.add_argument("--tls-key", type=Path, help="the certificate's private key (PEM)")
    arguments = parser.parse_args()
    if bool(arguments.tls_cert) != bool(arguments.tls_key):
        parser.error("--tls-cert and --tls-key go together")
    if arguments.with_parent:
        _die_with_parent()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(arguments))


async def _serve(arguments: argparse.Namespace) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if arguments.with_parent:
        loop.add_reader(sys.stdin.fileno(), _stop_at_end, loop, stop)
    try:
        store = await open_store(arguments.path, _OPEN_FOR_S)
    except Exception as error:  # noqa: BLE001 - the engine raises nothing narrower
        _report(f"failed {error}")
        return 1
    api_key = arguments.api_key_file.read_text().strip() if arguments.api_key_file else ""
    methods = Methods(Engine(store, version("qdrant-edge-py")), api_key)
    server = grpc.aio.server(options=OPTIONS)
    server.add_generic_rpc_handlers((methods,))
    port = _listen(server, arguments)
    await server.start()
    is_socket = arguments.address.startswith("unix:")
    _report("serving" if is_socket else f"serving {arguments.address.rpartition(':')[0]}:{port}")
    settling = loop.create_task(_settle(store))
    await stop.wait()
    settling.cancel()
    await server.stop(_GRACE_S)
    store.close()
    return 0


def _listen(server: grpc.aio.Server, arguments: argparse.Namespace) -> int:
    if not arguments.tls_cert:
        return server.add_insecure_port(arguments.address)
    pair = (arguments.tls_key.read_bytes(), arguments.tls_cert.read_bytes())
    return server.add_secure_port(arguments.address, grpc.ssl_server_credentials([pair]))


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
