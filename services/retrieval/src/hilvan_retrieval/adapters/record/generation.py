"""`GenerationStore` in SQL."""

import time
from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import (
    ColumnElement,
    Insert,
    delete,
    exists,
    insert,
    literal,
    not_,
    select,
    text,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from hilvan_retrieval.adapters.record import codec
from hilvan_retrieval.adapters.record.database import Database
from hilvan_retrieval.adapters.record.entry import now_micros
from hilvan_retrieval.adapters.record.outbox import bucket_end
from hilvan_retrieval.adapters.record.tables import entries, generations, meta, outbox, vectors
from hilvan_retrieval.errors import ReindexRefused
from hilvan_retrieval.model.entry import BUCKETS, Entry, Uid
from hilvan_retrieval.model.generation import Generation, GenerationState
from hilvan_retrieval.model.index import Source

LOCK = "generations"
"""What every change of them locks: each decides by what there is."""


class SqlGenerationStore:
    """Which indexes there are. See `hilvan_retrieval.ports.GenerationStore`."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        """``clock`` gives seconds since 1970, for the age of outbox rows."""
        self._database = database
        self._clock = clock

    async def all(self) -> list[Generation]:
        """Every generation."""
        async with self._database.read() as connection:
            return await _all(connection)

    async def begin(
        self, source: Source, engine: str, recipe: str, state: GenerationState
    ) -> Generation:
        """Make the next generation."""

        async def work(connection: AsyncConnection) -> Generation:
            await _stop_writers(connection)
            known = [each for each in await _all(connection) if each.source is source]
            for other in known:
                if other.state is state and state is not GenerationState.RETIRED:
                    if (other.engine, other.recipe) == (engine, recipe):
                        return other
                    if state is GenerationState.BUILDING:
                        raise ReindexRefused(f"{other.feed} is being built; drop it first")
                    await _set(connection, other, state=GenerationState.RETIRED.value)
            number = await _next_number(connection, source)
            filled = await _filled_at_first(connection)
            made = Generation(source, number, engine, recipe, state, filled)
            await connection.execute(insert(generations).values(**_row(made)))
            return made

        return await self._database.write(work, locks=(LOCK,))

    async def fill(self, generation: Generation, rows: int) -> Generation:
        """Put the next buckets into the outbox, and count them, at once."""
        now_us = now_micros(self._clock)

        async def work(connection: AsyncConnection) -> Generation:
            current = await _find(connection, generation)
            filled, put = current.filled, 0
            while filled < len(BUCKETS) and put < rows:
                result = await connection.execute(
                    _filling(generation.feed, BUCKETS[filled], now_us)
                )
                put += result.rowcount
                filled += 1
            await _set(connection, generation, filled=filled)
            return replace(current, filled=filled)

        return await self._database.write(work, locks=(LOCK,))

    async def refill(self, generation: Generation) -> Generation:
        """Begin to fill it again, where anything is neither there nor on its way."""
        is_waiting = exists().where(outbox.c.uid == entries.c.uid, outbox.c.feed == generation.feed)
        lost = select(entries.c.uid).where(not_(is_waiting)).limit(1)

        async def work(connection: AsyncConnection) -> Generation:
            is_lost = (await connection.execute(lost)).first() is not None
            filled = 0 if is_lost else len(BUCKETS)
            await _set(connection, generation, filled=filled)
            return replace(generation, filled=filled)

        return await self._database.write(work, locks=(LOCK,))

    async def switch(self, generation: Generation) -> None:
        """Make it the live one."""

        async def work(connection: AsyncConnection) -> None:
            for other in await _all(connection):
                if other.source is generation.source and other.state is GenerationState.LIVE:
                    await _set(connection, other, state=GenerationState.RETIRED.value)
            await _set(connection, generation, state=GenerationState.LIVE.value)

        await self._database.write(work, locks=(LOCK,))

    async def drop(self, generation: Generation) -> None:
        """Forget it."""

        async def work(connection: AsyncConnection) -> None:
            await _stop_writers(connection)
            current = await _find(connection, generation)
            if current.state is GenerationState.LIVE:
                raise ReindexRefused(f"{generation.feed} answers searches; switch first")
            await connection.execute(delete(outbox).where(outbox.c.feed == generation.feed))
            await connection.execute(delete(generations).where(*_key(generation)))
            if generation.source is Source.VECTOR:
                used = select(generations.c.recipe).where(
                    generations.c.source == Source.VECTOR.value
                )
                await connection.execute(delete(vectors).where(vectors.c.model.not_in(used)))

        await self._database.write(work, locks=(LOCK,))

    async def bucket(self, bucket: str) -> dict[Uid, tuple[str, Entry]]:
        """The record's part of a bucket."""
        statement = select(entries.c.uid, entries.c.tenant, *codec.ENTRY_COLUMNS).where(
            entries.c.uid >= bucket, entries.c.uid < bucket_end(bucket)
        )
        async with self._database.read() as connection:
            rows = (await connection.execute(statement)).all()
        return {Uid(row[0]): (row[1], codec.row_entry(tuple(row[2:]))) for row in rows}


def _filling(feed: str, bucket: str, now_us: int) -> Insert:
    """Rows for the entries of a bucket that have none in the feed yet."""
    is_there = exists().where(outbox.c.uid == entries.c.uid, outbox.c.feed == feed)
    missing = select(
        literal(feed),
        entries.c.uid,
        entries.c.tenant,
        entries.c.id,
        literal(now_us),
        # A default of ours is none of the database's: an INSERT … SELECT names every column.
        literal(0),
        literal(0),
        literal(value=False),
        literal(""),
    ).where(entries.c.uid >= bucket, entries.c.uid < bucket_end(bucket), not_(is_there))
    columns = ("feed", "uid", "tenant", "entry_id", "create_us", "attempts", "due_us")
    return insert(outbox).from_select((*columns, "parked", "error"), missing)


async def _filled_at_first(connection: AsyncConnection) -> int:
    """Of no entries everything is filled: what comes later has rows of its own."""
    is_empty = (await connection.execute(select(entries.c.uid).limit(1))).first() is None
    return len(BUCKETS) if is_empty else 0


async def _next_number(connection: AsyncConnection, source: Source) -> int:
    """A number that no generation ever had: the index of a dropped one may still be there."""
    key = f"{source.value}_generation"
    last = await connection.scalar(select(meta.c.value).where(meta.c.key == key))
    number = int(last or 0) + 1
    await connection.execute(delete(meta).where(meta.c.key == key))
    await connection.execute(insert(meta).values(key=key, value=str(number)))
    return number


async def _all(connection: AsyncConnection) -> list[Generation]:
    statement = select(generations).order_by(generations.c.source, generations.c.number)
    return [
        Generation(
            Source(row.source),
            row.number,
            row.engine,
            row.recipe,
            GenerationState(row.state),
            row.filled,
        )
        for row in await connection.execute(statement)
    ]


async def _find(connection: AsyncConnection, generation: Generation) -> Generation:
    for each in await _all(connection):
        if each.feed == generation.feed:
            return each
    raise ReindexRefused(f"there is no {generation.feed}")


async def _set(connection: AsyncConnection, generation: Generation, **values: object) -> None:
    statement = update(generations).where(*_key(generation)).values(**values)
    if not (await connection.execute(statement)).rowcount:
        raise ReindexRefused(f"there is no {generation.feed}")


def _key(generation: Generation) -> tuple[ColumnElement[bool], ...]:
    return (
        generations.c.source == generation.source.value,
        generations.c.number == generation.number,
    )


def _row(generation: Generation) -> dict[str, object]:
    return {
        "source": generation.source.value,
        "number": generation.number,
        "engine": generation.engine,
        "recipe": generation.recipe,
        "state": generation.state.value,
        "filled": generation.filled,
    }


async def _stop_writers(connection: AsyncConnection) -> None:
    """Let every write that does not know of the change yet commit first.

    A write reads the feeds and leaves a row for each. One that read them before a new feed was
    made and committed after the feed was filled would be missing from it. SQLite has one writer.
    """
    if connection.dialect.name == "postgresql":
        await connection.execute(text("LOCK TABLE generations IN ACCESS EXCLUSIVE MODE"))
