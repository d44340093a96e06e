"""The spaces of every tenant as their files are now, kept in step as files change."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from hilvan_curation.core.access import Vaults, undisputed
from hilvan_curation.errors import (
    CurationError,
    MetadataRequired,
    SourceUnavailable,
    VaultRefused,
)
from hilvan_curation.ports.metadata import MetadataStore
from hilvan_curation.ports.note import NoteSource
from hilvan_curation.usecases.publication import Publisher

RETRY_SECONDS = 1.0

_EMPTY = Vaults()
_log = structlog.get_logger()

OpenSource = Callable[[Sequence[Path]], NoteSource]


@dataclass(slots=True)
class _Tenant:
    """One tenant's files and what they said last; None until they could be read."""

    paths: tuple[Path, ...]
    source: NoteSource
    vaults: Vaults | None = None
    watch: "asyncio.Task[None] | None" = None
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)


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
        self._adding = asyncio.Lock()

    async def open(self) -> None:
        """Read every vault that is known, and begin to watch.

        Files that can't be reached are read once they can be.
        """
        known = await self._metadata.vaults()
        await asyncio.gather(*(self._open(tenant, paths) for tenant, paths in known.items()))

    async def close(self) -> None:
        """Stop watching."""
        for each in self._tenants.values():
            await _stop(each)
        self._tenants.clear()

    async def ping(self) -> None:
        """Raise when the metadata, or the files of all tenants, can't be reached."""
        await self._metadata.ping()
        failure: SourceUnavailable | None = None
        for each in self._tenants.values():
            try:
                await each.source.ping()
            except SourceUnavailable as error:
                failure = error
            else:
                return
        if failure is not None:
            raise failure

    def vaults(self, tenant: str) -> Vaults:
        """The tenant's spaces; a tenant without vaults has none.

        Raises SourceUnavailable for a tenant whose files could not be read since the start.
        """
        known = self._tenants.get(tenant)
        if known is None:
            self._publisher.meet(tenant)
            return _EMPTY
        if known.vaults is None:
            raise SourceUnavailable("the vault could not be read yet")
        return known.vaults

    def source(self, tenant: str) -> NoteSource:
        """The files of a tenant that has a vault."""
        return self._tenants[tenant].source

    async def add_vault(self, tenant: str, path: Path) -> Vaults:
        """Take a vault in, or read it again. Raises VaultRefused, MetadataRequired."""
        if not self._metadata.keeps:
            raise MetadataRequired("AddVault")
        resolved = await asyncio.to_thread(self._checked, path)
        async with self._adding:
            self._refuse_shared(tenant, resolved)
            known = self._tenants.get(tenant)
            if known is None or resolved not in known.paths:
                await self._add(tenant, resolved, known)
            else:
                await self.rescan(tenant)
        return self.vaults(tenant)

    async def rescan(self, tenant: str) -> None:
        """Read what changed, and tell retrieval of it before returning, if it listens."""
        known = self._tenants[tenant]
        # One after the other: what was read first must not replace what was read last.
        async with known.reading:
            known.vaults = await self._read(tenant, known.source)
        await self._publisher.publish(tenant, known.vaults)

    def _checked(self, path: Path) -> Path:
        """One answer for all that is refused, so that nobody can look around with it."""
        refused = VaultRefused("is not a folder beneath a vault root of this server")
        try:
            resolved = path.resolve()
            beneath = any(resolved.is_relative_to(root) for root in self._roots)
            if path.is_absolute() and beneath and resolved.is_dir():
                return resolved
        except (OSError, RuntimeError) as error:  # a name too long, a loop of links
            raise refused from error
        raise refused

    def _refuse_shared(self, tenant: str, path: Path) -> None:
        """What one tenant has taken in, another one can't have, nor a part of it."""
        for other, known in self._tenants.items():
            taken = (p.is_relative_to(path) or path.is_relative_to(p) for p in known.paths)
            if other != tenant and any(taken):
                raise VaultRefused("is not a folder beneath a vault root of this server")

    async def _add(self, tenant: str, path: Path, old: _Tenant | None) -> None:
        paths = tuple(sorted((*(old.paths if old else ()), path)))
        source = self._open_source(paths)
        fresh = _Tenant(paths, source, await self._read(tenant, source))
        await self._metadata.add_vault(tenant, path)
        self._tenants[tenant] = fresh
        if old is not None:
            await _stop(old)
        await self._publisher.publish(tenant, self.vaults(tenant))
        fresh.watch = asyncio.create_task(self._watch(tenant, source))

    async def _open(self, tenant: str, paths: tuple[Path, ...]) -> None:
        source = self._open_source(paths)
        fresh = self._tenants[tenant] = _Tenant(paths, source)
        try:
            await self.rescan(tenant)
        except SourceUnavailable as error:
            _log.warning("files not read", tenant=tenant, error=str(error))
        fresh.watch = asyncio.create_task(self._watch(tenant, source))

    async def _read(self, tenant: str, source: NoteSource) -> Vaults:
        snapshots = undisputed(await source.scan())
        members = await self._metadata.members(tenant)
        return Vaults(snapshots, members, open_to_all=not self._metadata.keeps)

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
