"""What curation reads from its environment, once."""

import os
from pathlib import Path

from pydantic import Field, field_validator
from pydantic_settings import SettingsConfigDict

from hilvan_kit.settings import ServerSettings


class CurationSettings(ServerSettings):
    """Settings of curation."""

    model_config = SettingsConfigDict(env_prefix="HILVAN_CURATION_", frozen=True, extra="forbid")

    listen: str = Field(
        default="127.0.0.1:7702",
        description="Address to listen on, host:port; port 0 picks a free one.",
    )
    data_dir: Path = Field(
        default=Path(".hilvan/curation"), description="Folder of the metadata database."
    )
    metadata: str = Field(
        default="sqlite",
        pattern="^(sqlite|none)$",
        description="`sqlite`, or `none`: files only, no members, sessions or sets.",
    )
    metadata_url: str = Field(
        default="",
        repr=False,
        description="postgresql://user:password@host:port/database of the metadata; empty: as "
        "`HILVAN_CURATION_METADATA` says.",
    )
    metadata_connections: int = Field(
        default=4, ge=2, le=200, description="Connections to PostgreSQL; half read, half write."
    )
    metadata_migrate: bool = Field(
        default=True, description="Whether a start may bring the metadata to this release's schema."
    )
    vault_roots: str = Field(
        default="",
        description="Folders beneath which vaults may be taken in, separated as in PATH.",
    )
    vaults: str = Field(
        default="",
        description="With metadata `none`: the vaults, each tenant=folder, separated as in PATH.",
    )
    retrieval_target: str = Field(default="127.0.0.1:7701", description="gRPC target of retrieval.")
    retrieval_key: str = Field(
        default="", description="Service credential for retrieval; empty in development."
    )
    tokenizers_dir: Path | None = Field(
        default=None, description="Folder of further tokenizers, <name>.json each."
    )

    @field_validator("vaults")
    @classmethod
    def _check_vaults(cls, value: str) -> str:
        for each in filter(None, value.split(os.pathsep)):
            tenant, _, folder = each.partition("=")
            if not tenant or not folder:
                raise ValueError(f"{each!r} is not tenant=folder")
        return value

    @property
    def roots(self) -> list[Path]:
        """The vault roots as folders."""
        return [Path(each) for each in self.vault_roots.split(os.pathsep) if each]

    @property
    def fixed_vaults(self) -> dict[str, tuple[Path, ...]]:
        """The vaults by tenant, for metadata `none`."""
        found: dict[str, tuple[Path, ...]] = {}
        for each in filter(None, self.vaults.split(os.pathsep)):
            tenant, _, folder = each.partition("=")
            found[tenant] = (*found.get(tenant, ()), Path(folder))
        return found
