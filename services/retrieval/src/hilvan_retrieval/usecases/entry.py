"""Writes: to the record first, from there to the indexes."""

import asyncio
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from hilvan_kit.auth import Principal
from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.core import entry as outcomes
from hilvan_retrieval.core import filter as plan
from hilvan_retrieval.core.filter import listed_owners
from hilvan_retrieval.core.policy import can_read, can_write
from hilvan_retrieval.errors import (
    NotFound,
    NotYetSearchable,
    Violation,
    WriteRefused,
)
from hilvan_retrieval.model.embedding import Vector
from hilvan_retrieval.model.entry import Answer, Change, Entry, Owner, RequestKey, entry_uid
from hilvan_retrieval.model.index import Filter, VectorQuery
from hilvan_retrieval.ports.entry import EntryStore
from hilvan_retrieval.usecases.generation import Live
from hilvan_retrieval.usecases.outbox import OutboxWorker
from hilvan_retrieval.usecases.policy import PolicyBook

NEAREST_LIMIT = 5
"""How many neighbours a statement is compared with: the model may not rank the same words first."""


class EntryWriter:
    """Changes entries, for those who may."""

    def __init__(
        self,
        store: EntryStore,
        indexer: OutboxWorker,
        live: Callable[[], Live],
        policies: PolicyBook,
    ) -> None:
        """``live`` is asked only by `remember`, for what is said already."""
        self._store = store
        self._indexer = indexer
        self._live = live
        self._policies = policies
        self._remembering: weakref.WeakValueDictionary[tuple[str, Owner], asyncio.Lock] = (
            weakref.WeakValueDictionary()
        )

    async def upsert(self, who: Principal, entry: Entry, request: RequestKey | None) -> Answer:
        """Create or replace. Raises WriteRefused, InvalidInput, RequestIdReused."""
        self._may_write(who, entry.owner)

        def decide(current: Mapping[str, Entry]) -> Change:
            # An id that is somebody else's must not tell that it exists.
            self._hide(who, entry.id, current, on_write=True)
            return outcomes.upsert(entry, self._visible(who, current))

        return await self._change(who, [entry.id, entry.superseded_by], decide, request)

    async def update(
        self,
        who: Principal,
        entry_id: str,
        values: Mapping[str, object],
        etag: str,
        now: datetime,
        request: RequestKey | None,
    ) -> Answer:
        """Change fields. Raises NotFound, WriteRefused, Conflict, RequestIdReused."""

        def decide(current: Mapping[str, Entry]) -> Change:
            self._hide(who, entry_id, current)
            return outcomes.update(entry_id, values, etag, now, self._visible(who, current))

        return await self._change(who, [entry_id], decide, request)

    async def delete(
        self, who: Principal, entry_id: str, etag: str, request: RequestKey | None
    ) -> Answer:
        """Forget. Raises NotFound, WriteRefused, Conflict, RequestIdReused."""

        def decide(current: Mapping[str, Entry]) -> Change:
            self._hide(who, entry_id, current)
            return outcomes.remove(entry_id, etag, current)

        return await self._change(who, [entry_id], decide, request)

    async def supersede(
        self,
        who: Principal,
        entry_id: str,
        superseded_by: str,
        etag: str,
        request: RequestKey | None,
    ) -> Answer:
        """Retire an entry for another. Raises NotFound, WriteRefused, Conflict, InvalidInput."""

        def decide(current: Mapping[str, Entry]) -> Change:
            self._hide(who, entry_id, current)
            self._hide(who, superseded_by, current)
            return outcomes.supersede(entry_id, superseded_by, etag, current)

        return await self._change(who, [entry_id, superseded_by], decide, request)

    async def remember(
        self, who: Principal, entry: Entry, now: datetime, request: RequestKey | None
    ) -> Answer:
        """Store, or reinforce what says the same. Raises WriteRefused, SourceError."""
        self._may_write(who, entry.owner)
        live = self._live()
        lock = self._remembering.setdefault((who.tenant, entry.owner), asyncio.Lock())
        # Two statements of one owner at once must not miss each other.
        async with lock:
            matrix = await live.embedder.embed_passages([entry.searchable_text])
            vector = matrix[0]
            similar = await self._nearest(live, who.tenant, entry, vector, now)

            def decide(current: Mapping[str, Entry]) -> Change:
                self._hide(who, entry.id, current, on_write=True)
                visible = self._visible(who, current)
                change = outcomes.remember(entry, similar, now, visible, vector)
                return replace(change, model=live.embedder.model.id)

            ids = [entry.id, entry.superseded_by, *([similar.entry.id] if similar else [])]
            return await self._change(who, ids, decide, request)

    async def import_batch(
        self,
        who: Principal,
        records: Mapping[int, Entry],
        vectors: Mapping[int, Vector],
        model: str = "",
    ) -> tuple[Answer, outcomes.ImportFaults]:
        """Take in what can be taken in of the records; all is given by index in the batch.

        The vectors were made by ``model``. One bad record never fails the others: faults come by
        index.
        """
        faults: outcomes.ImportFaults = {}

        def decide(current: Mapping[str, Entry]) -> Change:
            nonlocal faults
            refused = self._refused(who, records, current)
            good = {index: each for index, each in records.items() if index not in refused}
            visible = self._visible(who, current)
            change, faults = outcomes.import_batch(good, vectors, visible)
            faults |= refused
            return replace(change, model=model)

        ids = [each for r in records.values() for each in (r.id, r.superseded_by)]
        answer = await self._change(who, ids, decide, None)
        return answer, faults

    async def count_accesses(
        self, who: Principal, ids: Sequence[str], now: datetime, request: RequestKey | None
    ) -> int:
        """Count one access of each entry that the caller reaches."""
        owners = listed_owners(self._policies.of(who.tenant), who, None)
        return await self._store.count_accesses(who.tenant, ids, owners, now, request)

    async def settle(self, who: Principal, ids: Sequence[str], deadline: Deadline) -> None:
        """Wait until both indexes have the entries. Raises NotYetSearchable at the deadline."""
        uids = [entry_uid(who.tenant, entry_id) for entry_id in ids]
        if not await self._indexer.settled(uids, deadline):
            raise NotYetSearchable(ids[0])

    async def _change(
        self,
        who: Principal,
        ids: Sequence[str],
        decide: "outcomes.Decide",
        request: RequestKey | None,
    ) -> Answer:
        wanted = [each for each in ids if each]
        answer = await self._store.change(who.tenant, wanted, decide, request)
        self._indexer.notice()
        return answer

    async def _nearest(
        self, live: Live, tenant: str, entry: Entry, vector: Vector, now: datetime
    ) -> outcomes.Nearest | None:
        """The live entry of the same owner and layer that is most like the new one.

        The index may not have seen the newest entries yet, so those are compared here.
        """
        now_ms = int(now.timestamp() * 1000)
        chosen = Filter(tenant, frozenset([entry.owner.key]), entry.layer, now_ms)
        model = live.embedder.model
        (hits,) = await live.vector.search([VectorQuery(chosen, vector, NEAREST_LIMIT)])
        near = await self._store.hydrate(tenant, [hit.uid for hit in hits], model=model.id)
        vectors = {each.entry.id: each.vector for each in near.values()}
        vectors |= await self._store.recent_vectors(
            tenant, entry.owner, entry.layer, live.vector_feed, model.id
        )
        known = await self._store.entries(tenant, list(vectors))
        calibrated = model.calibration.of
        return outcomes.nearest(
            entry,
            [
                (each, calibrated(float(other @ vector)))
                for each in known.values()
                if plan.admits(chosen, tenant, each) and (other := vectors[each.id]) is not None
            ],
        )

    def _refused(
        self, who: Principal, records: Mapping[int, Entry], current: Mapping[str, Entry]
    ) -> outcomes.ImportFaults:
        policy = self._policies.of(who.tenant)
        faults: outcomes.ImportFaults = {}
        for index, record in records.items():
            old = current.get(record.id)
            if not can_write(policy, who, record.owner):
                faults[index] = (Violation("entry.owner", "may not be written by this credential"),)
            elif old is not None and not can_write(policy, who, old.owner):
                faults[index] = (Violation("entry.id", "is not free"),)
        return faults

    def _visible(self, who: Principal, current: Mapping[str, Entry]) -> Mapping[str, Entry]:
        """What the caller can see: a link to anything else is a link to what is not there."""
        policy = self._policies.of(who.tenant)
        return {name: each for name, each in current.items() if can_read(policy, who, each.owner)}

    def _may_write(self, who: Principal, owner: Owner) -> None:
        if not can_write(self._policies.of(who.tenant), who, owner):
            raise WriteRefused(owner.key)

    def _hide(
        self,
        who: Principal,
        entry_id: str,
        current: Mapping[str, Entry],
        *,
        on_write: bool = False,
    ) -> None:
        """Refuse what the caller may not change; what it can't see answers like nothing at all."""
        entry = current.get(entry_id)
        if entry is None:
            return
        policy = self._policies.of(who.tenant)
        if can_write(policy, who, entry.owner):
            return
        if can_read(policy, who, entry.owner):
            raise WriteRefused(entry.owner.key)
        if on_write:
            raise WriteRefused("this id")
        raise NotFound(entry_id)
