"""Notes in memory: the same vault without a disk."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from datetime import UTC, datetime

from hilvan_curation.adapters.notes.changes import changed_spaces
from hilvan_curation.core import vault
from hilvan_curation.core.vault import MAX_NOTE_BYTES, PROJECT_MARKER, SPACE_MARKER
from hilvan_curation.errors import NoteChanged, NoteNotFound, NoteTooLarge
from hilvan_curation.model.note import Fault
from hilvan_curation.model.vault import SpaceSnapshot

_MODIFIED = datetime.fromtimestamp(0, UTC)


class MemoryNoteSource:
    """A `NoteSource` over a dict from ``<space folder>/<path>`` to bytes."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = dict(files)
        self._last: list[SpaceSnapshot] | None = None
        self._watches: set[asyncio.Event] = set()
        self._closed = False

    def put(self, path: str, data: bytes | None) -> None:
        """Change or, with None, remove a file behind the source's back, as an editor would."""
        if data is None:
            self._files.pop(path, None)
        else:
            self._files[path] = data
        self._wake()

    async def scan(self) -> list[SpaceSnapshot]:
        """Implement `NoteSource.scan`."""
        folders = sorted(path.split("/")[0] for path in self._files if path.endswith(SPACE_MARKER))
        self._last = vault.distinct(map(self._space, folders))
        return list(self._last)

    async def read(self, space_id: str, path: str) -> bytes:
        """Implement `NoteSource.read`."""
        vault.check_path(path)
        data = self._files.get(await self._key(space_id, path))
        if data is None:
            raise NoteNotFound(space_id, path)
        if len(data) > MAX_NOTE_BYTES:
            raise NoteTooLarge(path, MAX_NOTE_BYTES)
        return data

    async def write(self, space_id: str, path: str, data: bytes, *, expected: bytes | None) -> None:
        """Implement `NoteSource.write`."""
        vault.check_path(path)
        if len(data) > MAX_NOTE_BYTES:
            raise NoteTooLarge(path, MAX_NOTE_BYTES)
        key = await self._key(space_id, path)
        if self._files.get(key) != expected:
            raise NoteChanged(space_id, path)
        self.put(key, data)

    def changes(self) -> AsyncIterator[set[str]]:
        """Implement `NoteSource.changes`."""
        return changed_spaces(self._last or (), self.scan, self._ticks())

    async def ping(self) -> None:
        """Implement `NoteSource.ping`: memory is always there."""

    async def close(self) -> None:
        """Implement `NoteSource.close`."""
        self._closed = True
        self._wake()

    def _space(self, folder: str) -> SpaceSnapshot:
        inside = {
            path.removeprefix(f"{folder}/"): data
            for path, data in self._files.items()
            if path.startswith(f"{folder}/")
        }
        marker = inside.pop(SPACE_MARKER)
        projects, notes, faults = {}, [], []
        for path, data in inside.items():
            *folders, name = path.split("/")
            if any(part.startswith(".") for part in folders):
                continue
            if name == PROJECT_MARKER:
                projects["/".join(folders)] = data
            elif name.endswith(".md") and not name.startswith("."):
                if len(data) > MAX_NOTE_BYTES:
                    faults.append(Fault(path, 0, str(NoteTooLarge(path, MAX_NOTE_BYTES))))
                else:
                    notes.append(vault.read_note(path, data, _MODIFIED))
        return vault.build_space(
            vault.SpaceFiles(folder, marker, projects, tuple(notes), tuple(faults))
        )

    async def _key(self, space_id: str, path: str) -> str:
        """The place of a note of an open space."""
        snapshots = await self.scan() if self._last is None else self._last
        for snapshot in snapshots:
            if snapshot.space.id == space_id and not snapshot.space.closed:
                return f"{snapshot.space.path}/{path}"
        raise NoteNotFound(space_id, path)

    async def _ticks(self) -> AsyncGenerator[None, None]:
        """Yield at once and after each change, until the source is closed."""
        changed = asyncio.Event()
        self._watches.add(changed)
        try:
            while not self._closed:
                changed.clear()
                yield
                await changed.wait()
        finally:
            self._watches.discard(changed)

    def _wake(self) -> None:
        for changed in self._watches:
            changed.set()
