"""The vector engines of tests: how they are started and reached, and how tests wait for them.

The double is the engine process over TCP, with a key and TLS: what the adapter says to a server is
said to it, and what it can't know of a server (a graph, replicas) is left to a real one.
"""

import asyncio
import ipaddress
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from support.engines.notes import DOUBLE, EDGE, QDRANT, note_engine
from support.engines.run import RUN
from support.retrieval.index_documents import document, only

from hilvan_retrieval.adapters.vector.edge import EdgeProcess
from hilvan_retrieval.adapters.vector.qdrant import QdrantIndex
from hilvan_retrieval.errors import SourceError
from hilvan_retrieval.model.entry import Uid
from hilvan_retrieval.model.index import IndexDocument, VectorQuery

PATIENCE_S = 30.0
DIMENSIONS = 8
EAST = np.eye(DIMENSIONS, dtype=np.float32)[0]


@dataclass(frozen=True, slots=True)
class Reached:
    """Where an engine is, and how the adapter has to speak to it."""

    target: str
    exact: bool = True
    key: str = ""
    tls: bool = False
    ca: bytes = b""

    def index(
        self, collection: str = "hilvan", timeout: float = 20.0, dimensions: int = DIMENSIONS
    ) -> QdrantIndex:
        """Connect to a collection."""
        return QdrantIndex.connect(
            self.target,
            dimensions,
            collection,
            exact=self.exact,
            api_key=self.key,
            tls=self.tls,
            ca=self.ca,
            key_in_clear=True,
            timeout=timeout,
        )


@contextmanager
def engine_folder() -> Iterator[Path]:
    """Give an empty folder, in memory where that is possible.

    A new collection syncs its files a dozen times, and what survives a kill is no question of
    the disk.
    """
    memory = Path("/dev/shm")  # noqa: S108 - the folder made in it is private
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


@contextmanager
def running_engine(folder: Path, *arguments: str) -> Iterator[str]:
    """Run the engine process on a folder and give what it says when it serves."""
    command = (sys.executable, "-m", "hilvan_retrieval.adapters.vector.edge", "--with-parent")
    with subprocess.Popen(
        [*command, "--path", str(folder), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        word, _, address = process.stdout.readline().strip().partition(" ")
        try:
            assert word == "serving"
            yield address
        finally:
            process.terminate()
            assert process.wait(timeout=PATIENCE_S) == 0


@contextmanager
def local_engine() -> Iterator[Reached]:
    """Run the engine as a service has it beside itself: on a socket, searched exactly."""
    with engine_folder() as folder:
        address = f"unix:{folder}/engine.sock"
        with running_engine(folder / "data", "--address", address):
            note_engine(EDGE, "a process of this run")
            yield Reached(address)


@contextmanager
def double() -> Iterator[Reached]:
    """Run the engine as if it was a server: on a port, with a key and TLS, not searched exactly."""
    with engine_folder() as folder:
        key = secrets.token_hex()
        certificate = self_signed(folder)
        (folder / "api-key").write_text(f"{key}\n")
        with running_engine(
            folder / "data",
            *("--address", "127.0.0.1:0", "--api-key-file", f"{folder}/api-key"),
            *("--tls-cert", f"{folder}/cert.pem", "--tls-key", f"{folder}/key.pem"),
        ) as address:
            note_engine(DOUBLE, "a process of this run")
            yield Reached(address, exact=False, key=key, tls=True, ca=certificate)


def server() -> Reached:
    """Give the real server, or end the test that asks for it."""
    engine = RUN.engine(QDRANT)
    return Reached(engine.address, exact=False, key=engine.key, tls=engine.secure)


def self_signed(folder: Path) -> bytes:
    """Write cert.pem and key.pem for 127.0.0.1; the certificate is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "engine of a test")])
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(here, critical=False)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    (folder / "cert.pem").write_bytes(certificate)
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate


@asynccontextmanager
async def edge_process() -> AsyncIterator[EdgeProcess]:
    """Give a running engine of the service's own on an empty folder."""
    with engine_folder() as folder:
        engine = await EdgeProcess.start(folder)
        note_engine(EDGE, "a process of this run")
        try:
            yield engine
        finally:
            await engine.close()


@asynccontextmanager
async def ensured(index: QdrantIndex) -> AsyncIterator[QdrantIndex]:
    """Make the index ready, and close it afterwards."""
    try:
        await index.ensure()
        yield index
    finally:
        await index.close()


def documents(*numbers: int) -> list[IndexDocument]:
    """Make documents at one place."""
    return [document(f"m{number}", vector=EAST) for number in numbers]


async def everything(index: QdrantIndex) -> set[Uid]:
    """Ask for all documents."""
    answers = await index.search([VectorQuery(only(), EAST, 100_000)])
    return {hit.uid for hit in answers[0]}


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - the state is another process's
            await asyncio.sleep(0.01)


async def until_answered(call: Callable[[], Awaitable[object]]) -> None:
    """Wait until a call raises no SourceError."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await call()
            except SourceError:
                await asyncio.sleep(0.02)
            else:
                return


async def until_refused(call: Callable[[], Awaitable[object]]) -> SourceError:
    """Wait until a call raises a SourceError, and give it."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await call()
            except SourceError as error:
                return error


def lives(pid: int) -> bool:
    """Tell whether a process runs; one that is dead and not yet collected doesn't."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
