"""`EntryStore` in SQL."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from time import time as wall_clock

from sqlalchemy import and_, delete, func, insert, or_, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hilvan_retrieval.adapters.record import codec
from hilvan_retrieval.adapters.record.database import Database
from hilvan_retrieval.adapters.record.stored import WITHOUT_VECTORS, by_uid, read_stored
from hilvan_retrieval.adapters.record.tables import entries, generations, outbox, requests, vectors
from hilvan_retrieval.errors import RequestIdReused
from hilvan_retrieval.model.embedding import Vector
from hilvan_retrieval.model.entry import (
    Answer,
    Change,
    Entry,
    EntryQuery,
    Layer,
    Owner,
    RequestKey,
    Stored,
    Uid,
    entry_uid,
)

REQUEST_KEPT_SECONDS = 24 * 3600


class SqlEntryStore:
    """The record. See `hilvan_retrieval.ports.EntryStore`."""

    def __init__(self, database: Database, clock: Callable[[], float] = wall_clock) -> None:
        """``clock`` gives seconds since 1970, for the age of kept answers."""
        self._database = database
        self._clock = clock

    async def change(
        self,
        tenant: str,
        ids: Sequence[str],
        decide: Callable[[Mapping[str, Entry]], Change],
        request: RequestKey | None = None,
    ) -> Answer:
        """Change the record in one transaction."""

        async def work(connection: AsyncConnection) -> Answer:
            if request is not None:
                kept = await self._kept_answer(connection, tenant, request)
                if kept is not None:
                    return kept
            current = await with_links(connection, tenant, ids)
            change = decide(current)
            puts = await write_change(connection, tenant, ids, current, change, self._clock)
            answer = _with_versions(change.answer, puts)
            if request is not None:
                await self._keep_answer(connection, tenant, request, answer)
            return answer

        return await self._database.write(work, locks=(tenant,))

    async def count_accesses(
        self,
        tenant: str,
        ids: Sequence[str],
        owners: frozenset[str] | None,
        time: datetime,
        request: RequestKey | None,
    ) -> int:
        """Count one access of each of these entries."""
        uids = sorted({entry_uid(tenant, entry_id) for entry_id in ids})
        statement = (
            update(entries)
            .where(entries.c.uid.in_(uids))
            .values(access_count=entries.c.access_count + 1, last_access_us=codec.micros(time))
        )
        if owners is not None:
            statement = statement.where(entries.c.owner.in_(sorted(owners)))

        async def work(connection: AsyncConnection) -> int:
            if request is not None:
                kept = await self._kept_answer(connection, tenant, request)
                if kept is not None:
                    return int(kept.outcome)
            counted = (await connection.execute(statement)).rowcount
            if request is not None:
                await self._keep_answer(connection, tenant, request, Answer(str(counted)))
            return int(counted)

        return await self._database.write(work, locks=(tenant,))

    async def entries(self, tenant: str, ids: Sequence[str]) -> dict[str, Entry]:
        """The entries of these ids."""
        keys = [entry_uid(tenant, entry_id) for entry_id in ids]
        stored = read_stored(await self._database.read_keys(WITHOUT_VECTORS, keys), tenant)
        return {each.entry.id: each.entry for each in stored.values()}

    async def hydrate(
        self, tenant: str, uids: Sequence[Uid], *, model: str | None
    ) -> dict[Uid, Stored]:
        """The entries behind an index's hits."""
        return read_stored(await self._database.read_keys(by_uid(model), uids), tenant)

    async def page(self, query: EntryQuery) -> list[Entry]:
        """A page by falling update time."""
        statement = select(*codec.ENTRY_COLUMNS).where(entries.c.tenant == query.tenant)
        if query.owners is not None:
            statement = statement.where(entries.c.owner.in_(sorted(query.owners)))
        if query.layers:
            statement = statement.where(entries.c.layer.in_(sorted(query.layers)))
        if query.categories:
            statement = statement.where(entries.c.category.in_(sorted(query.categories)))
        if query.updated_after is not None:
            statement = statement.where(entries.c.update_us > codec.micros(query.updated_after))
        if query.after is not None:
            update_us, entry_id = query.after
            statement = statement.where(
                # Says nothing new, but tells the planner where in the index to begin.
                entries.c.update_us <= update_us,
                or_(
                    entries.c.update_us < update_us,
                    and_(entries.c.update_us == update_us, entries.c.id > entry_id),
                ),
            )
        statement = statement.order_by(entries.c.update_us.desc(), entries.c.id).limit(query.limit)
        async with self._database.read() as connection:
            return [codec.row_entry(tuple(row)) for row in await connection.execute(statement)]

    async def recent_vectors(
        self, tenant: str, owner: Owner, layer: Layer, feed: str, model: str
    ) -> dict[str, Vector]:
        """Vectors that the feed's index has not seen yet."""
        # From the outbox, which is nearly empty, to the entries, of which there may be many: the
        # uid implies the tenant, and a condition on it would offer the planner the long way.
        unseen = select(outbox.c.uid).where(outbox.c.feed == feed, outbox.c.tenant == tenant)
        statement = (
            select(entries.c.id, vectors.c.vector)
            .join(vectors, vectors.c.uid == entries.c.uid)
            .where(
                entries.c.uid.in_(unseen),
                entries.c.owner == owner.key,
                entries.c.layer == layer.value,
                vectors.c.model == model,
            )
        )
        async with self._database.read() as connection:
            rows = await connection.execute(statement)
            return {row.id: codec.blob_vector(row.vector) for row in rows}

    async def count(self, tenant: str) -> int:
        """How many entries the tenant has."""
        statement = select(func.count()).where(entries.c.tenant == tenant)
        async with self._database.read() as connection:
            return int(await connection.scalar(statement) or 0)

    async def ping(self) -> None:
        """Read one value."""
        async with self._database.read() as connection:
            await connection.execute(text("SELECT 1"))

    async def close(self) -> None:
        """Release the database."""
        await self._database.close()

    async def _kept_answer(
        self, connection: AsyncConnection, tenant: str, request: RequestKey
    ) -> Answer | None:
        oldest = now_micros(self._clock) - REQUEST_KEPT_SECONDS * 1_000_000
        await connection.execute(delete(requests).where(requests.c.create_us < oldest))
        row = (
            await connection.execute(
                select(requests.c.digest, requests.c.answer).where(
                    requests.c.tenant == tenant, requests.c.request_id == request.request_id
                )
            )
        ).first()
        if row is None:
            return None
        if row.digest != request.digest:
            raise RequestIdReused(request.request_id)
        return codec.text_answer(row.answer)

    async def _keep_answer(
        self, connection: AsyncConnection, tenant: str, request: RequestKey, answer: Answer
    ) -> None:
        await connection.execute(
            insert(requests).values(
                tenant=tenant,
                request_id=request.request_id,
                digest=request.digest,
                answer=codec.answer_text(answer),
                create_us=now_micros(self._clock),
            )
        )


