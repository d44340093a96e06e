"""What a healthy OpenSearch never says, and what goes to it: credentials, TLS, hung calls."""

import asyncio
import base64
import datetime as dt
import ipaddress
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from support.retrieval.index_documents import document, only

from hilvan_retrieval.adapters.keyword.opensearch import OpenSearchIndex
from hilvan_retrieval.errors import EngineMisconfigured, SourceTimeout, SourceUnavailable
from hilvan_retrieval.model.index import KeywordQuery

POTTERY = [KeywordQuery(only(), "pottery", 10)]
SECRET = "correct horse battery"

Answer = Callable[[str, bytes], tuple[int, bytes]]
"""The status and body for a request line and the whole request's head."""


def says(status: int, body: Any, path: str = "") -> Answer:
    """Answer alike to what names ``path``, and with an empty success to the rest."""
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    return lambda line, _: (status, content) if path in line else (200, b"{}")


@asynccontextmanager
async def server(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Serve HTTP on a free port of 127.0.0.1; give its host and port."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(task) if (task := asyncio.current_task()) else None
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length or 0))
                status, body = answer(head.partition(b"\r\n")[0].decode(), head)
                kind = b'Content-Type: application/json\r\nWarning: 299 OpenSearch-2 "old"'
                size = f"Content-Length: {len(body)}".encode()
                start = f"HTTP/1.1 {status} X".encode()
                writer.write(b"\r\n".join([start, kind, size, b"", body]))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with listening:
        yield f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def asked(address: str, **options: Any) -> AsyncIterator[OpenSearchIndex]:
    """Connect to the address with the options."""
    index = OpenSearchIndex.connect(address, "hilvan", **{"timeout": 5.0, **options})
    try:
        yield index
    finally:
        await index.close()


def error(kind: str) -> dict[str, Any]:
    """An error as OpenSearch words it."""
    return {"error": {"type": kind, "reason": "for a reason"}, "status": 500}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"hits": {"hits": [{"sort": [1.5, "a"]}]}, "timed_out": True}, SourceTimeout),
        ({"hits": {"hits": []}, "timed_out": False, "_shards": {"failed": 1}}, SourceUnavailable),
        (error("search_phase_execution_exception"), SourceUnavailable),
        (error("task_cancelled_exception"), SourceTimeout),
    ],
)
async def test_a_part_of_an_answer_is_no_answer(
    part: dict[str, Any], expected: type[Exception]
) -> None:
    """What timed out inside the engine, or lacks a shard, never passes for the whole."""
    whole = {"hits": {"hits": [{"sort": [1.5, "a"]}]}, "timed_out": False, "_shards": {"failed": 0}}
    parts = {"responses": [whole, part]}
    async with server(says(200, parts, "_msearch")) as host, asked(f"http://{host}") as index:
        with pytest.raises(expected):
            await index.search(POTTERY * 2)


@pytest.mark.parametrize(
    "body",
    [b"<html>busy</html>", b"[]", b'"text"', b"\xff", b"", b"{}", b'{"responses": []}', b"null"],
)
@pytest.mark.parametrize("status", [200, 502])
async def test_whatever_else_answers_is_unavailable(status: int, body: bytes) -> None:
    """An answer that is not OpenSearch's, such as a proxy's page, is SourceUnavailable."""
    async with server(says(status, body)) as host, asked(f"http://{host}") as index:
        for call in (
            index.search(POTTERY),
            index.ping(),
            index.state(),
            index.revisions("00"),
            index.upsert([document("m1")]),
        ):
            with pytest.raises(SourceUnavailable):
                await call


