"""`ConsolidationJournal` in SQL."""

import time as clocks
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import ColumnElement, and_, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hilvan_retrieval.adapters.record import codec
from hilvan_retrieval.adapters.record.database import Database
from hilvan_retrieval.adapters.record.entry import with_links, write_change
from hilvan_retrieval.adapters.record.tables import consolidation_steps as taken
from hilvan_retrieval.adapters.record.tables import consolidations
from hilvan_retrieval.model.consolidation import Action, Run, RunState, Step, UndoOutcome
from hilvan_retrieval.model.entry import Answer, Change, Entry

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ANSWER = Answer("consolidated")
_QUIET = frozenset({Action.DECAYED})
"""Confidence is not in an index."""


class SqlConsolidationJournal:
    """What consolidations did. See `hilvan_retrieval.ports.ConsolidationJournal`."""

    def __init__(self, database: Database, clock: Callable[[], float] = clocks.time) -> None:
        """``clock`` gives seconds since 1970, for the age of outbox rows."""
        self._database = database
        self._clock = clock

    def hold(self, tenant: str) -> AbstractAsyncContextManager[bool]:
        """Keep every other consolidation of the tenant out."""
        return self._database.exclusive(f"consolidation {tenant}")

    async def running(self, tenant: str) -> Run | None:
        """The run that was begun and not finished."""
        async with self._database.read() as connection:
            return await _running(connection, tenant)

    async def begin(self, tenant: str, time: datetime) -> Run:
        """The run that was begun and not finished, else a new one."""

        async def work(connection: AsyncConnection) -> Run:
            known = await _running(connection, tenant)
            if known is not None:
                return known
            begun = Run(str(uuid.uuid4()), tenant, RunState.RUNNING, time)
            row = {
                "id": begun.id,
                "tenant": tenant,
                "state": begun.state.value,
                "begin_us": codec.micros(time),
                "position": "",
            }
            await connection.execute(insert(consolidations).values(**row))
            return begun

        return await self._database.write(work, locks=(tenant,))

    async def advance(self, run: Run, position: str) -> None:
        """Note how far the run is."""
        await self._set(run, position=position)

    async def finish(self, run: Run, state: RunState, time: datetime) -> None:
        """End the run."""
        ended = func.coalesce(consolidations.c.end_us, codec.micros(time))
        await self._set(run, state=state.value, end_us=ended)

    async def take_steps(
        self, run: Run, ids: Sequence[str], decide: Callable[[Mapping[str, Entry]], Sequence[Step]]
    ) -> list[Step]:
        """Change the record and write the journal in one transaction."""

        async def work(connection: AsyncConnection) -> list[Step]:
            current = await with_links(connection, run.tenant, ids)
            last = await connection.scalar(
                select(func.max(taken.c.number)).where(taken.c.run_id == run.id)
            )
            steps = [
                replace(step, number=number)
                for number, step in enumerate(decide(current), start=(last or 0) + 1)
            ]
            if steps:
                change = _change(steps)
                await write_change(connection, run.tenant, ids, current, change, self._clock)
                await connection.execute(insert(taken), [_step_row(run, step) for step in steps])
            return steps

        return await self._database.write(work, locks=(run.tenant,))

    async def runs(self, tenant: str, limit: int, before: Run | None = None) -> list[Run]:
        """Runs, newest first."""
        conditions = [consolidations.c.tenant == tenant]
        if before is not None:
            begin_us = codec.micros(before.begin_time)
            conditions.append(
                or_(
                    consolidations.c.begin_us < begin_us,
                    and_(consolidations.c.begin_us == begin_us, consolidations.c.id > before.id),
                )
            )
        async with self._database.read() as connection:
            return await _runs(connection, *conditions, limit=limit)

    async def run(self, tenant: str, run_id: str) -> Run | None:
        """One run of the tenant."""
        is_it = consolidations.c.tenant == tenant, consolidations.c.id == run_id
        async with self._database.read() as connection:
            return next(iter(await _runs(connection, *is_it, limit=1)), None)

    async def steps(self, run: Run, below: int | None, limit: int) -> list[Step]:
        """Steps of a run, last first."""
        conditions = [taken.c.run_id == run.id]
        if below is not None:
            conditions.append(taken.c.number < below)
        statement = select(taken).where(*conditions).order_by(taken.c.number.desc()).limit(limit)
        async with self._database.read() as connection:
            return [_row_step(row) for row in await connection.execute(statement)]

    async def undo(
        self,
        run: Run,
        number: int,
        restore: Callable[[Step, Mapping[str, Entry]], Sequence[Entry] | None],
        time: datetime,
        *,
        decline: bool,
    ) -> UndoOutcome:
        """Put back what a step changed and mark it, in one transaction."""
        is_it = taken.c.run_id == run.id, taken.c.number == number

        async def work(connection: AsyncConnection) -> UndoOutcome:
            row = (await connection.execute(select(taken).where(*is_it))).first()
            if row is None or row.undo_us is not None:
                return UndoOutcome.ALREADY
            step = _row_step(row)
            ids = [each.id for each in step.before]
            current = await with_links(connection, run.tenant, ids)
            puts = restore(step, current)
            if puts is None:
                return UndoOutcome.CHANGED_SINCE
            change = Change(_ANSWER, tuple(puts), quiet=step.action in _QUIET)
            await write_change(connection, run.tenant, ids, current, change, self._clock)
            marked = {"undo_us": codec.micros(time), "declined": decline}
            forgotten = {"before": "[]", "after": "[]"}
            await connection.execute(update(taken).where(*is_it).values(**marked, **forgotten))
            return UndoOutcome.UNDONE

        return await self._database.write(work, locks=(run.tenant,))

    async def declined(self, tenant: str) -> frozenset[tuple[Action, str, str]]:
        """What is not to be proposed again."""
        statement = (
            select(taken.c.action, taken.c.entry_id, taken.c.other_id)
            .join(consolidations, consolidations.c.id == taken.c.run_id)
            .where(consolidations.c.tenant == tenant, taken.c.declined.is_(True))
        )
        async with self._database.read() as connection:
            rows = await connection.execute(statement)
            return frozenset((Action(action), one, other) for action, one, other in rows)

    async def purge(self, tenant: str, before: datetime) -> None:
        """Forget old runs, but not what somebody declined."""
        is_old = consolidations.c.tenant == tenant, consolidations.c.end_us < codec.micros(before)

        async def work(connection: AsyncConnection) -> None:
            ids = list(await connection.scalars(select(consolidations.c.id).where(*is_old)))
            of_them = taken.c.run_id.in_(ids)
            await connection.execute(delete(taken).where(of_them, taken.c.declined.is_(False)))
            kept = set(await connection.scalars(select(taken.c.run_id).where(of_them)))
            gone = consolidations.c.id.in_([each for each in ids if each not in kept])
            await connection.execute(delete(consolidations).where(gone))

        await self._database.write(work, locks=(tenant,))

    async def _set(self, run: Run, **values: Any) -> None:
        statement = update(consolidations).where(consolidations.c.id == run.id).values(**values)
        await self._database.write(lambda connection: connection.execute(statement))


