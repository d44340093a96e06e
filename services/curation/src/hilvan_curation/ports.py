"""What curation asks of the outside. Each sentence here is a test of the contract suite."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from hilvan_curation.model import (
    Members,
    NoteEntry,
    NoteMark,
    Session,
    SpacePolicy,
    SpaceSnapshot,
)


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


class MetadataStore(Protocol):
    """What people set that files don't hold. Every method raises MetadataUnavailable."""

    @property
    def keeps(self) -> bool:
        """Whether anything is kept; without, the files are all there is."""

    async def vaults(self) -> dict[str, tuple[Path, ...]]:
        """The vaults of every tenant that has one, by path."""

    async def add_vault(self, tenant: str, path: Path) -> None:
        """Keep a vault; once more changes nothing. Raises MetadataRequired where none is kept."""

    async def members(self, tenant: str) -> dict[str, Members]:
        """The members that people set, by space."""

    async def set_members(self, tenant: str, space_id: str, members: Members) -> None:
        """Replace a space's members. Raises MetadataRequired where none are kept."""

    async def open_session(self, session: Session, marks: Mapping[str, NoteMark]) -> None:
        """Keep an open session with what it saw; a store that keeps nothing does nothing.

        Of a user's sessions of a scope that nobody acknowledged, at least the last 20 are kept.
        """

    async def last_acknowledged(
        self, tenant: str, user: str, scope: str
    ) -> tuple[datetime, dict[str, NoteMark]] | None:
        """When the user's last acknowledged session of the scope began, and what it saw.

        The last is the one that began last, in whatever order they were acknowledged. None:
        there was none.
        """

    async def acknowledge(self, tenant: str, user: str, session_id: str) -> None:
        """Mark a session of the user as acknowledged; once more changes nothing.

        Raises:
            SessionNotFound: the user has no such session.
            MetadataRequired: none are kept.
        """

    async def ping(self) -> None:
        """Return when the store answers."""

    async def close(self) -> None:
        """Release the store; may be called twice."""


class Retrieval(Protocol):
    """Retrieval as curation tells it things. Every method raises RetrievalUnavailable."""

    async def put_policy(self, tenant: str, policy: SpacePolicy) -> None:
        """Set a space's policy; it is in force when this returns."""

    async def delete_policy(self, tenant: str, space_id: str) -> None:
        """Forget a space's policy; an unknown space is ignored."""

    async def confirm_policies(self, tenant: str) -> None:
        """Say that all policies of the tenant are as they were told; also where none was."""

    async def note_entries(self, tenant: str, owners: Sequence[str]) -> dict[str, str]:
        """Fingerprints of the passages that these owners have in the store, by entry id."""

    async def put_notes(self, tenant: str, entries: Sequence[NoteEntry]) -> None:
        """Store passages; once more changes nothing."""

    async def delete_notes(self, tenant: str, ids: Sequence[str]) -> None:
        """Forget passages; unknown ones are ignored."""

    async def close(self) -> None:
        """Release the connection; may be called twice."""
