"""`ConsolidationInput` in SQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, insert, null, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hilvan_retrieval.adapters.record import codec
from hilvan_retrieval.adapters.record.database import Database
from hilvan_retrieval.adapters.record.stored import WITHOUT_VECTORS, read_stored
from hilvan_retrieval.adapters.record.tables import conflicts as kept
from hilvan_retrieval.adapters.record.tables import entries
from hilvan_retrieval.core.consolidation import DECAYING_LAYERS, is_live
from hilvan_retrieval.model.contradiction import FoundContradiction, RecordedContradiction
from hilvan_retrieval.model.entry import Entry, Layer, Owner, Uid, entry_uid


class SqlConsolidationInput:
    """What a consolidation reads. See `hilvan_retrieval.ports.ConsolidationInput`."""

    def __init__(self, database: Database) -> None:
        """Share the record's database."""
        self._database = database

    async def groups(self, tenant: str) -> list[tuple[Owner, Layer]]:
        """Whose entries there are, and of which layers."""
        named = select(entries.c.owner, entries.c.layer).where(entries.c.tenant == tenant)
        async with self._database.read() as connection:
            rows = await connection.execute(named.distinct())
            # Sorted here: databases disagree on the order of texts.
            return [(Owner.parse(owner), Layer(layer)) for owner, layer in sorted(map(tuple, rows))]

    async def members(self, tenant: str, owner: Owner, layer: Layer, limit: int) -> list[Uid]:
        """The entries of a group, newest first."""
        statement = (
            select(entries.c.uid)
            .where(
                entries.c.tenant == tenant,
                entries.c.owner == owner.key,
                entries.c.layer == layer.value,
            )
            # The sum keeps the planner from the index by time, which leads through all owners.
            .order_by((entries.c.update_us + 0).desc(), entries.c.id)
            .limit(limit)
        )
        async with self._database.read() as connection:
            return [Uid(uid) for uid in await connection.scalars(statement)]

    async def ended(self, tenant: str, before: datetime, after_id: str, limit: int) -> list[Entry]:
        """Entries whose validity ended, or that were replaced, before a moment."""
        cut = codec.micros(before)
        conditions = (
            or_(entries.c.valid_until_us < cut, entries.c.supersede_us < cut),
            entries.c.update_us < cut,
            _not_since(entries.c.decay_us, cut),
            entries.c.layer != Layer.NOTE.value,
        )
        return await self._page(tenant, conditions, after_id, limit)

    async def unconfirmed(
        self, tenant: str, before: datetime, above: float, after_id: str, limit: int
    ) -> list[Entry]:
        """Memories and procedures that nothing confirmed since a moment."""
        cut = codec.micros(before)
        conditions = (
            entries.c.layer.in_([layer.value for layer in DECAYING_LAYERS]),
            entries.c.confidence > above,
            entries.c.update_us <= cut,
            _not_since(entries.c.last_access_us, cut),
            _not_since(entries.c.decay_us, cut),
        )
        return await self._page(tenant, conditions, after_id, limit)

    async def record_conflicts(
        self,
        tenant: str,
        conflicts: Sequence[FoundContradiction],
        owners: frozenset[str] | None,
        time: datetime,
    ) -> int:
        """Keep conflicts with the contents that both entries have now."""
        unique = {(each.older_id, each.newer_id): each for each in conflicts}
        uids = sorted({entry_uid(tenant, each) for pair in unique for each in pair})

        async def work(connection: AsyncConnection) -> int:
            rows = (await connection.execute(WITHOUT_VECTORS, {"keys": uids})).all()
            stored = read_stored(rows, tenant).values()
            known = {each.entry.id: each.entry for each in stored if is_live(each.entry, time)}
            count = 0
            for (older_id, newer_id), found in unique.items():
                older, newer = known.get(older_id), known.get(newer_id)
                if older is None or newer is None or older_id == newer_id:
                    continue
                if older.owner == newer.owner and (owners is None or older.owner.key in owners):
                    await _keep(connection, tenant, found, (older, newer), codec.micros(time))
                    count += 1
            return count

        return await self._database.write(work, locks=(tenant,)) if unique else 0

    async def conflicts(
        self, tenant: str, after: tuple[str, str], limit: int
    ) -> list[RecordedContradiction]:
        """Kept conflicts by their ids."""
        key = tuple_(kept.c.older_id, kept.c.newer_id)
        statement = (
            select(kept)
            .where(kept.c.tenant == tenant, key > after)
            .order_by(kept.c.older_id, kept.c.newer_id)
            .limit(limit)
        )
        async with self._database.read() as connection:
            return [
                RecordedContradiction(
                    FoundContradiction(row.older_id, row.newer_id, row.evidence),
                    row.older_hash,
                    row.newer_hash,
                    row.seen_count,
                )
                for row in await connection.execute(statement)
            ]

    async def forget_conflicts(
        self, tenant: str, conflicts: Sequence[RecordedContradiction]
    ) -> None:
        """Remove conflicts of these contents."""

        async def work(connection: AsyncConnection) -> None:
            for each in conflicts:
                await connection.execute(delete(kept).where(*_is(tenant, each)))

        if conflicts:
            await self._database.write(work)

    async def _page(
        self,
        tenant: str,
        conditions: Sequence[ColumnElement[bool]],
        after_id: str,
        limit: int,
    ) -> list[Entry]:
        statement: Select[Any] = (
            select(*codec.ENTRY_COLUMNS)
            .where(entries.c.tenant == tenant, entries.c.id > after_id, *conditions)
            .order_by(entries.c.id)
            .limit(limit)
        )
        async with self._database.read() as connection:
            return [codec.row_entry(tuple(row)) for row in await connection.execute(statement)]


def _not_since(column: ColumnElement[int | None], cut: int | None) -> ColumnElement[bool]:
    return or_(column == null(), column <= cut)


def _is(tenant: str, conflict: RecordedContradiction) -> tuple[ColumnElement[bool], ...]:
    return (
        kept.c.tenant == tenant,
        kept.c.older_id == conflict.found.older_id,
        kept.c.newer_id == conflict.found.newer_id,
        kept.c.older_hash == conflict.older_hash,
        kept.c.newer_hash == conflict.newer_hash,
    )


async def _keep(
    connection: AsyncConnection,
    tenant: str,
    found: FoundContradiction,
    pair: tuple[Entry, Entry],
    now_us: int | None,
) -> None:
    older, newer = pair
    current = RecordedContradiction(found, older.content_hash, newer.content_hash)
    again = (
        update(kept)
        .where(*_is(tenant, current))
        .values(evidence=found.evidence, last_us=now_us, seen_count=kept.c.seen_count + 1)
    )
    if (await connection.execute(again)).rowcount:
        return
    key = {"tenant": tenant, "older_id": older.id, "newer_id": newer.id}
    of_old_contents = [kept.c[name] == value for name, value in key.items()]
    await connection.execute(delete(kept).where(*of_old_contents))
    await connection.execute(
        insert(kept).values(
            **key,
            older_hash=current.older_hash,
            newer_hash=current.newer_hash,
            evidence=found.evidence,
            first_us=now_us,
            last_us=now_us,
            seen_count=1,
        )
    )
