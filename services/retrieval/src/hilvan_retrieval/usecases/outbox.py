"""Feeds every index from the outbox.

An outbox row says only that an index is behind on an entry. The worker applies the entry *as it
is now*, so applying twice is harmless, and a delete wins over every earlier write.
"""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import replace

import structlog
from prometheus_client import Gauge

from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.core.index import document
from hilvan_retrieval.errors import SourceError
from hilvan_retrieval.model.entry import Stored, Uid
from hilvan_retrieval.model.generation import Generation, GenerationState
from hilvan_retrieval.model.outbox import OutboxRow
from hilvan_retrieval.ports.embedding import Embedder
from hilvan_retrieval.ports.outbox import Outbox
from hilvan_retrieval.usecases.generation import Opened, OpenIndexes

BATCH = 256
IDLE_SECONDS = 1.0
"""How often the outbox is looked at when nobody said that there is something in it."""

RETRY_FIRST_SECONDS = 0.1
RETRY_MOST_SECONDS = 30.0
ATTEMPTS = 5
"""A row that fails alone this often is parked: the fault is in the row, not in the engine."""

SETTLE_POLL_SECONDS = 0.05
"""How often a waiting write asks the outbox, for rows that another replica applies."""

MEASURE_SECONDS = 5.0
"""How often the metrics of the outbox are read."""

_PENDING = Gauge("hilvan_outbox_pending", "Entries that an index is behind on.", ["feed"])
_PARKED = Gauge("hilvan_outbox_parked", "Entries that an index was given up on.", ["feed"])
_LAG = Gauge("hilvan_outbox_lag_seconds", "Age of the oldest waiting entry.", ["feed"])

_log = structlog.get_logger()


