"""The images run: the health check against a real process, and whole containers under Docker."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

import pytest
from support.deploy.deployment import DOCKERFILE, SETTINGS
from support.paths import ROOT

SERVICES = sorted(SETTINGS)
HEALTH = ROOT / "deploy/images/health.py"
BUILD_SECONDS = 1200


def environment(**variables: str) -> dict[str, str]:
    """This process's own, without its variables of Hilvan."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HILVAN_")}
    return kept | variables


def health(address: str) -> "subprocess.CompletedProcess[str]":
    """What the images' health check says of an assembler."""
    return subprocess.run(
        [sys.executable, HEALTH, "assembler"],
        env=environment(HILVAN_ASSEMBLER_LISTEN=address),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@contextmanager
def assembler(folder: Path) -> Iterator[str]:
    """The address of a running assembler with credentials."""
    ready, keys = folder / "ready.json", folder / "keys.yaml"
    keys.write_text("[]")
    variables = environment(
        HILVAN_AUTH_MODE="credentials",
        HILVAN_AUTH_API_KEYS_FILE=str(keys),
        HILVAN_ASSEMBLER_LISTEN="127.0.0.1:0",
        HILVAN_ASSEMBLER_READY_FILE=str(ready),
        HILVAN_ASSEMBLER_DRAIN_SECONDS="0",
    )
    with subprocess.Popen(
        [sys.executable, "-m", "hilvan_assembler.main"], env=variables
    ) as process:
        try:
            end = time.monotonic() + 60
            while not ready.exists():
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.02)
            yield str(json.loads(ready.read_text())["address"])
        finally:
            process.terminate()


def test_the_health_check_tells_a_ready_service_from_none(tmp_path: Path) -> None:
    """It ends with 0 while the service is ready, without a credential, and else says why not."""
    with assembler(tmp_path) as address:
        port = address.rpartition(":")[2]
        found = health(f"0.0.0.0:{port}")
    lost = health(f"0.0.0.0:{port}")
    assert (found.returncode, found.stderr) == (0, "")
    assert (lost.returncode, lost.stderr.strip()) == (1, "UNREACHABLE")


def docker(*words: str, seconds: float = 60) -> str:
    """What a docker command prints; it must succeed."""
    done = subprocess.run(
        ["docker", *words], capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


@pytest.fixture(scope="module")
def images() -> Iterator[str]:
    """The tag under which the three images were built; skips where no Docker answers."""
    answer = shutil.which("docker") and subprocess.run(
        ["docker", "version"], capture_output=True, timeout=60, check=False
    )
    if not answer or answer.returncode:
        pytest.skip("no Docker engine answers: the images are not built here")
    tag = f"test-{token_hex(4)}"
    try:
        for service in SERVICES:
            docker(
                *("build", "--target", service, "--tag", f"hilvan-{service}:{tag}"),
                *("--file", str(DOCKERFILE), str(ROOT)),
                seconds=BUILD_SECONDS,
            )
        yield tag
    finally:
        for service in SERVICES:
            subprocess.run(
                ["docker", "image", "rm", f"hilvan-{service}:{tag}"],
                capture_output=True,
                timeout=60,
                check=False,
            )


@pytest.mark.timeout(3 * BUILD_SECONDS)
@pytest.mark.parametrize("service", SERVICES)
def test_an_image_serves_locked_down_and_drains(service: str, images: str, tmp_path: Path) -> None:
    """Read-only, without rights or network, its own check calls it healthy, and SIGTERM ends it."""
    (tmp_path / "keys.yaml").write_text("[]")
    tmp_path.chmod(0o755)
    container = docker(
        *("run", "--detach", "--read-only", "--cap-drop=ALL", "--network=none"),
        *("--security-opt=no-new-privileges", "--memory=1536m", "--pids-limit=256"),
        *("--tmpfs=/tmp", "--tmpfs=/data:mode=1777", f"--volume={tmp_path}:/etc/hilvan:ro"),
        *("--env=HILVAN_AUTH_API_KEYS_FILE=/etc/hilvan/keys.yaml", f"hilvan-{service}:{images}"),
    )
    try:
        end = time.monotonic() + 90
        while (state := docker("inspect", "--format={{.State.Health.Status}}", container)) != (
            "healthy"
        ):
            assert state == "starting", docker("logs", container)
            assert time.monotonic() < end, docker("logs", container)
            time.sleep(0.5)
        assert docker("inspect", "--format={{.Config.User}}", container) == "10001:10001"
        docker("stop", "--time=30", container)
        assert docker("inspect", "--format={{.State.ExitCode}}", container) == "0"
    finally:
        docker("rm", "--force", container)
