"""Tells retrieval what the files say: policies at once, passages in the background."""

import asyncio
from collections.abc import Sequence

import structlog

from hilvan_curation.core.access import Vaults
from hilvan_curation.core.publish import changes, passages, policy
from hilvan_curation.errors import RetrievalUnavailable
from hilvan_curation.model import SpaceKind, SpaceSnapshot
from hilvan_curation.ports import Retrieval

BATCH = 100
RETRY_FIRST_SECONDS = 0.2
RETRY_MOST_SECONDS = 10.0
POLICY_SECONDS = 2.0
"""How long a change waits for its policy to be in force before it is answered all the same."""

_log = structlog.get_logger()


class Publisher:
    """Keeps retrieval in step; run `run` for as long as the service lives."""

    def __init__(self, retrieval: Retrieval) -> None:
        """Nothing is told before the first `publish`."""
        self._retrieval = retrieval
        self._wanted: dict[str, Vaults] = {}
        self._known: dict[tuple[str, str], dict[str, str]] = {}
        self._late_policies: set[str] = set()
        self._wake = asyncio.Event()
        self._done = asyncio.Event()

    async def publish(self, tenant: str, before: Vaults, now: Vaults) -> None:
        """Put what changed of the policies in force, and let the passages follow.

        Retrieval that does not answer in time is told later; the caller does not wait for it.
        """
        self._wanted[tenant] = now
        try:
            async with asyncio.timeout(POLICY_SECONDS):
                await self._put_policies(tenant, before, now)
        except (RetrievalUnavailable, TimeoutError) as error:
            self._late_policies.add(tenant)
            _log.warning("retrieval was not told of policies yet", error=repr(error))
        self._wake.set()

    async def run(self) -> None:
        """Publish passages for ever; ends only by being cancelled."""
        pause = RETRY_FIRST_SECONDS
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._catch_up()
                pause = RETRY_FIRST_SECONDS
            except RetrievalUnavailable as error:
                _log.warning("retrieval was not told of notes yet", error=str(error))
                await asyncio.sleep(pause)
                pause = min(pause * 2, RETRY_MOST_SECONDS)
                self._wake.set()

    async def _catch_up(self) -> None:
        for tenant, vaults in list(self._wanted.items()):
            if tenant in self._late_policies:
                await self._put_policies(tenant, Vaults(), vaults)
                self._late_policies.discard(tenant)
            for snapshot in vaults.snapshots:
                await self._publish_notes(tenant, snapshot)
            await self._forget_gone(tenant, vaults)
            if self._wanted[tenant] is vaults:
                del self._wanted[tenant]

    async def _put_policies(self, tenant: str, before: Vaults, now: Vaults) -> None:
        old = {
            each.space.id: policy(each, before.members_of(each.space)) for each in before.snapshots
        }
        new = {each.space.id: policy(each, now.members_of(each.space)) for each in now.snapshots}
        for space_id, each in new.items():
            if old.get(space_id) != each:
                await self._retrieval.put_policy(tenant, each)
        for space_id in old.keys() - new.keys():
            await self._retrieval.delete_policy(tenant, space_id)

    async def _publish_notes(self, tenant: str, snapshot: SpaceSnapshot) -> None:
        key = (tenant, snapshot.space.id)
        if key not in self._known:
            self._known[key] = await self._retrieval.note_entries(tenant, _owners(snapshot))
        known = self._known[key]
        wanted = passages(snapshot)
        puts, deletes = changes(wanted, known)
        if deletes:
            await self._retrieval.delete_notes(tenant, deletes)
            for entry_id in deletes:
                del known[entry_id]
        for start in range(0, len(puts), BATCH):
            batch = puts[start : start + BATCH]
            await self._retrieval.put_notes(tenant, batch)
            known |= {each.id: each.fingerprint for each in batch}

    async def _forget_gone(self, tenant: str, vaults: Vaults) -> None:
        spaces = {each.space.id for each in vaults.snapshots}
        for known_tenant, space_id in list(self._known):
            if known_tenant == tenant and space_id not in spaces:
                await self._retrieval.delete_notes(tenant, list(self._known[tenant, space_id]))
                del self._known[tenant, space_id]


def _owners(snapshot: SpaceSnapshot) -> Sequence[str]:
    """Everybody whom passages of the space may belong to."""
    own = (
        f"user:{snapshot.space.owner}"
        if snapshot.space.kind is SpaceKind.PERSONAL
        else f"space:{snapshot.space.id}"
    )
    return [own, *(f"project:{project.id}" for project in snapshot.projects)]