class OutboxWorker:
    """Keeps every index in step with the record; run `run` for as long as the service lives."""

    def __init__(self, outbox: Outbox, indexes: OpenIndexes) -> None:
        """Feed the indexes that are open, whichever they are."""
        self._outbox = outbox
        self._indexes = indexes
        self._wakes: dict[str, asyncio.Event] = {}
        self._progress = asyncio.Event()

    def notice(self) -> None:
        """Say that there is something in the outbox."""
        for wake in self._wakes.values():
            wake.set()

    async def settled(self, uids: Sequence[Uid], deadline: Deadline) -> bool:
        """Wait until both live indexes have these entries; False at the deadline."""
        while await self._outbox.unsettled(uids, self._indexes.live.feeds):
            left = deadline.downstream()
            if left <= 0:
                return False
            try:
                async with asyncio.timeout(min(left, SETTLE_POLL_SECONDS)):
                    await self._progress.wait()
            except TimeoutError:
                continue
        return True

    async def run(self) -> None:
        """Apply rows as they come, a worker a feed; ends only by being cancelled."""
        workers: dict[str, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            group.create_task(self._measure_for_ever())
            while True:
                self._indexes.changed.clear()
                feeds = {each.generation.feed for each in self._indexes.opened}
                for feed in workers.keys() - feeds:
                    workers.pop(feed).cancel()
                for feed in sorted(feeds - workers.keys()):
                    self._wakes[feed] = asyncio.Event()
                    workers[feed] = group.create_task(self._feed_for_ever(feed))
                self._wakes = {feed: self._wakes[feed] for feed in feeds}
                await self._indexes.changed.wait()

    async def _feed_for_ever(self, feed: str) -> None:
        pause = RETRY_FIRST_SECONDS
        wake = self._wakes[feed]
        while opened := self._opened(feed):
            wake.clear()
            started = time.perf_counter()
            try:
                await self._indexes.prepare(opened)
                more = await self._feed_once(opened)
                pause = RETRY_FIRST_SECONDS
            except Exception as error:  # noqa: BLE001 (whatever it is, the worker goes on)
                self._indexes.doubt(opened)
                _log.warning("index is behind", feed=feed, error=repr(error))
                await asyncio.sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311 (jitter)
                pause = min(pause * 2, RETRY_MOST_SECONDS)
                continue
            if opened.generation.state is GenerationState.BUILDING:
                # A new index must not take the machine from those who are asking.
                await asyncio.sleep(time.perf_counter() - started)
            if not more:
                try:
                    async with asyncio.timeout(IDLE_SECONDS):
                        await wake.wait()
                except TimeoutError:
                    continue

    async def _feed_once(self, opened: Opened) -> bool:
        """Apply one batch, or fill the outbox; whether there was something to do.

        Raises SourceError when the engine or the record is down.
        """
        feed = opened.generation.feed
        applied: list[OutboxRow] = []
        try:
            async with self._outbox.hold(feed) as is_mine:
                if not is_mine:
                    return False
                rows = await self._outbox.due(feed, BATCH)
                await self._apply_all(opened, rows)
                is_filling = len(rows) < BATCH and await self._indexes.fill(opened, BATCH)
                applied = rows
        except SourceError:
            if applied:
                # The hold was lost: another worker may have applied newer states before ours.
                await self._outbox.announce(feed, [row.uid for row in applied])
            raise
        return bool(rows) or is_filling

    def _opened(self, feed: str) -> Opened | None:
        """The feed's index as it stands now, or None when it was dropped."""
        by_feed = {each.generation.feed: each for each in self._indexes.opened}
        return by_feed.get(feed)

    async def _apply_all(self, opened: Opened, rows: Sequence[OutboxRow]) -> None:
        """Apply a batch. Raises SourceError when the engine is down."""
        if not rows:
            return
        feed = opened.generation.feed
        try:
            await self._apply(opened, rows)
        except SourceError:
            raise
        except Exception:  # noqa: BLE001 (whatever it is, it is one row's fault)
            _log.exception("a batch failed; trying its rows one by one", feed=feed)
            await self._apply_singly(opened, rows)
        self._progress.set()
        self._progress = asyncio.Event()

    async def _apply_singly(self, opened: Opened, rows: Sequence[OutboxRow]) -> None:
        feed = opened.generation.feed
        for row in rows:
            try:
                await self._apply(opened, [row])
            except SourceError:
                raise
            except Exception as error:  # noqa: BLE001 (a poison row must not stop the others)
                retry = RETRY_FIRST_SECONDS * 2**row.attempts
                last = row.attempts + 1 >= ATTEMPTS
                await self._outbox.postpone(feed, row, repr(error), None if last else retry)

    async def _apply(self, opened: Opened, rows: Sequence[OutboxRow]) -> None:
        embedder = self._indexes.embedder_of(opened.generation)
        model = None if embedder is None else embedder.model.id
        current = await self._outbox.load(rows, model)
        if embedder is not None:
            current = await self._with_vectors(embedder, current)
        names = {row.uid: row.tenant for row in rows}
        await opened.index.upsert(
            [document(names[uid], uid, each.entry, each.vector) for uid, each in current.items()]
        )
        await opened.index.delete([row.uid for row in rows if row.uid not in current])
        await self._outbox.settle(opened.generation.feed, rows)

    async def _with_vectors(
        self, embedder: Embedder, current: dict[Uid, Stored]
    ) -> dict[Uid, Stored]:
        """Embed what has no vector yet, and keep the vectors in the record."""
        bare = {uid: stored for uid, stored in current.items() if stored.vector is None}
        if not bare:
            return current
        texts = [stored.entry.searchable_text for stored in bare.values()]
        matrix = await embedder.embed_passages(texts)
        made = {
            uid: replace(stored, vector=vector)
            for (uid, stored), vector in zip(bare.items(), matrix, strict=True)
        }
        await self._outbox.save_vectors(embedder.model.id, made)
        return current | made

    async def _measure_for_ever(self) -> None:
        while True:
            for each in self._indexes.opened:
                try:
                    await self._measure(each.generation)
                except SourceError as error:
                    _log.warning("outbox not measured", error=str(error))
            await asyncio.sleep(MEASURE_SECONDS)

    async def _measure(self, generation: Generation) -> None:
        counts = await self._outbox.counts(generation.feed)
        oldest = time.time() if counts.oldest_us is None else counts.oldest_us / 1e6
        _PENDING.labels(generation.feed).set(counts.pending)
        _PARKED.labels(generation.feed).set(counts.parked)
        _LAG.labels(generation.feed).set(max(0.0, time.time() - oldest))