async def _running(connection: AsyncConnection, tenant: str) -> Run | None:
    is_it = consolidations.c.tenant == tenant, consolidations.c.state == RunState.RUNNING.value
    return next(iter(await _runs(connection, *is_it, limit=1)), None)


async def _runs(
    connection: AsyncConnection, *conditions: ColumnElement[bool], limit: int
) -> list[Run]:
    count = select(func.count()).where(taken.c.run_id == consolidations.c.id).scalar_subquery()
    statement = (
        select(consolidations, count.label("step_count"))
        .where(*conditions)
        .order_by(consolidations.c.begin_us.desc(), consolidations.c.id)
        .limit(limit)
    )
    return [
        Run(
            row.id,
            row.tenant,
            RunState(row.state),
            _EPOCH + timedelta(microseconds=row.begin_us),
            codec.moment(row.end_us),
            row.position,
            row.step_count,
        )
        for row in await connection.execute(statement)
    ]


def _change(steps: Sequence[Step]) -> Change:
    """What all steps together do: of an entry that several touch, the last image counts."""
    left: dict[str, Entry | None] = {}
    for step in steps:
        left |= {each.id: None for each in step.before} | {each.id: each for each in step.after}
    return Change(
        _ANSWER,
        puts=tuple(entry for entry in left.values() if entry is not None),
        deletes=tuple(name for name, entry in left.items() if entry is None),
        quiet=all(step.action in _QUIET for step in steps),
    )


def _step_row(run: Run, step: Step) -> dict[str, Any]:
    return {
        "run_id": run.id,
        "number": step.number,
        "action": step.action.value,
        "entry_id": step.entry_id,
        "other_id": step.other_id,
        "reason": step.reason,
        "before": _images_text(step.before),
        "after": _images_text(step.after),
        "declined": False,
    }


def _row_step(row: Any) -> Step:
    return Step(
        Action(row.action),
        row.entry_id,
        row.other_id,
        row.reason,
        _text_images(row.before),
        _text_images(row.after),
        row.number,
        codec.moment(row.undo_us),
    )


def _images_text(images: Sequence[Entry]) -> str:
    return orjson.dumps([codec.entry_row(each) for each in images]).decode()


def _text_images(text: str) -> tuple[Entry, ...]:
    # An image may be older than a column.
    return tuple(
        codec.row_entry(tuple(row.get(column.name) for column in codec.ENTRY_COLUMNS))
        for row in orjson.loads(text)
    )
