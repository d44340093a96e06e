"""The policies of all tenants, kept in memory and read again now and then."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import structlog

from hilvan_kit.auth import Principal
from hilvan_retrieval.core.policy import writable_owners
from hilvan_retrieval.errors import SourceError
from hilvan_retrieval.model.policy import EntryMute, SpacePolicy, TenantPolicy
from hilvan_retrieval.ports.policy import PolicyStore

REFRESH_SECONDS = 5.0
"""How long another replica's change may go unseen here."""

_EMPTY = TenantPolicy()
_log = structlog.get_logger()


class PolicyBook:
    """What curation said, tenant by tenant. A tenant that it never spoke of has no projects."""

    def __init__(self, store: PolicyStore) -> None:
        """Call `refresh` before use."""
        self._store = store
        self._tenants: dict[str, TenantPolicy] = {}

    def of(self, tenant: str) -> TenantPolicy:
        """The tenant's policy."""
        return self._tenants.get(tenant, _EMPTY)

    async def refresh(self) -> None:
        """Read everything again."""
        self._tenants = await self._store.policies()

    async def keep_fresh(self) -> None:
        """Refresh for ever; a failure keeps what is known."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                await self.refresh()
            except SourceError as error:
                _log.warning("policies not refreshed", error=str(error))

    async def put_space(self, tenant: str, policy: SpacePolicy) -> None:
        """Take over a space's policy."""
        await self._store.put_space_policy(tenant, policy)
        await self.refresh()

    async def delete_space(self, tenant: str, space_id: str) -> None:
        """Forget a space's policy."""
        await self._store.delete_space_policy(tenant, space_id)
        await self.refresh()

    async def confirm(self, tenant: str, now: datetime) -> None:
        """Note that everything that curation said of the tenant holds now."""
        await self._store.confirm(tenant, now)
        # Every tenant's word comes every ten seconds: to read all policies for each is too much.
        known = self.of(tenant)
        self._tenants[tenant] = replace(known, confirm_time=max(now, known.confirm_time or now))

    def writable_owners(self, who: Principal) -> frozenset[str] | None:
        """The owners that the principal may write; None: of all of the tenant."""
        return writable_owners(self.of(who.tenant), who)

    async def put_user_mutes(self, tenant: str, user: str, mutes: Sequence[EntryMute]) -> None:
        """Take over a user's muted entries."""
        await self._store.put_user_mutes(tenant, user, mutes)
        await self.refresh()
