"""A TCP proxy before a real engine, whose behaviour is switched while connections are open."""

import asyncio
import re
import socket
import struct
from contextlib import suppress
from enum import StrEnum
from types import TracebackType
from typing import Self

_CHUNK = 64 * 1024
_BACKLOG = 128
_READING_SECONDS = 0.02
_LINGER_0 = struct.pack("ii", 1, 0)
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)


class Mode(StrEnum):
    """What the proxy does, with new and with open connections. Answers are the engine's bytes."""

    PASS = "pass"
    """Forwards."""
    REFUSE = "refuse"
    """The port is closed, open connections are cut: the engine's process is gone."""
    HANG = "hang"
    """Accepts and reads, and holds everything until the mode changes: a stopped process."""
    DRIP = "drip"
    """Answers come a byte at a time, `drip_seconds` apart."""
    RESET = "reset"
    """Resets at once; with `after_bytes`, in the middle of an answer."""
    TRUNCATE = "truncate"
    """Closes in good order, in the middle of an answer."""
    HTTP_429 = "429"
    """Answers HTTP/1.1 requests itself: too many."""
    HTTP_503 = "503"
    """Answers HTTP/1.1 requests itself: not available."""
    DELAY = "delay"
    """Forwards what is sent to the engine `delay_seconds` later."""


class FaultProxy:
    """Listens on a free port of 127.0.0.1 and stands before ``target``.

    The target is ``host:port`` or ``unix:path``. Attributes are for the modes that name them and
    may be set at any time:

        async with FaultProxy(engine.target) as proxy:
            client = connect(proxy.address)
            proxy.mode = Mode.HANG
    """

    def __init__(self, target: str) -> None:
        """Connects to the target when a client does."""
        self.target = target
        self.drip_seconds = 0.2
        self.delay_seconds = 0.1
        self.after_bytes = 0
        self.retry_after_seconds = 1
        self.accepted = 0
        self.tasks: set[asyncio.Task[None]] = set()
        self._mode = Mode.PASS
        self._changed = asyncio.Event()
        self._links: set[_Link] = set()
        # Holds the port while nobody listens on it: nobody else gets it then, and a connection is
        # refused.
        self._holder = _bound(0)
        self._listener: socket.socket | None = None
        self.port: int = self._holder.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        """Listen."""
        self._listen()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Cut every connection and end every task."""
        self._close()
        self._holder.close()
        tasks = list(self.tasks)
        for link in self._links:
            link.cut(reset=False)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def mode(self) -> Mode:
        """What it does now."""
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._mode = mode
        self._changed.set()
        self._changed = asyncio.Event()
        if mode is Mode.REFUSE:
            self._close()
        elif self._listener is None:
            self._listen()
        for link in list(self._links):
            link.begin()
            if mode is Mode.REFUSE or self.resets_at_once:
                link.cut(reset=mode is Mode.RESET)

    @property
    def resets_at_once(self) -> bool:
        """Whether a connection does not even begin."""
        return self._mode is Mode.RESET and not self.after_bytes

    async def while_mode(self, mode: Mode, seconds: float | None = None) -> None:
        """Wait while this is the mode, so many seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._mode is mode:
                    await self._changed.wait()

    def know(self, task: "asyncio.Task[None]") -> "asyncio.Task[None]":
        """Keep a task of the rig's among `tasks` while it runs."""
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def _listen(self) -> None:
        self._listener = _bound(self.port)
        self._listener.listen(_BACKLOG)
        asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def _close(self) -> None:
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            client, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        self.accepted += 1
        if self.resets_at_once:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_0)
            client.close()
            return
        client.settimeout(0)
        link = _Link(self, client)
        self._links.add(link)
        task = self.know(asyncio.create_task(link.run()))
        task.add_done_callback(lambda _: self._links.discard(link))