def now_micros(clock: Callable[[], float]) -> int:
    """The clock in microseconds."""
    return int(clock() * 1_000_000)


async def write_change(
    connection: AsyncConnection,
    tenant: str,
    ids: Sequence[str],
    current: Mapping[str, Entry],
    change: Change,
    clock: Callable[[], float],
) -> list[Entry]:
    """Write a change, and its rows in the outbox, inside a transaction; the puts as written.

    ``current`` is what the transaction has read for ``ids``.
    """
    unread = list({each.id for each in change.puts} - set(ids) - current.keys())
    old = {**current, **await _load(connection, tenant, unread)}
    puts = [replace(each, version=_version(old, each.id) + 1) for each in change.puts]
    await _delete(connection, tenant, change.deletes)
    await _put(connection, tenant, puts, change)
    if not change.quiet:
        touched = [*(entry.id for entry in puts), *change.deletes]
        await _announce(connection, tenant, touched, now_micros(clock))
    return puts


async def _load(connection: AsyncConnection, tenant: str, ids: Sequence[str]) -> dict[str, Entry]:
    if not ids:
        return {}
    keys = [entry_uid(tenant, entry_id) for entry_id in ids]
    rows = (await connection.execute(WITHOUT_VECTORS, {"keys": keys})).all()
    return {each.entry.id: each.entry for each in read_stored(rows, tenant).values()}


