"""The files of notes. Each sentence here is a test of the contract suite."""

from collections.abc import AsyncIterator
from typing import Protocol

from hilvan_curation.model.vault import SpaceSnapshot


class NoteSource(Protocol):
    """The files: vaults whose marked folders are spaces of notes."""

    async def scan(self) -> list[SpaceSnapshot]:
        """Return what all files say now, a snapshot for each space.

        No two snapshots have the same space id. What can't be read or understood is a fault of
        its snapshot and keeps nothing else out. A space with an unreadable marker is closed. A
        scan writes nothing.

        Raises:
            SourceUnavailable: a whole vault can't be reached.
        """

    async def read(self, space_id: str, path: str) -> bytes:
        """Return the bytes of a note's file.

        Raises:
            NoteNotFound: there is no such space or file.
            InvalidPath: the path leaves the space, passes a link or a hidden folder, or does not
                name a Markdown file.
            NoteTooLarge: the file has more bytes than a note may have.
            SourceUnavailable: the file can't be read.
        """

    async def write(self, space_id: str, path: str, data: bytes, *, expected: bytes | None) -> None:
        """Replace a note's file, or make it when ``expected`` is None.

        Other readers see the old bytes or the new ones and never a part; when it returns, the
        new ones survive a crash, and the next scan sees them. The file's mode is kept. Missing
        folders of a new file are made. A refused write leaves no trace.

        Raises:
            NoteChanged: the file's bytes are not ``expected``, or it exists although that is None.
            NoteNotFound: there is no such space.
            InvalidPath: as for `read`.
            NoteTooLarge: ``data`` or the file has more bytes than a note may have.
            SourceUnavailable: the file can't be written.
        """

    def changes(self) -> AsyncIterator[set[str]]:
        """Yield the ids of spaces whose files changed, came or went, as it happens.

        Starts from what the last scan before the call saw, so nothing that changes after a scan
        is missed. A vault that can't be reached for a while ends nothing. The iterator ends when
        the source is closed.
        """

    async def ping(self) -> None:
        """Return when every vault can be reached; raise `SourceUnavailable` when one can't."""

    async def close(self) -> None:
        """Stop watching; may be called twice."""
