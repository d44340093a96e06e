"""A real OpenSearch as a process on loopback, for tests and for developers."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.engines.leash import leashed
from support.engines.notes import EngineBroken, EngineMissing
from support.engines.opensearch_jars import SOURCES, VERSION, jars

__all__ = [
    "VERSION",
    "EngineMissing",
    "LocalNode",
    "NotStarted",
    "running_node",
    "running_opensearch",
]

START_S = 90.0
TAIL_LINES = 30
JAVA_LEAST = 17


class NotStarted(EngineBroken):
    """OpenSearch was there and did not become healthy; the message ends with its log's tail."""


@dataclass(frozen=True, slots=True)
class LocalNode:
    """A node that answers: its address, its process and its folder."""

    url: str
    process: subprocess.Popen[bytes]
    folder: Path


def java() -> str:
    """The path of a Java that can run a source file.

    Raises:
        EngineMissing: There is none, or it is too old, or it is only a runtime.
    """
    path = shutil.which("java")
    if path is None:
        raise EngineMissing("java is not installed")
    told = subprocess.run([path, "--list-modules"], capture_output=True, text=True, check=False)
    modules = dict(line.partition("@")[::2] for line in told.stdout.splitlines())
    if "jdk.compiler" not in modules:
        raise EngineMissing("java is only a runtime (JRE); a JDK is needed")
    if int(modules["jdk.compiler"].split(".")[0].split("-")[0]) < JAVA_LEAST:
        raise EngineMissing(f"java is older than {JAVA_LEAST}")
    return path


def spawn(folder: Path, port: int = 0, *, daemon: bool = False) -> subprocess.Popen[bytes]:
    """Start a node; its output goes to opensearch.log in the folder.

    Args:
        folder: An existing folder for its data and its log.
        port: Of HTTP on 127.0.0.1; 0 takes a free one.
        daemon: Whether it lives on when its terminal closes.

    Raises:
        EngineMissing: Java, Maven or the jars can't be had.
    """
    options = ["-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "-Dlog4j2.level=INFO"]
    # The first compiler alone halves the work of a start; only who stays gains from the second.
    hurry = [] if daemon else ["-XX:TieredStopAtLevel=1"]
    command = [java(), *options, *hurry, "-cp", f"{jars()}/*"]
    (folder / "logs" / "http.ports").unlink(missing_ok=True)
    with (folder / "opensearch.log").open("wb") as log:
        return subprocess.Popen(
            [*command, str(SOURCES / "LocalNode.java"), str(folder), str(port)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=daemon,
        )


def healthy(folder: Path) -> str:
    """The node's address once it answers and its cluster is formed; empty until then."""
    import httpx  # where a node really runs; every run of tests loads this module

    ports = folder / "logs" / "http.ports"
    if not ports.exists():
        return ""
    url = f"http://{ports.read_text().split()[0]}"
    try:
        answer = httpx.get(f"{url}/_cluster/health", trust_env=False, timeout=5.0)
    except httpx.HTTPError:
        return ""
    return url if answer.is_success and answer.json()["status"] != "red" else ""


def lines(log: Path) -> list[str]:
    """The lines of a log."""
    return log.read_text(errors="replace").splitlines()


def await_healthy(folder: Path, process: subprocess.Popen[bytes]) -> str:
    """Wait until a node is healthy, and give its address.

    Raises:
        NotStarted: It ended, or wasn't healthy within `START_S` seconds.
    """
    until = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < until:
        if url := healthy(folder):
            return url
        time.sleep(0.05)
    log = [line for line in lines(folder / "opensearch.log") if not line.startswith("\tat ")]
    code = process.poll()
    what = f"not healthy in {START_S:.0f} s" if code is None else f"ended with {code}"
    raise NotStarted("\n".join([what, *log[-TAIL_LINES:]]))


@contextmanager
def running_node() -> Iterator[LocalNode]:
    """Give a node with a folder of its own, in memory where that is possible.

    Raises:
        EngineMissing: Java, Maven or the jars can't be had.
        NotStarted: It did not become healthy.
    """
    memory = Path("/dev/shm")  # noqa: S108 - the folder made in it is private
    place = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        process = spawn(folder)
        with leashed(process, folder):
            yield LocalNode(await_healthy(folder, process), process, folder)


@contextmanager
def running_opensearch() -> Iterator[str]:
    """Give the address of a node of its own: http://127.0.0.1:PORT.

    Raises:
        EngineMissing: Java, Maven or the jars can't be had.
        NotStarted: It did not become healthy.
    """
    with running_node() as node:
        yield node.url
