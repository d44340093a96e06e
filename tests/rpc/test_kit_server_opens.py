"""What a server opens: port, metrics page, ready file; and how it says that it can't."""

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from grpc import aio
from grpc_health.v1 import health_pb2
from support.kit.life import Adapter, health, make, running, until_refused
from support.kit.server import call, until

from hilvan_kit.settings import SettingsError

SERVING = health_pb2.HealthCheckResponse.SERVING


def names_in(folder: Path) -> list[str]:
    """What is in a folder."""
    return [path.name for path in folder.iterdir()]


@pytest.mark.parametrize(
    ("setting", "variable"), [("listen", "LISTEN"), ("metrics_port", "METRICS_PORT")]
)
async def test_a_taken_port_is_a_setting_that_can_not_be_used(setting: str, variable: str) -> None:
    """One line that names the variable, and no server is left half open."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        value: Any = port if setting == "metrics_port" else f"127.0.0.1:{port}"
        server = make(Adapter().ping, **{setting: value})
        with pytest.raises(SettingsError) as caught:
            await server.start()
        await server.stop()
    (fault,) = caught.value.faults
    assert fault.startswith(f"HILVAN_KITTEST_{variable}: can't listen on ")
    assert str(port) in fault
    assert "\n" not in fault


async def test_an_address_of_another_machine_is_told_alike() -> None:
    """An address that is not this machine's is told by its variable too."""
    with pytest.raises(SettingsError, match="HILVAN_KITTEST_LISTEN: can't listen on 192"):
        await make(Adapter().ping, listen="192.0.2.1:0").start()


async def test_the_address_has_the_port_that_was_picked(tmp_path: Path) -> None:
    """Port 0 becomes a real one; a socket's path stays as it is."""
    for listen in ("127.0.0.1:0", f"unix:{tmp_path}/socket"):
        server = make(Adapter().ping, listen=listen)
        async with running(server) as channel:
            assert await call(channel, "unary_unary", "a") == "a"
        host, _, port = server.address.rpartition(":")
        if listen.startswith("unix"):
            assert server.address == listen
        else:
            assert host == "127.0.0.1"
            assert int(port) > 0


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
async def test_metrics_are_where_they_were_told_to_be_until_the_stop(host: str) -> None:
    """The Prometheus page is served while the server runs, and the port is free after."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port = probe.getsockname()[1]
    for _ in range(2):  # the second start finds the port free again
        async with running(make(Adapter().ping, metrics_port=port, metrics_host=host)):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
            page = await reader.read()
            writer.close()
            await writer.wait_closed()
        assert b"python_info" in page


async def test_a_ready_file_that_can_not_be_written_ends_the_server(tmp_path: Path) -> None:
    """The variable is named, the port is closed again, and no temporary file stays."""
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "missing" / "ready", tmp_path / "folder"):
        server = make(Adapter().ping, ready_file=path)
        with pytest.raises(SettingsError, match="HILVAN_KITTEST_READY_FILE: can't write"):
            await server.run()
        await until_refused(server.address)
    assert names_in(tmp_path) == ["folder"]


async def test_the_ready_file_is_replaced_whole(tmp_path: Path) -> None:
    """Readers see the old file or the new one; the new one has the address that answers."""
    path = tmp_path / "ready"
    path.write_text("old")
    server = make(Adapter().ping, ready_file=path)
    with path.open() as old:
        task = asyncio.create_task(server.run())
        await until(lambda: path.read_text() != "old")
        assert old.read() == "old"
    ready = json.loads(path.read_text())
    assert ready["address"] == server.address
    async with aio.insecure_channel(ready["address"]) as channel:
        assert await health(channel, "") == SERVING
    assert names_in(tmp_path) == ["ready"]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_refused(server.address)