@pytest.mark.parametrize(
    ("status", "expected"), [(400, ValueError), (429, SourceUnavailable), (503, SourceUnavailable)]
)
async def test_one_refused_document_fails_the_write(status: int, expected: type[Exception]) -> None:
    """Of two documents one is refused: the write raises, and says by its error if to try again."""
    items = [{"index": {"status": 201}}, {"index": {**error("some_exception"), "status": status}}]
    answer = says(200, {"errors": True, "items": items}, "_bulk")
    async with server(answer) as host, asked(f"http://{host}") as index:
        with pytest.raises(expected, match="some_exception"):
            await index.upsert([document("m1"), document("m2")])


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_user_is_told_and_no_password_is(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The user is sent; refused, `ensure` names the fix, search is unavailable, no secret leaks."""
    seen: list[bytes] = []

    def refuse(_: str, head: bytes) -> tuple[int, bytes]:
        seen.append(head)
        return status, b"Unauthorized"

    caplog.set_level(logging.DEBUG)
    async with (
        server(refuse) as host,
        asked(f"http://{host}", username="ana", password=SECRET) as index,
    ):
        with pytest.raises(EngineMisconfigured, match="privileges") as raised:
            await index.ensure()
        with pytest.raises(SourceUnavailable) as unavailable:
            await index.search(POTTERY)
    token = base64.b64encode(f"ana:{SECRET}".encode())
    assert all(b"Basic " + token in head for head in seen)
    for text in (str(raised.value), str(unavailable.value), caplog.text, repr(index)):
        assert SECRET not in text
        assert token.decode() not in text


@pytest.mark.parametrize(
    "url",
    [f"http://ana:{SECRET}@localhost:9200", "localhost:9200", "ftp://localhost", "", "http://"],
)
def test_an_address_that_can_not_be_used_is_refused(url: str) -> None:
    """An address without a scheme or host, or with a password in it, is told, but not repeated."""
    with pytest.raises(EngineMisconfigured) as raised:
        OpenSearchIndex.connect(url)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("name", ["", "*", "a,b", "Hilvan", "_all", "a/b", "-a", "a" * 250])
def test_a_name_that_no_index_can_have_is_refused(name: str) -> None:
    """A pattern, a list or anything else that OpenSearch would not take is told at once."""
    with pytest.raises(EngineMisconfigured, match="can't be called"):
        OpenSearchIndex.connect("http://localhost:9200", name)


async def test_a_cancelled_search_closes_its_connection() -> None:
    """Who stops waiting hangs up, so that the engine stops too; no task is left."""
    arrived, hung_up = asyncio.Event(), asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        arrived.set()
        while await reader.read(2**16):
            pass
        hung_up.set()
        writer.close()

    listening = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with listening, asked(f"http://127.0.0.1:{port}") as index:
        search = asyncio.create_task(index.search(POTTERY))
        await arrived.wait()
        search.cancel()
        await asyncio.gather(search, return_exceptions=True)
        assert search.cancelled()
        async with asyncio.timeout(5):
            await hung_up.wait()


def _certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hilvan test")])
    now = dt.datetime.now(dt.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    format_, none = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "ca.pem").write_bytes(certificate.public_bytes(pem))
    (folder / "key.pem").write_bytes(key.private_bytes(pem, format_, none))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    return folder / "ca.pem", context


async def test_a_server_is_trusted_by_its_authority_alone(tmp_path: Path) -> None:
    """With the authority's file the call works, without it not, unless verifying is off."""
    ca_file, context = _certificate(tmp_path)
    async with server(says(200, {"_shards": {"failed": 0}}), context) as host:
        async with asked(f"https://{host}", ca_file=ca_file) as trusting:
            await trusting.ping()
        async with asked(f"https://{host}", verify=False) as careless:
            await careless.ping()
        async with asked(f"https://{host}") as stranger:
            with pytest.raises(SourceUnavailable, match="certificate"):
                await stranger.ping()


def test_a_file_of_authorities_that_can_not_be_read_is_refused(tmp_path: Path) -> None:
    """A file that is not there, or holds no certificate, is told at once."""
    (tmp_path / "empty.pem").touch()
    for name in ("empty.pem", "absent.pem"):
        with pytest.raises(EngineMisconfigured, match=name):
            OpenSearchIndex.connect("https://localhost:9200", ca_file=tmp_path / name)
