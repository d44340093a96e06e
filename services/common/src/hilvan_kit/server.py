"""A gRPC server's life: start, become ready, drain, stop.

Health has two names. `LIVENESS` says only that the loop runs. The services' own names and ``""``
are readiness: they ask the adapters again and again.
"""

import asyncio
import gc
import os
import signal
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from threading import Thread
from wsgiref.simple_server import WSGIServer

import grpc
import orjson
import structlog
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha import reflection
from prometheus_client import start_http_server

from hilvan_kit.calls import Guard, Guarded
from hilvan_kit.settings import ServerSettings, setting_error

LIVENESS = "liveness"
_YOUNG_OBJECTS = 20_000
READINESS_PERIOD_SECONDS = 1.0
MAX_MESSAGE_BYTES = 16 * 1024 * 1024

_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
_log = structlog.get_logger()

OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    # Clients come back and find new pods; see measured.md, section 1.
    ("grpc.max_connection_age_ms", 60_000),
    ("grpc.max_connection_age_grace_ms", 30_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.so_reuseport", 0),
)


class Server:
    """One service's gRPC server."""

    def __init__(
        self,
        settings: ServerSettings,
        servicers: Mapping[str, Callable[[grpc.aio.Server], None]],
        guards: Sequence[Guard],
        ping: Callable[[], Awaitable[None]],
    ) -> None:
        """``servicers`` are added under their names; ``ping`` raises while one can't serve."""
        self._settings = settings
        self._servicers = servicers
        self._names = (*servicers, "")
        self._guards = guards
        self._ping = ping
        self._health = HealthServicer()
        self._server: grpc.aio.Server | None = None
        self._readiness: asyncio.Task[None] | None = None
        self._metrics: tuple[WSGIServer, Thread] | None = None
        self.address = ""

    async def start(self) -> None:
        """Open the port, not ready; then keep readiness true to the adapters' pings.

        Raises SettingsError when a port can't be listened on; nothing is left open then.
        """
        # The servicer starts with "" SERVING: take that back before the port opens.
        await self._set(_NOT_SERVING)
        await self._health.set(LIVENESS, _SERVING)
        server = grpc.aio.server(interceptors=[Guarded(self._guards)], options=OPTIONS)
        for add_to in self._servicers.values():
            add_to(server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        reflection.enable_server_reflection(
            (
                *self._servicers,
                health_pb2.DESCRIPTOR.services_by_name["Health"].full_name,
                reflection.SERVICE_NAME,
            ),
            server,
        )
        try:
            self.address = self._listen(server)
            self._open_metrics()
            await server.start()
        except BaseException:
            self._close_metrics()
            await server.stop(None)
            raise
        self._server = server
        await self._check()
        self._readiness = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """NOT_SERVING, serve on while clients notice, then let running calls end."""
        if self._server is None:
            return
        if self._readiness is not None:
            self._readiness.cancel()
            # A check that is under way must not say SERVING again.
            await asyncio.gather(self._readiness, return_exceptions=True)
        await self._set(_NOT_SERVING)
        await asyncio.sleep(self._settings.drain_seconds)
        await self._server.stop(self._settings.stop_grace_seconds)
        self._server = None
        self._close_metrics()

    async def run(self) -> None:
        """Start, serve until SIGTERM or SIGINT, stop. Raises SettingsError as `start` does."""
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, stopped.set)
        await self.start()
        _calm_collector()
        _log.info("serving", address=self.address)
        try:
            if self._settings.ready_file is not None:
                self._write_ready_file(self._settings.ready_file)
            await stopped.wait()
        finally:
            _log.info("stopping")
            await self.stop()

    def _listen(self, server: grpc.aio.Server) -> str:
        """Bind, and tell the address with the real port."""
        listen = self._settings.listen
        try:
            port = server.add_insecure_port(listen)
        except RuntimeError as error:
            fault = f"can't listen on {listen}; is the address right, and the port free?"
            raise setting_error(self._settings, "listen", fault) from error
        host, _, _ = listen.rpartition(":")
        return listen if listen.startswith("unix:") else f"{host}:{port}"

    def _open_metrics(self) -> None:
        port = self._settings.metrics_port
        if not port:
            return
        try:
            page, thread = start_http_server(port, addr=self._settings.metrics_host)
        except OSError as error:
            fault = f"can't listen on port {port}: {error.strerror}"
            raise setting_error(self._settings, "metrics_port", fault) from error
        self._metrics = (page, thread)

    def _close_metrics(self) -> None:
        if self._metrics is not None:
            page, thread = self._metrics
            page.shutdown()
            page.server_close()
            thread.join()
            self._metrics = None

    def _write_ready_file(self, path: Path) -> None:
        content = orjson.dumps({"address": self.address, "pid": os.getpid()})
        try:
            with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                whole = Path(folder, path.name)
                whole.write_bytes(content)
                whole.replace(path)
        except OSError as error:
            fault = f"can't write {path}: {error.strerror}"
            raise setting_error(self._settings, "ready_file", fault) from error

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(READINESS_PERIOD_SECONDS)
            await self._check()

    async def _check(self) -> None:
        try:
            async with asyncio.timeout(READINESS_PERIOD_SECONDS):
                await self._ping()
        except Exception as error:  # noqa: BLE001 (whatever it is, the service is not ready)
            _log.warning("not ready", error=repr(error))
            await self._set(_NOT_SERVING)
        else:
            await self._set(_SERVING)

    async def _set(self, status: "health_pb2.HealthCheckResponse.ServingStatus") -> None:
        for name in self._names:
            await self._health.set(name, status)


def _calm_collector() -> None:
    """Leave what the start made out of garbage collection, and collect the rest less often.

    A call makes thousands of small objects that are no garbage cycles. By default they set off a
    collection each 700 objects, and now and then one of the whole heap: tens of milliseconds.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, 20, 50)
