"""What people set that files do not hold. Each sentence here is a test of the contract suite."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Protocol

from hilvan_curation.model.session import NoteMark, Session
from hilvan_curation.model.space import Members


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
