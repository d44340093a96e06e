"""A whole service as a process: started, told to stop, and what it says when it can't start."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

PROGRAM = [sys.executable, "-m", "hilvan_assembler.main"]


@dataclass(frozen=True, slots=True)
class Ended:
    """A service that ran and was told to stop."""

    ready: Mapping[str, object]
    pid: int
    health: int
    second: "subprocess.CompletedProcess[str]"
    code: int
    log: list[dict[str, object]]


def environment(**variables: str) -> dict[str, str]:
    """The environment of a service that nobody else's variables reach."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HILVAN_")}
    return kept | {"HILVAN_AUTH_MODE": "development"} | variables


def start_in_vain(**variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a service that can't start."""
    return subprocess.run(
        PROGRAM,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Start the assembler, ask for its health, start a second one on its port, send SIGTERM."""
    path = tmp_path_factory.mktemp("ready") / "ready.json"
    settings = environment(
        HILVAN_ASSEMBLER_LISTEN="127.0.0.1:0",
        HILVAN_ASSEMBLER_READY_FILE=str(path),
        HILVAN_ASSEMBLER_DRAIN_SECONDS="0",
    )
    with subprocess.Popen(PROGRAM, env=settings, stderr=subprocess.PIPE, text=True) as process:
        try:
            end = time.monotonic() + 60
            while not path.exists():
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.02)
            ready = json.loads(path.read_text())
            with grpc.insecure_channel(ready["address"]) as channel:
                health = health_pb2_grpc.HealthStub(channel).Check(
                    health_pb2.HealthCheckRequest(), timeout=10
                )
            second = start_in_vain(HILVAN_ASSEMBLER_LISTEN=ready["address"])
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()
    log = [json.loads(line) for line in errors.splitlines() if line.startswith("{")]
    return Ended(ready, process.pid, health.status, second, process.returncode, log)


def test_the_ready_file_tells_address_and_pid(ended: Ended) -> None:
    """The file has the port that was picked, which answers, and the process that has it."""
    assert not str(ended.ready["address"]).endswith(":0")
    assert ended.ready["pid"] == ended.pid
    assert ended.health == health_pb2.HealthCheckResponse.SERVING


def test_sigterm_ends_with_exit_code_0(ended: Ended) -> None:
    """A service that is told to stop stops, and its log says so."""
    assert ended.code == 0
    assert [line["event"] for line in ended.log] == ["serving", "stopping"]
    assert {line["service"] for line in ended.log} == {"assembler"}


def test_a_taken_port_is_one_line(ended: Ended) -> None:
    """A second service on the same port ends with code 1 and says which variable to change."""
    (said,) = [line for line in ended.second.stderr.splitlines() if line.startswith("hilvan-")]
    assert ended.second.returncode == 1
    assert said.startswith("hilvan-assembler: HILVAN_ASSEMBLER_LISTEN: can't listen on ")
    assert str(ended.ready["address"]) in said
    assert "Traceback" not in ended.second.stderr


def test_bad_settings_are_lines_without_a_traceback(tmp_path: Path) -> None:
    """Every bad variable has a line of its own; nothing is started."""
    done = start_in_vain(
        HILVAN_ASSEMBLER_LISTEN="nowhere",
        HILVAN_ASSEMBLER_DRAIN_SECONDS="soon",
        HILVAN_ASSEMBLER_READY_FILE=str(tmp_path / "ready"),
    )
    assert done.returncode == 1
    lines = done.stderr.removeprefix("hilvan-assembler: ").splitlines()
    assert {line.partition(": ")[0] for line in lines} == {
        "HILVAN_ASSEMBLER_LISTEN",
        "HILVAN_ASSEMBLER_DRAIN_SECONDS",
    }
    assert not (tmp_path / "ready").exists()
