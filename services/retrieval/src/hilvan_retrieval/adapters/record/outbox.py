"""`Outbox` in SQL."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hilvan_retrieval.adapters.record.codec import text_hash, vector_blob
from hilvan_retrieval.adapters.record.database import Database
from hilvan_retrieval.adapters.record.entry import now_micros, put_vectors
from hilvan_retrieval.adapters.record.stored import WITHOUT_VECTORS, by_uid, read_stored
from hilvan_retrieval.adapters.record.tables import entries, outbox
from hilvan_retrieval.model.entry import Stored, Uid
from hilvan_retrieval.model.outbox import OutboxCounts, OutboxRow, ParkedRow


class SqlOutbox:
    """What each index does not have yet. See `hilvan_retrieval.ports.Outbox`."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        """``clock`` gives seconds since 1970, for retries."""
        self._database = database
        self._clock = clock

    def hold(self, feed: str) -> AbstractAsyncContextManager[bool]:
        """Keep every other worker from the feed."""
        return self._database.exclusive(f"outbox {feed}")

    async def due(self, feed: str, limit: int) -> list[OutboxRow]:
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
                outbox.c.feed == feed,
                outbox.c.parked.is_(False),
                outbox.c.due_us <= now_micros(self._clock),
            )
            .order_by(outbox.c.seq)
            .limit(limit)
        )
        async with self._database.read() as connection:
            return [OutboxRow(*row) for row in await connection.execute(statement)]

    async def load(self, rows: Sequence[OutboxRow], model: str | None) -> dict[Uid, Stored]:
        """The rows' entries as they are now."""
        uids = [row.uid for row in rows]
        return read_stored(await self._database.read_keys(by_uid(model), uids))

    async def save_vectors(self, model: str, made: Mapping[Uid, Stored]) -> None:
        """Keep embeddings that were made on the way, of texts that are still the same."""

        async def work(connection: AsyncConnection) -> None:
            found = await connection.execute(WITHOUT_VECTORS, {"keys": list(made)})
            current = read_stored(found.all())
            rows = [
                {
                    "uid": uid,
                    "model": model,
                    "text_hash": text_hash(stored.entry),
                    "vector": vector_blob(stored.vector),
                }
                for uid, stored in made.items()
                if stored.vector is not None
                and uid in current
                and text_hash(current[uid].entry) == text_hash(stored.entry)
            ]
            await put_vectors(connection, model, rows)

        await self._database.write(work, locks=await self._tenants(list(made)))

    async def settle(self, feed: str, rows: Sequence[OutboxRow]) -> None:  # noqa: ARG002 - see below
        """Remove rows that were not written again."""
        if rows:
            # A newer write of the entry has a newer seq, so its row is not among these. A seq is
            # of one feed; naming that as well would make the planner walk all of its rows.
            statement = delete(outbox).where(outbox.c.seq.in_([row.seq for row in rows]))
            await self._database.write(lambda connection: connection.execute(statement))

    async def postpone(
        self, feed: str, row: OutboxRow, error: str, retry_seconds: float | None
    ) -> None:
        """Count a failed attempt."""
        due = now_micros(self._clock) + int((retry_seconds or 0) * 1_000_000)
        statement = (
            update(outbox)
            .where(outbox.c.feed == feed, outbox.c.seq == row.seq)
            .values(
                attempts=outbox.c.attempts + 1,
                due_us=due,
                parked=retry_seconds is None,
                error=error[:500],
            )
        )
        await self._database.write(lambda connection: connection.execute(statement))

    async def announce(self, feed: str, uids: Sequence[Uid]) -> None:
        """Leave fresh rows."""
        if not uids:
            return
        now_us = now_micros(self._clock)

        async def work(connection: AsyncConnection) -> None:
            named = select(entries.c.uid, entries.c.tenant, entries.c.id)
            found = await connection.execute(named.where(entries.c.uid.in_(uids)))
            keys = {row.uid: (row.tenant, row.id) for row in found}
            stale = outbox.c.uid.in_(uids), outbox.c.feed == feed
            await connection.execute(delete(outbox).where(*stale))
            rows = []
            for uid in dict.fromkeys(uids):
                # What only an index knows has no name any more; its uid is enough to remove it.
                tenant, entry_id = keys.get(uid, ("", ""))
                rows.append(
                    {
                        "feed": feed,
                        "uid": uid,
                        "tenant": tenant,
                        "entry_id": entry_id,
                        "create_us": now_us,
                    }
                )
            await connection.execute(insert(outbox), rows)

        await self._database.write(work, locks=await self._tenants(uids))

    async def _tenants(self, uids: Sequence[Uid]) -> list[str]:
        """Whose entries these are, to lock them: an entry never changes its tenant."""
        statement = select(entries.c.tenant).where(entries.c.uid.in_(uids)).distinct()
        async with self._database.read() as connection:
            return list(await connection.scalars(statement))

    async def unsettled(self, uids: Sequence[Uid], feeds: Sequence[str]) -> bool:
        """Whether any of the feeds is still behind."""
        if not uids:
            return False
        rows = outbox.c.uid.in_(list(uids)), outbox.c.feed.in_(list(feeds))
        statement = select(outbox.c.seq).where(*rows).limit(1)
        async with self._database.read() as connection:
            return await connection.scalar(statement) is not None

    async def behind(self, feed: str, bucket: str) -> set[Uid]:
        """The entries of a bucket that the feed is behind on."""
        statement = select(outbox.c.uid).where(
            outbox.c.uid >= bucket, outbox.c.uid < bucket_end(bucket), outbox.c.feed == feed
        )
        async with self._database.read() as connection:
            return {Uid(uid) for uid in await connection.scalars(statement)}

    async def counts(self, feed: str) -> OutboxCounts:
        """How many rows wait and how many are parked."""
        is_parked = outbox.c.parked.is_(True)
        statement = select(
            func.count(),
            func.count().filter(is_parked),
            func.min(outbox.c.create_us).filter(~is_parked),
        ).where(outbox.c.feed == feed)
        async with self._database.read() as connection:
            total, stuck, oldest = (await connection.execute(statement)).one()
        return OutboxCounts(pending=total - stuck, parked=stuck, oldest_us=oldest)

    async def parked(self, feed: str, limit: int) -> list[ParkedRow]:
        """Rows that were given up, oldest first."""
        columns = (
            outbox.c.uid,
            outbox.c.tenant,
            outbox.c.entry_id,
            outbox.c.attempts,
            outbox.c.error,
        )
        statement = (
            select(*columns)
            .where(outbox.c.feed == feed, outbox.c.parked.is_(True))
            .order_by(outbox.c.seq)
            .limit(limit)
        )
        async with self._database.read() as connection:
            return [ParkedRow(*row) for row in await connection.execute(statement)]


def bucket_end(bucket: str) -> str:
    """What sorts behind every uid of a bucket: ``ff`` is followed by ``g``."""
    return "g" if bucket == "ff" else f"{int(bucket, 16) + 1:02x}"
