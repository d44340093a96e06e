"""Tells retrieval what the files say: policies at once, passages in the background.

What was told is confirmed again and again, so that retrieval knows how old its mutes are.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

from hilvan_curation.core import publication as publish
from hilvan_curation.core.access import Vaults
from hilvan_curation.errors import RetrievalUnavailable
from hilvan_curation.model.passage import NoteEntry
from hilvan_curation.model.policy import SpacePolicy
from hilvan_curation.ports.retrieval import Retrieval

BATCH = 100
RETRY_FIRST_SECONDS = 0.2
RETRY_MOST_SECONDS = 10.0
POLICY_SECONDS = 2.0
"""How long a change waits for its policy to be in force before it is answered all the same."""

CONFIRM_SECONDS = 10.0
"""Between two words that nothing has changed. The assembler relies on mutes for 30 s after one."""

MET_MOST = 10_000
"""Tenants without vaults for which retrieval is told that nothing is muted."""

_log = structlog.get_logger()


@dataclass(slots=True)
class _Tenant:
    """What a tenant's files say, and what retrieval knows of it.

    ``policies`` are in force by space; None where one may be in force or not. ``known`` are the
    fingerprints of stored passages by entry id, of the owners in ``listed``. ``entries`` are
    kept so that a note is cut once. ``confirmed``: these policies were confirmed already.
    """

    wanted: Vaults = field(default_factory=Vaults)
    behind: bool = False
    policies: dict[str, SpacePolicy | None] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)
    entries: publish.Entries = field(default_factory=dict)
    telling: asyncio.Lock = field(default_factory=asyncio.Lock)
    confirmed: bool = False

    def due(self) -> dict[str, SpacePolicy]:
        """The policies that are to be in force, by space."""
        return {
            each.space.id: publish.policy(each, self.wanted.members_of(each.space))
            for each in self.wanted.snapshots
        }


class Publisher:
    """Keeps retrieval in step; run `run` for as long as the service lives."""

    def __init__(
        self,
        retrieval: Retrieval,
        *,
        policy_seconds: float = POLICY_SECONDS,
        confirm_seconds: float = CONFIRM_SECONDS,
    ) -> None:
        """Nothing is told before the first `publish` or `meet`."""
        self._retrieval = retrieval
        self._policy_seconds = policy_seconds
        self._confirm_seconds = confirm_seconds
        self._tenants: dict[str, _Tenant] = {}
        self._wake = asyncio.Event()

    async def publish(self, tenant: str, vaults: Vaults) -> None:
        """Put what changed of the policies in force, and let the passages follow.

        Retrieval that does not answer in time is told later; the caller does not wait for it.
        """
        known = self._tenants.setdefault(tenant, _Tenant())
        known.wanted = vaults
        try:
            async with asyncio.timeout(self._policy_seconds):
                await self._tell_policies(tenant, known)
        except (RetrievalUnavailable, TimeoutError) as error:
            _log.warning("retrieval was not told of policies yet", error=repr(error))
        known.behind = True
        self._wake.set()

    def meet(self, tenant: str) -> None:
        """Let retrieval know that a tenant without vaults has nothing muted; at most `MET_MOST`."""
        if tenant not in self._tenants and len(self._tenants) < MET_MOST:
            self._tenants[tenant] = _Tenant(behind=True)
            self._wake.set()

    async def run(self) -> None:
        """Tell what is still to be told, and confirm the rest; ends only by being cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._tell())
            group.create_task(self._beat())

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._confirm_seconds)
            # At once: one tenant whose policies are long in telling must not keep the others.
            confirming = [self._confirm(*each) for each in list(self._tenants.items())]
            await asyncio.gather(*confirming)

    async def _confirm(self, tenant: str, known: _Tenant) -> None:
        """Say that all that was told holds, unless something is still to be told."""
        try:
            async with asyncio.timeout(self._confirm_seconds / 2), known.telling:
                if known.policies == known.due():
                    await self._retrieval.confirm_policies(tenant)
                    known.confirmed = True
        except (RetrievalUnavailable, TimeoutError) as error:
            _log.warning("policies not confirmed", tenant=tenant, error=repr(error))
        except Exception:  # noqa: BLE001 (a fault of ours; the beat has to outlive it)
            _log.exception("policies not confirmed", tenant=tenant)

    async def _tell(self) -> None:
        pause = RETRY_FIRST_SECONDS
        while True:
            await self._wake.wait()
            self._wake.clear()
            # One tenant that can't be told of must not keep the others waiting.
            told = [await self._caught_up(*each) for each in list(self._tenants.items())]
            if all(told):
                pause = RETRY_FIRST_SECONDS
            else:
                await asyncio.sleep(pause)
                pause = min(pause * 2, RETRY_MOST_SECONDS)
                self._wake.set()

    async def _caught_up(self, tenant: str, known: _Tenant) -> bool:
        try:
            while known.behind:
                known.behind = False
                await self._tell_policies(tenant, known)
                await self._tell_passages(tenant, known)
        except RetrievalUnavailable as error:
            known.behind = True
            _log.warning("retrieval was not told yet", tenant=tenant, error=str(error))
        except Exception:  # noqa: BLE001 (a fault of ours; the worker has to outlive it)
            known.behind = True
            _log.exception("retrieval was not told yet", tenant=tenant)
        return not known.behind

    async def _tell_policies(self, tenant: str, known: _Tenant) -> None:
        # One at a time, and always the latest: an older policy must not come last.
        async with known.telling:
            wanted = known.due()
            if known.policies != wanted:
                known.confirmed = False
            for space_id in known.policies.keys() - wanted.keys():
                await self._retrieval.delete_policy(tenant, space_id)
                del known.policies[space_id]
            for space_id, policy in wanted.items():
                if known.policies.get(space_id) != policy:
                    known.policies[space_id] = None
                    await self._retrieval.put_policy(tenant, policy)
                    known.policies[space_id] = policy
        if not known.confirmed:
            await self._confirm(tenant, known)

    async def _tell_passages(self, tenant: str, known: _Tenant) -> None:
        snapshots = known.wanted.snapshots
        owners = {key for each in snapshots for key in publish.owners(each)} - known.listed
        if owners:
            known.known |= await self._retrieval.note_entries(tenant, sorted(owners))
            known.listed |= owners
        # In a thread: cutting a note takes about a millisecond, and calls are being answered.
        known.entries = await asyncio.to_thread(publish.entries, snapshots, known.entries)
        puts, deletes = await asyncio.to_thread(_changes, known.entries, known.known)
        # All deletes come first: a note may have moved from one space to another.
        if deletes:
            await self._retrieval.delete_notes(tenant, deletes)
            for entry_id in deletes:
                del known.known[entry_id]
        for start in range(0, len(puts), BATCH):
            batch = puts[start : start + BATCH]
            await self._retrieval.put_notes(tenant, batch)
            known.known |= {each.id: each.fingerprint for each in batch}


def _changes(
    entries: publish.Entries, known: Mapping[str, str]
) -> tuple[list[NoteEntry], list[str]]:
    return publish.changes(publish.by_id(entries), known)
