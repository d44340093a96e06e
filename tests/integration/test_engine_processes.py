"""The processes that tests get their engines from: whole, alone, and gone with whoever began."""

import asyncio
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import httpx
import pytest
from support.engines import opensearch_jars
from support.engines.notes import EngineMissing
from support.engines.opensearch_process import NotStarted, await_healthy, java
from support.engines.postgres_process import running_server
from support.engines.vector import lives, until

TESTS = Path(__file__).resolve().parents[1]
ENDED_S = 60.0


@contextmanager
def parent(code: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program that starts an engine, prints its pid and folder, and waits to be killed."""
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        yield starter
        starter.kill()


def told(starter: subprocess.Popen[str]) -> tuple[int, Path]:
    """The pid and the folder that the program printed."""
    assert starter.stdout is not None
    pid, folder = starter.stdout.readline().split()
    return int(pid), Path(folder)


SLEEPER = """
import subprocess, sys, tempfile
from pathlib import Path
from support.engines.leash import leashed
folder = Path(tempfile.mkdtemp())
process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
with leashed(process, folder):
    print(process.pid, folder, flush=True)
    sys.stdin.read()
"""

OPENSEARCH = """
import sys
from support.engines.opensearch_process import running_node
with running_node() as node:
    print(node.process.pid, node.folder, flush=True)
    sys.stdin.read()
"""


async def test_a_leashed_process_dies_with_a_parent_that_is_killed() -> None:
    """SIGKILL gives the parent no chance to clean up, and nothing is left all the same."""
    with parent(SLEEPER) as starter:
        pid, folder = await asyncio.to_thread(told, starter)
        assert lives(pid)
        starter.kill()
        await until(lambda: not lives(pid) and not folder.exists())


async def test_a_leashed_process_ends_with_the_block() -> None:
    """Without a kill the parent ends it, and the folder stays the parent's."""
    with parent(SLEEPER) as starter:
        pid, folder = await asyncio.to_thread(told, starter)
        assert starter.stdin is not None
        starter.stdin.close()
        await until(lambda: not lives(pid))
        assert starter.wait(ENDED_S) == 0
    assert folder.exists()
    folder.rmdir()


@pytest.mark.usefixtures("opensearch_url")
async def test_opensearch_is_on_loopback_alone_and_dies_with_a_parent_that_is_killed() -> None:
    """It is the version that the lock names; a killed test run leaves neither node nor data."""
    with parent(OPENSEARCH) as starter:
        pid, folder = await asyncio.to_thread(told, starter)
        http, transport = (ports(folder, each) for each in ("http", "transport"))
        assert all(line.startswith("127.0.0.1:") for line in [*http, *transport])
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = (await client.get(f"http://{http[0]}")).json()
        assert answer["version"]["number"] == opensearch_jars.VERSION
        starter.kill()
        await until(lambda: not lives(pid) and not folder.exists())


def ports(folder: Path, kind: str) -> list[str]:
    """The addresses that a node says it listens on."""
    return (folder / "logs" / f"{kind}.ports").read_text().splitlines()


def test_a_node_that_ends_tells_why(tmp_path: Path) -> None:
    """The error ends with the log's tail, without the lines of a Java trace."""
    (tmp_path / "opensearch.log").write_text("BindException: in use\n\tat java.base/Net.bind\n")
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"]) as process:
        process.wait(ENDED_S)
        with pytest.raises(NotStarted, match=r"^ended with 3\nBindException: in use$"):
            await_healthy(tmp_path, process)


def test_without_java_opensearch_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is fit for a summary."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EngineMissing, match=r"^java is not installed$"):
        java()


def program(folder: Path, name: str, script: str) -> None:
    """Put a shell script where the PATH leads first."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


RUNTIME = "echo java.base@17.0.1"
OLD = "echo java.base@11.0.2; echo jdk.compiler@11.0.2"


@pytest.mark.parametrize(("script", "reason"), [(RUNTIME, "a JDK is needed"), (OLD, "older than")])
def test_a_java_that_can_not_run_a_source_file_is_no_java(
    script: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runtime alone, or one before 17, is told apart before anything is started."""
    program(tmp_path, "java", script)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(EngineMissing, match=reason):
        java()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a PATH that leads to the programs of the test first."""
    monkeypatch.setenv("HILVAN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path / "cache" / f"opensearch-{opensearch_jars.VERSION}"


BRING = 'for word; do case $word in -DoutputDirectory=*) out="${word#*=}"; esac; done; mkdir "$out"'


def test_a_download_that_is_cut_leaves_nothing(cache: Path, tmp_path: Path) -> None:
    """Maven fails after some jars: the reason is its own, and the cache stays empty."""
    script = f'{BRING}; echo half > "$out/lucene.jar"; echo "[ERROR] no route to host"; exit 1'
    program(tmp_path / "bin", "mvn", script)
    with pytest.raises(EngineMissing, match="no route to host"):
        opensearch_jars.jars()
    assert list(cache.parent.iterdir()) == []


def test_a_jar_that_the_lock_does_not_name_is_refused(cache: Path, tmp_path: Path) -> None:
    """What comes from a registry is not run because it came: this is an error, not a skip."""
    program(tmp_path / "bin", "mvn", f'{BRING}; echo other > "$out/lucene.jar"')
    with pytest.raises(opensearch_jars.WrongJars, match=r"lucene\.jar"):
        opensearch_jars.jars()
    assert list(cache.parent.iterdir()) == []


@pytest.mark.usefixtures("opensearch_url")
def test_a_cut_folder_is_never_taken_for_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder with one short jar is replaced by a new download; a whole one is used as it is."""
    whole = opensearch_jars.jars()
    cut = tmp_path / "cache" / whole.name
    shutil.copytree(whole, cut)
    jar = next(cut.glob("lucene-core-*"))
    jar.write_bytes(jar.read_bytes()[:1000])
    program(tmp_path / "bin", "mvn", f'{BRING}; cp {whole}/* "$out"; echo once >> {tmp_path}/calls')
    monkeypatch.setenv("HILVAN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for _ in range(2):
        assert opensearch_jars.hashes(opensearch_jars.jars()) == opensearch_jars.locked()
    assert (tmp_path / "calls").read_text() == "once\n"
    assert [each.name for each in cut.parent.iterdir()] == [whole.name]


def owner(pid: int) -> int:
    """Whom a process runs as."""
    return Path(f"/proc/{pid}").stat().st_uid


@pytest.mark.usefixtures("postgres_url")
async def test_postgresql_is_safe_against_a_crash_and_not_root() -> None:
    """It syncs as in production, answers on loopback only to who knows the password, and ends."""
    with running_server() as server:
        connection = await asyncpg.connect(server.url)
        wanted = ("fsync", "synchronous_commit", "full_page_writes", "listen_addresses")
        values = [await connection.fetchval(f"SHOW {name}") for name in wanted]
        assert values == ["on", "on", "on", "127.0.0.1"]
        assert owner(server.process.pid) == (os.geteuid() or pwd.getpwnam("nobody").pw_uid)
        await connection.close()
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(server.url.replace("@", "x@"))
    assert server.process.poll() == 0