class _Link:
    """One client's connection and, once there is something to forward, the engine's."""

    def __init__(self, proxy: FaultProxy, client: socket.socket) -> None:
        self._proxy = proxy
        self._socket = client
        self._writers: list[asyncio.StreamWriter] = []
        self._engine: asyncio.StreamWriter | None = None
        self._unread = b""
        self._told = 0

    def begin(self) -> None:
        """A new mode begins."""
        self._told = 0

    def cut(self, *, reset: bool) -> None:
        """End both connections now, the client's with a reset if so wanted."""
        for writer in self._writers:
            if reset:
                sock: socket.socket = writer.get_extra_info("socket")
                with suppress(OSError):  # a Unix socket has no such end, a gone one none at all
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_0)
            writer.transport.abort()

    async def run(self) -> None:
        """Forward until one side ends."""
        try:
            reader, writer = await asyncio.open_connection(sock=self._socket)
            self._writers.append(writer)
            async with asyncio.TaskGroup() as group:
                await self._requests(reader, writer, group)
        except* (ConnectionError, OSError):
            pass
        finally:
            for each in self._writers:
                each.close()
                with suppress(ConnectionError, OSError):
                    await each.wait_closed()

    async def _requests(
        self, reader: asyncio.StreamReader, client: asyncio.StreamWriter, group: asyncio.TaskGroup
    ) -> None:
        proxy = self._proxy
        while data := await reader.read(_CHUNK):
            await proxy.while_mode(Mode.HANG)
            if proxy.mode in (Mode.HTTP_429, Mode.HTTP_503):
                self._refuse(data, client)
                continue
            if proxy.mode is Mode.DELAY:
                await proxy.while_mode(Mode.DELAY, proxy.delay_seconds)
            if self._engine is None:
                answers, self._engine = await _connect(proxy.target)
                self._writers.append(self._engine)
                proxy.know(group.create_task(self._answers(answers, client)))
            self._engine.write(self._unread + data)
            self._unread = b""
            await self._engine.drain()
        if self._engine is not None and self._engine.can_write_eof():
            self._engine.write_eof()

    async def _answers(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK):
            while data:
                await self._proxy.while_mode(Mode.HANG)
                size = self._allowed(len(data))
                client.write(data[:size])
                await client.drain()
                self._told += size
                data = data[size:]
                await self._after_part(client)
        raise ConnectionResetError("the engine has closed")

    def _allowed(self, size: int) -> int:
        if self._proxy.mode is Mode.DRIP:
            return 1
        if self._proxy.mode in (Mode.RESET, Mode.TRUNCATE):
            return min(size, max(0, self._proxy.after_bytes - self._told))
        return size

    async def _after_part(self, client: asyncio.StreamWriter) -> None:
        mode = self._proxy.mode
        if mode is Mode.DRIP:
            await self._proxy.while_mode(mode, self._proxy.drip_seconds)
        elif mode in (Mode.RESET, Mode.TRUNCATE) and self._told >= self._proxy.after_bytes:
            if mode is Mode.RESET:
                # A reset may overtake what was sent before it.
                await self._proxy.while_mode(mode, _READING_SECONDS)
                self.cut(reset=True)
            else:
                client.close()
            raise ConnectionResetError("cut in the middle")

    def _refuse(self, data: bytes, client: asyncio.StreamWriter) -> None:
        """Answer each whole HTTP request."""
        status = {Mode.HTTP_429: "429 Too Many Requests", Mode.HTTP_503: "503 Service Unavailable"}
        self._unread += data
        while (end := _request_end(self._unread)) is not None:
            self._unread = self._unread[end:]
            client.write(
                f"HTTP/1.1 {status[self._proxy.mode]}\r\n"
                f"Retry-After: {self._proxy.retry_after_seconds}\r\n"
                "Content-Length: 0\r\n\r\n".encode()
            )


def _request_end(data: bytes) -> int | None:
    """Where the first request in the data ends, or None while it is not whole."""
    head = data.find(b"\r\n\r\n")
    if head < 0:
        return None
    if _CHUNKED.search(data[:head]):
        last = data.find(b"0\r\n\r\n", head)
        return None if last < 0 else last + 5
    length = _LENGTH.search(data[:head])
    end = head + 4 + (int(length[1]) if length else 0)
    return end if len(data) >= end else None


async def _connect(target: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if target.startswith("unix:"):
        return await asyncio.open_unix_connection(target.removeprefix("unix:"))
    host, _, port = target.rpartition(":")
    return await asyncio.open_connection(host, int(port))


def _bound(port: int) -> socket.socket:
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.settimeout(0)
    bound.bind(("127.0.0.1", port))
    return bound
