"""The spaces of every tenant as their files are now, kept in step as files change."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from hilvan_curation.core.access import Vaults
from hilvan_curation.errors import CurationError, VaultRefused
from hilvan_curation.ports import MetadataStore, NoteSource
from hilvan_curation.usecases.publishing import Publisher

RETRY_SECONDS = 1.0

_EMPTY = Vaults()
_log = structlog.get_logger()

OpenSource = Callable[[Sequence[Path]], NoteSource]


@dataclass(slots=True)
class _Tenant:
    """One tenant's files and what they said last."""

    paths: tuple[Path, ...]
    source: NoteSource
    vaults: Vaults
    watch: "asyncio.Task[None] | None" = None


class Catalogue:
    """Knows every tenant's spaces. `open` before use, `close` after."""

    def __init__(
        self,
        metadata: MetadataStore,
        open_source: OpenSource,
        publisher: Publisher,
        roots: Sequence[Path],
    ) -> None:
        """``roots`` are the folders beneath which vaults may be taken in."""
        self._metadata = metadata
        self._open_source = open_source
        self._publisher = publisher
        self._roots = [root.resolve() for root in roots]
        self._tenants: dict[str, _Tenant] = {}

    async def open(self) -> None:
        """Read every vault that is known, and begin to watch."""
        for tenant, paths in (await self._metadata.vaults()).items():
            await self._start(tenant, paths)

    async def close(self) -> None:
        """Stop watching."""
        for each in self._tenants.values():
            await _stop(each)
        self._tenants.clear()

    async def ping(self) -> None:
        """Raise when the metadata or a tenant's files can't be reached."""
        await self._metadata.ping()
        for each in self._tenants.values():
            await each.source.ping()

    def vaults(self, tenant: str) -> Vaults:
        """The tenant's spaces; a tenant without vaults has none."""
        known = self._tenants.get(tenant)
        return known.vaults if known else _EMPTY

    def source(self, tenant: str) -> NoteSource:
        """The tenant's files. Raises VaultRefused for a tenant without a vault."""
        known = self._tenants.get(tenant)
        if known is None:
            raise VaultRefused("the tenant has no vault yet")
        return known.source

    async def add_vault(self, tenant: str, path: Path) -> Vaults:
        """Take a vault in. Raises VaultRefused, MetadataRequired."""
        resolved = await asyncio.to_thread(self._checked, path)
        await self._metadata.add_vault(tenant, resolved)
        known = self._tenants.get(tenant)
        paths = (await self._metadata.vaults())[tenant]
        if known is None or known.paths != paths:
            await self._start(tenant, paths)
        return self.vaults(tenant)

    async def rescan(self, tenant: str) -> None:
        """Read what changed, and tell retrieval of it before returning, if it listens."""
        known = self._tenants[tenant]
        before = known.vaults
        known.vaults = await self._read(tenant, known.source)
        await self._publisher.publish(tenant, before, known.vaults)

    def _checked(self, path: Path) -> Path:
        resolved = path.resolve()
        if not any(resolved.is_relative_to(root) for root in self._roots):
            raise VaultRefused("the folder is not beneath a vault root of this server")
        if not resolved.is_dir():
            raise VaultRefused("there is no such folder")
        return resolved

    async def _start(self, tenant: str, paths: tuple[Path, ...]) -> None:
        old = self._tenants.get(tenant)
        source = self._open_source(paths)
        fresh = _Tenant(paths, source, await self._read(tenant, source))
        self._tenants[tenant] = fresh
        if old is not None:
            await _stop(old)
        await self._publisher.publish(tenant, old.vaults if old else _EMPTY, fresh.vaults)
        fresh.watch = asyncio.create_task(self._watch(tenant, source))

    async def _read(self, tenant: str, source: NoteSource) -> Vaults:
        snapshots = await source.scan()
        members = await self._metadata.members(tenant)
        return Vaults(tuple(snapshots), members, open_to_all=not self._metadata.keeps)

    async def _watch(self, tenant: str, source: NoteSource) -> None:
        async for _ in source.changes():
            while True:
                try:
                    await self.rescan(tenant)
                    break
                except CurationError as error:
                    _log.warning("files not read again", tenant=tenant, error=str(error))
                    await asyncio.sleep(RETRY_SECONDS)


async def _stop(tenant: _Tenant) -> None:
    await tenant.source.close()
    if tenant.watch is not None:
        tenant.watch.cancel()
        await asyncio.gather(tenant.watch, return_exceptions=True)
