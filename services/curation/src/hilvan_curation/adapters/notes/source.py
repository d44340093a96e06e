"""Notes on disk, read again only where the file system says that something changed."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path

from watchfiles import Change, awatch
from watchfiles.main import FileChange

from hilvan_curation.adapters.notes import folder as files
from hilvan_curation.adapters.notes.changes import changed_spaces
from hilvan_curation.adapters.notes.tree import Known, look, space_folders, system_errors
from hilvan_curation.core import vault
from hilvan_curation.core.vault import MAX_NOTE_BYTES, PROJECT_MARKER, SPACE_MARKER
from hilvan_curation.errors import (
    NoteChanged,
    NoteNotFound,
    NoteTooLarge,
)
from hilvan_curation.model.vault import SpaceSnapshot

_MARKERS = frozenset({SPACE_MARKER, PROJECT_MARKER})


class FileNoteSource:
    """A `NoteSource` over vault folders.

    ``poll_interval``, in seconds, is how long a change can go unnoticed where the system does
    not tell of it (network file systems, too many watched folders). Symbolic links are not
    followed, except in the path of a root. Everything that blocks runs in a thread.
    """

    def __init__(self, roots: Sequence[Path], *, poll_interval: float = 30.0) -> None:
        self._roots = tuple(root.absolute() for root in roots)
        self._poll_interval = poll_interval
        self._lock = threading.Lock()
        self._known: dict[Path, Known] = {}
        self._last: list[SpaceSnapshot] | None = None
        self._folders: dict[str, Path] = {}
        self._watches: set[asyncio.Event] = set()
        self._closed = False

    async def scan(self) -> list[SpaceSnapshot]:
        """Implement `NoteSource.scan`."""
        return await asyncio.to_thread(self._scan)

    async def read(self, space_id: str, path: str) -> bytes:
        """Implement `NoteSource.read`."""
        return await asyncio.to_thread(self._read, space_id, path)

    async def write(self, space_id: str, path: str, data: bytes, *, expected: bytes | None) -> None:
        """Implement `NoteSource.write`."""
        await asyncio.to_thread(self._write, space_id, path, data, expected)

    def changes(self) -> AsyncIterator[set[str]]:
        """Implement `NoteSource.changes`."""
        return changed_spaces(self._last or (), self.scan, self._ticks())

    async def ping(self) -> None:
        """Implement `NoteSource.ping`."""
        await asyncio.to_thread(lambda: [space_folders(root) for root in self._roots])

    async def close(self) -> None:
        """Implement `NoteSource.close`."""
        self._closed = True
        for stop in self._watches:
            stop.set()

    def _scan(self) -> list[SpaceSnapshot]:
        with self._lock:
            folders = [folder for root in self._roots for folder in space_folders(root)]
            self._known = {folder: look(folder, self._known.get(folder)) for folder in folders}
            self._last = vault.distinct(known.snapshot for known in self._known.values())
            self._folders = {
                snapshot.space.id: folder
                for folder, snapshot in zip(self._known, self._last, strict=True)
                if not snapshot.space.closed
            }
            return list(self._last)

    def _read(self, space_id: str, path: str) -> bytes:
        parts = vault.check_path(path)
        folder = self._folder(space_id, path)
        try:
            with system_errors(path):
                return files.read(folder, parts, MAX_NOTE_BYTES)
        except FileNotFoundError as error:
            raise NoteNotFound(space_id, path) from error

    def _write(self, space_id: str, path: str, data: bytes, expected: bytes | None) -> None:
        parts = vault.check_path(path)
        if len(data) > MAX_NOTE_BYTES:
            raise NoteTooLarge(path, MAX_NOTE_BYTES)
        folder = self._folder(space_id, path)
        try:
            with system_errors(path):
                files.replace(folder, parts, data, expected, MAX_NOTE_BYTES)
        except (files.Changed, FileNotFoundError) as error:
            raise NoteChanged(space_id, path) from error

    def _folder(self, space_id: str, path: str) -> Path:
        if self._last is None:
            self._scan()
        if space_id not in self._folders:
            raise NoteNotFound(space_id, path)
        return self._folders[space_id]

    async def _ticks(self) -> AsyncGenerator[None, None]:
        """Yield at once, and whenever something may have changed, until the source is closed."""
        stop = asyncio.Event()
        self._watches.add(stop)
        if self._closed:
            stop.set()
        try:
            while not stop.is_set():
                yield
                with suppress(OSError):  # a root is gone, or the system watches no more folders
                    async with aclosing(self._watch(stop)) as events:
                        async for _ in events:
                            yield
                await _set_within(stop, self._poll_interval)
        finally:
            self._watches.discard(stop)

    def _watch(self, stop: asyncio.Event) -> AsyncGenerator[set[FileChange], None]:
        """The system's events, and an empty one whenever there was none for long."""
        return awatch(
            *self._roots,
            watch_filter=self._concerns,
            rust_timeout=int(self._poll_interval * 1000),
            yield_on_timeout=True,
            stop_event=stop,
            ignore_permission_denied=True,
        )

    def _concerns(self, _: Change, path: str) -> bool:
        """Tell whether a changed path can hold a note or a marker: hidden ones hold neither."""
        root = next(root for root in self._roots if path.startswith(str(root)))
        parts = path.removeprefix(str(root)).split("/")
        return parts[-1] in _MARKERS or not any(part.startswith(".") for part in parts)


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