async def with_links(
    connection: AsyncConnection, tenant: str, ids: Sequence[str]
) -> dict[str, Entry]:
    """The entries of ``ids``, those that they replaced, and those that replaced them, by links."""
    linked = select(*codec.ENTRY_COLUMNS).where(
        entries.c.tenant == tenant, entries.c.superseded_by.in_(ids)
    )
    known = {row[0]: codec.row_entry(tuple(row)) for row in await connection.execute(linked)}
    wanted = set(ids)
    while wanted:
        fresh = await _load(connection, tenant, sorted(wanted))
        known |= fresh
        wanted = {each.superseded_by for each in fresh.values() if each.superseded_by}
        wanted -= known.keys()
    return known


def _version(current: Mapping[str, Entry], entry_id: str) -> int:
    return current[entry_id].version if entry_id in current else 0


def _with_versions(answer: Answer, puts: Sequence[Entry]) -> Answer:
    written = {entry.id: entry for entry in puts}
    if answer.entry is None or answer.entry.id not in written:
        return answer
    return replace(answer, entry=written[answer.entry.id])


async def _delete(connection: AsyncConnection, tenant: str, ids: Sequence[str]) -> None:
    if ids:
        uids = [entry_uid(tenant, entry_id) for entry_id in ids]
        await connection.execute(delete(entries).where(entries.c.uid.in_(uids)))
        await connection.execute(delete(vectors).where(vectors.c.uid.in_(uids)))


async def _put(
    connection: AsyncConnection, tenant: str, puts: Sequence[Entry], change: Change
) -> None:
    if not puts:
        return
    rows = [codec.stored_row(tenant, entry) for entry in puts]
    uids = [row["uid"] for row in rows]
    # A vector of a text that has changed must not outlive it.
    hashes = {row["uid"]: codec.text_hash(entry) for row, entry in zip(rows, puts, strict=True)}
    kept = await connection.execute(
        select(vectors.c.uid, vectors.c.text_hash).where(vectors.c.uid.in_(uids))
    )
    stale = {row.uid for row in kept if row.text_hash != hashes[row.uid]}
    given = [
        {
            "uid": row["uid"],
            "model": change.model,
            "text_hash": hashes[row["uid"]],
            "vector": codec.vector_blob(change.vectors[entry.id]),
        }
        for row, entry in zip(rows, puts, strict=True)
        if entry.id in change.vectors
    ]
    await connection.execute(delete(entries).where(entries.c.uid.in_(uids)))
    await connection.execute(insert(entries), rows)
    if stale:
        await connection.execute(delete(vectors).where(vectors.c.uid.in_(sorted(stale))))
    await put_vectors(connection, change.model, given)


async def put_vectors(
    connection: AsyncConnection, model: str, rows: Sequence[Mapping[str, object]]
) -> None:
    """Keep a model's vectors, replacing those that it made before."""
    if rows:
        uids = [row["uid"] for row in rows]
        old = vectors.c.uid.in_(uids), vectors.c.model == model
        await connection.execute(delete(vectors).where(*old))
        await connection.execute(insert(vectors), rows)


async def _announce(
    connection: AsyncConnection, tenant: str, ids: Sequence[str], now_us: int
) -> None:
    """Leave a row for every feed; one that is there already moves to the end, as if new."""
    if not ids:
        return
    uids = {entry_id: entry_uid(tenant, entry_id) for entry_id in ids}
    feeds = (await connection.execute(select(generations.c.source, generations.c.number))).all()
    await connection.execute(delete(outbox).where(outbox.c.uid.in_(list(uids.values()))))
    rows = [
        {
            "feed": f"{source}.{number}",
            "uid": uid,
            "tenant": tenant,
            "entry_id": entry_id,
            "create_us": now_us,
        }
        for entry_id, uid in uids.items()
        for source, number in feeds
    ]
    if rows:
        await connection.execute(insert(outbox), rows)
