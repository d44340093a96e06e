"""`hilvan dev up` and `down`, with small programs that stand where the services would."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hilvan_client.cli import dev_state
from hilvan_client.cli.main import app
from hilvan_client.service_config import Service

Run = Callable[..., Result]

# `up` forgets the processes that it leaves running, as it should.
pytestmark = pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")


# Does what the processes of Hilvan promise: a ready file, health, and a stop on SIGTERM.
PROGRAM = """
import json, os, signal, sys
from concurrent.futures import ThreadPoolExecutor
import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

name = "{service}"
setting = lambda key: os.environ.get(f"HILVAN_{{name.upper()}}_{{key}}", "")
print(name, "with", setting("RETRIEVAL_TARGET"), setting("CURATION_TARGET"), flush=True)
if os.environ.get("BREAK") == name:
    sys.exit("no model in that folder")
server = grpc.server(ThreadPoolExecutor(1))
checks = health.HealthServicer()
health_pb2_grpc.add_HealthServicer_to_server(checks, server)
full = f"hilvan.{{name}}.v1.{{name.capitalize()}}Service"
checks.set(full, health_pb2.HealthCheckResponse.SERVING)
port = server.add_insecure_port(setting("LISTEN"))
server.start()
signal.signal(signal.SIGTERM, lambda *_: server.stop(0))
draft = setting("READY_FILE") + ".new"
with open(draft, "w") as file:
    json.dump({{"address": f"127.0.0.1:{{port}}", "pid": os.getpid()}}, file)
os.rename(draft, setting("READY_FILE"))
server.wait_for_termination()
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `hilvan dev` with those programs and a home of its own."""
    for service in Service:
        package = tmp_path / "programs" / f"hilvan_{service}"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "main.py").write_text(PROGRAM.format(service=service))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "programs"))
    for name in os.environ:
        if name.startswith("HILVAN_"):
            monkeypatch.delenv(name)
    home = str(tmp_path / "home")
    return lambda *words: CliRunner().invoke(app, ["--home", home, "dev", *words])


def test_up_twice_and_down(run: Run, tmp_path: Path) -> None:
    """Services start in order, know each other, are left alone by a second `up`, and stop."""
    first = json.loads(run("up", "--ports", "0", "--json").stdout)["services"]
    try:
        assert [item["health"] for item in first] == ["SERVING"] * 3
        second = json.loads(run("up", "--ports", "0", "--json").stdout)["services"]
        assert second == first
        status = run("status")
        assert status.exit_code == 0
        assert first[0]["address"] in status.stdout
        log = (tmp_path / "home" / "logs" / "assembler.log").read_text()
        assert f"with {first[0]['address']} {first[1]['address']}" in log
    finally:
        down = run("down", "--json")
    assert json.loads(down.stdout) == {
        "stopped": ["assembler", "curation", "retrieval"],
        "killed": [],
    }
    assert not any(
        dev_state.is_running(service, item["pid"])
        for service, item in zip(Service, first, strict=True)
    )
    assert run("status").exit_code == 7


def test_up_mends_a_half_stopped_system(run: Run) -> None:
    """When one service is gone, all are started anew, so that addresses fit together."""
    first = json.loads(run("up", "--ports", "0", "--json").stdout)["services"]
    try:
        os.kill(first[1]["pid"], 9)
        second = json.loads(run("up", "--ports", "0", "--json").stdout)["services"]
        assert [item["health"] for item in second] == ["SERVING"] * 3
        assert {item["pid"] for item in first}.isdisjoint(item["pid"] for item in second)
    finally:
        run("down")


def test_a_failed_start_shows_its_log_and_leaves_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of the failing log and what to do are on stderr; what had started is stopped."""
    monkeypatch.setenv("BREAK", "curation")
    done = run("up", "--ports", "0")
    assert (done.exit_code, done.stdout) == (7, "")
    assert "curation ended with code 1" in done.stderr
    assert "no model in that folder" in done.stderr
    assert str(tmp_path / "home" / "logs" / "curation.log") in done.stderr
    assert "run `hilvan dev up` again" in done.stderr
    assert dev_state.load(tmp_path / "home") == {}
    ready = json.loads((tmp_path / "home" / "ready" / "retrieval.json").read_text())
    assert not dev_state.is_running(Service.RETRIEVAL, ready["pid"])
