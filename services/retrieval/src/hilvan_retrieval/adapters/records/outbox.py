"""`Outbox` in SQL."""

import time
from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hilvan_retrieval.adapters.records.codec import text_hash, vector_blob
from hilvan_retrieval.adapters.records.database import Database
from hilvan_retrieval.adapters.records.loading import WITH_VECTORS, WITHOUT_VECTORS, read_stored
from hilvan_retrieval.adapters.records.store import now_micros
from hilvan_retrieval.adapters.records.tables import outbox, vectors
from hilvan_retrieval.model import OutboxCounts, OutboxRow, Source, Stored, Uid


class SqlOutbox:
    """What each index does not have yet. See `hilvan_retrieval.ports.Outbox`."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        """``clock`` gives seconds since 1970, for retries."""
        self._database = database
        self._clock = clock

    async def due(self, source: Source, limit: int) -> list[OutboxRow]:
        """Rows to apply now, oldest first."""
        columns = (
            outbox.c.seq,
            outbox.c.tenant,
            outbox.c.entry_id,
            outbox.c.uid,
            outbox.c.attempts,
        )
        statement = (
            select(*columns)
            .where(
                outbox.c.source == source.value,
                outbox.c.parked.is_(False),
                outbox.c.due_us <= now_micros(self._clock),
            )
            .order_by(outbox.c.seq)
            .limit(limit)
        )
        async with self._database.read() as connection:
            return [OutboxRow(*row) for row in await connection.execute(statement)]

    async def load(self, rows: Sequence[OutboxRow]) -> dict[Uid, Stored]:
        """The rows' entries as they are now."""
        return read_stored(await self._database.read_keys(WITH_VECTORS, [row.uid for row in rows]))

    async def save_vectors(self, made: Mapping[Uid, Stored]) -> None:
        """Keep embeddings that were made on the way, of texts that are still the same."""

        async def work(connection: AsyncConnection) -> None:
            found = await connection.execute(WITHOUT_VECTORS, {"keys": list(made)})
            current = read_stored(found.all())
            rows = [
                {
                    "uid": uid,
                    "text_hash": text_hash(stored.entry),
                    "vector": vector_blob(stored.vector),
                }
                for uid, stored in made.items()
                if stored.vector is not None
                and uid in current
                and text_hash(current[uid].entry) == text_hash(stored.entry)
            ]
            if rows:
                uids = [row["uid"] for row in rows]
                await connection.execute(delete(vectors).where(vectors.c.uid.in_(uids)))
                await connection.execute(insert(vectors), rows)

        await self._database.write(work)

    async def settle(self, source: Source, rows: Sequence[OutboxRow]) -> None:  # noqa: ARG002 - see below
        """Remove rows that were not written again."""
        if rows:
            # A newer write of the entry has a newer seq, so its row is not among these. A seq is
            # of one source; naming that as well would make the planner walk all of its rows.
            statement = delete(outbox).where(outbox.c.seq.in_([row.seq for row in rows]))
            await self._database.write(lambda connection: connection.execute(statement))

    async def postpone(
        self, source: Source, row: OutboxRow, error: str, retry_seconds: float | None
    ) -> None:
        """Count a failed attempt."""
        due = now_micros(self._clock) + int((retry_seconds or 0) * 1_000_000)
        statement = (
            update(outbox)
            .where(outbox.c.source == source.value, outbox.c.seq == row.seq)
            .values(
                attempts=outbox.c.attempts + 1,
                due_us=due,
                parked=retry_seconds is None,
                error=error[:500],
            )
        )
        await self._database.write(lambda connection: connection.execute(statement))

    async def unsettled(self, uids: Sequence[Uid]) -> bool:
        """Whether any index is still behind."""
        if not uids:
            return False
        statement = select(outbox.c.seq).where(outbox.c.uid.in_(list(uids))).limit(1)
        async with self._database.read() as connection:
            return await connection.scalar(statement) is not None

    async def counts(self, source: Source) -> OutboxCounts:
        """How many rows wait and how many are parked."""
        parked = func.count().filter(outbox.c.parked.is_(True))
        statement = select(func.count(), parked).where(outbox.c.source == source.value)
        async with self._database.read() as connection:
            total, stuck = (await connection.execute(statement)).one()
        return OutboxCounts(pending=total - stuck, parked=stuck)
