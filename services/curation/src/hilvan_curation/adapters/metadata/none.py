"""Metadata `none`: the files are all there is (spec, section 2.6)."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from hilvan_curation.errors import MetadataRequired
from hilvan_curation.model.session import NoteMark, Session
from hilvan_curation.model.space import Members


class NoMetadata:
    """Keeps nothing; see `hilvan_curation.ports.MetadataStore`."""

    keeps = False

    def __init__(self, vaults: Mapping[str, tuple[Path, ...]]) -> None:
        """``vaults`` by tenant come from the settings."""
        self._vaults = vaults

    async def vaults(self) -> dict[str, tuple[Path, ...]]:
        """The vaults of the settings."""
        return dict(self._vaults)

    async def add_vault(self, tenant: str, path: Path) -> None:
        """Needs a database."""
        raise MetadataRequired("AddVault")

    async def members(self, tenant: str) -> dict[str, Members]:
        """Nobody set any."""
        return {}

    async def set_members(self, tenant: str, space_id: str, members: Members) -> None:
        """Needs a database."""
        raise MetadataRequired("SetSpaceMembers")

    async def open_session(self, session: Session, marks: Mapping[str, NoteMark]) -> None:
        """A session without memory is not kept."""

    async def last_acknowledged(
        self, tenant: str, user: str, scope: str
    ) -> tuple[datetime, dict[str, NoteMark]] | None:
        """There never was one."""
        return None

    async def acknowledge(self, tenant: str, user: str, session_id: str) -> None:
        """Needs a database."""
        raise MetadataRequired("AcknowledgeSession")

    async def ping(self) -> None:
        """Nothing can be down."""

    async def close(self) -> None:
        """Nothing is open."""
