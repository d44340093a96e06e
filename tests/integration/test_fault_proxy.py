"""The rig: each fault is what it says, for connections that are open and for new ones."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from support.engines.fault_proxy import FaultProxy, Mode

PATIENCE_S = 20.0
GLANCE_S = 0.05
"""Within this time a hanging connection must not answer."""


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Give back what comes, until the end."""
    while data := await reader.read(1024):
        writer.write(data)
        await writer.drain()
    writer.close()
    await writer.wait_closed()


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer HTTP requests without a body with the path of each."""
    while head := await reader.readline():
        while (await reader.readline()).strip():
            pass
        path = head.split()[1]
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(path), path))
        await writer.drain()
    writer.close()
    await writer.wait_closed()


@asynccontextmanager
async def behind(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    socket: Path | None = None,
) -> AsyncIterator[FaultProxy]:
    """Run a server behind the rig; nothing of either is left at the end."""
    before = asyncio.all_tasks()
    running: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            await serve(reader, writer)
        except ConnectionError:
            writer.close()

    if socket is not None:
        server, target = await asyncio.start_unix_server(handle, socket), f"unix:{socket}"
    else:
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        target = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, asyncio.timeout(PATIENCE_S):
        async with FaultProxy(target) as proxy:
            yield proxy
        await asyncio.gather(*running)
    assert asyncio.all_tasks() == before


@dataclass(frozen=True, slots=True)
class Client:
    """One connection to the rig."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def say(self, text: bytes) -> bytes:
        """Send, and read as much as was sent."""
        self.writer.write(text)
        return await self.reader.readexactly(len(text))


@asynccontextmanager
async def connected(proxy: FaultProxy) -> AsyncIterator[Client]:
    """Open a connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


@asynccontextmanager
async def either(proxy: FaultProxy, mode: Mode, when: str) -> AsyncIterator[Client]:
    """A connection that saw the mode begin, or one that was opened after."""
    if when == "new":
        proxy.mode = mode
    async with connected(proxy) as client:
        if when == "open":
            assert await client.say(b"before") == b"before"
            proxy.mode = mode
        yield client


both = pytest.mark.parametrize("when", ["open", "new"])


async def test_passing_changes_nothing(tmp_path: Path) -> None:
    """Bytes go both ways, over TCP and to a Unix socket, and so does the end."""
    for socket in (None, tmp_path / "engine.sock"):
        async with behind(echo, socket) as proxy, connected(proxy) as client:
            sent = bytes(range(256)) * 2000
            client.writer.write(sent)
            client.writer.write_eof()
            assert await client.reader.read(-1) == sent


async def test_refusing_closes_the_port_and_every_connection() -> None:
    """Until it passes again, at the same address."""
    async with behind(echo) as proxy, connected(proxy) as client:
        await client.say(b"before")
        proxy.mode = Mode.REFUSE
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await client.say(b"after")
        for _ in range(3):
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", proxy.port)
        proxy.mode = Mode.PASS
        async with connected(proxy) as other:
            assert await other.say(b"again") == b"again"


@both
async def test_hanging_holds_everything_until_it_passes(when: str) -> None:
    """What was sent meanwhile is answered then, in order."""
    async with behind(echo) as proxy, either(proxy, Mode.HANG, when) as client:
        client.writer.write(b"one")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.reader.read(1), GLANCE_S)
        client.writer.write(b"two")
        proxy.mode = Mode.PASS
        assert await client.reader.readexactly(6) == b"onetwo"


@both
async def test_dripping_gives_a_byte_at_a_time(when: str) -> None:
    """A switch sets the rest free at once."""
    async with behind(echo) as proxy, either(proxy, Mode.DRIP, when) as client:
        proxy.drip_seconds = GLANCE_S
        started = time.monotonic()
        client.writer.write(b"slowly")
        assert await client.reader.read(10) == b"s"
        assert await client.reader.read(10) == b"l"
        assert time.monotonic() - started >= GLANCE_S
        proxy.drip_seconds = PATIENCE_S
        assert await client.reader.read(10) == b"o"
        proxy.mode = Mode.PASS
        assert await client.reader.readexactly(3) == b"wly"


@both
async def test_a_reset_can_come_at_once(when: str) -> None:
    """Not the end of a stream, but an error."""
    async with behind(echo) as proxy:
        with pytest.raises(ConnectionResetError):  # noqa: PT012 - whichever step meets it
            async with either(proxy, Mode.RESET, when) as client:
                await client.say(b"after")
                await client.reader.read()


@both
async def test_a_reset_can_come_in_the_middle_of_an_answer(when: str) -> None:
    """After so many bytes of the answer, counted from the switch."""
    async with behind(echo) as proxy:
        proxy.after_bytes = 4
        async with either(proxy, Mode.RESET, when) as client:
            client.writer.write(b"an answer")
            assert await client.reader.readexactly(4) == b"an a"
            with pytest.raises(ConnectionResetError):
                await client.reader.read()


@both
async def test_truncating_ends_in_good_order_in_the_middle(when: str) -> None:
    """The stream ends as if that were all."""
    async with behind(echo) as proxy:
        proxy.after_bytes = 4
        async with either(proxy, Mode.TRUNCATE, when) as client:
            client.writer.write(b"an answer")
            assert await client.reader.read(-1) == b"an a"


@both
async def test_a_delay_is_all_that_differs(when: str) -> None:
    """The answer is whole, and late."""
    async with behind(echo) as proxy, either(proxy, Mode.DELAY, when) as client:
        proxy.delay_seconds = GLANCE_S
        started = time.monotonic()
        assert await client.say(b"late") == b"late"
        assert time.monotonic() - started >= GLANCE_S


@pytest.mark.parametrize(("mode", "status"), [(Mode.HTTP_429, 429), (Mode.HTTP_503, 503)])
async def test_http_is_answered_without_the_engine(mode: Mode, status: int) -> None:
    """On a kept connection too, bodies are read to their end, and Retry-After is given."""
    async with (
        behind(greet) as proxy,
        httpx.AsyncClient(base_url=f"http://{proxy.address}") as client,
    ):
        assert (await client.get("/a")).text == "/a"
        proxy.mode = mode
        proxy.retry_after_seconds = 7

        async def parts() -> AsyncIterator[bytes]:
            yield b"x" * 200_000
            yield b"y"

        for answer in (
            await client.get("/b"),
            await client.post("/b", content=b"x" * 200_000),
            await client.post("/b", content=parts()),
        ):
            assert (answer.status_code, answer.headers["retry-after"]) == (status, "7")
        proxy.mode = Mode.PASS
        assert (await client.get("/c")).text == "/c"
        assert proxy.accepted == 1


async def test_an_absent_engine_is_the_end_of_the_connection(tmp_path: Path) -> None:
    """The rig stands before it all the same."""
    async with FaultProxy(f"unix:{tmp_path / 'none'}") as proxy, connected(proxy) as client:
        client.writer.write(b"x")
        assert await client.reader.read() == b""


@pytest.mark.parametrize("mode", [Mode.PASS, Mode.HANG, Mode.DRIP, Mode.DELAY])
async def test_closing_ends_every_task(mode: Mode) -> None:
    """In the middle of whatever it does; `behind` sees that none is left."""
    async with behind(echo) as proxy:
        proxy.drip_seconds = proxy.delay_seconds = PATIENCE_S
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"x")
        assert await reader.read(1) == b"x"
        proxy.mode = mode
        writer.write(b"yes")
    writer.close()
