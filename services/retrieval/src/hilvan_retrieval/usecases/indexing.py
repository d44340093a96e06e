"""Feeds both indexes from the outbox.

An outbox row says only that an index is behind on an entry. The worker applies the entry *as it
is now*, so applying twice is harmless, and a delete wins over every earlier write.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.errors import SourceError
from hilvan_retrieval.model import IndexDocument, OutboxRow, Source, Stored, Uid
from hilvan_retrieval.ports import Embedder, KeywordIndex, Outbox, VectorIndex

BATCH = 256
IDLE_SECONDS = 1.0
"""How often the outbox is looked at when nobody said that there is something in it."""

RETRY_FIRST_SECONDS = 0.1
RETRY_MOST_SECONDS = 30.0
ATTEMPTS = 5
"""A row that fails alone this often is parked: the fault is in the row, not in the engine."""

SETTLE_POLL_SECONDS = 0.05
"""How often a waiting write asks the outbox, for rows that another replica applies."""

_log = structlog.get_logger()


def document(tenant: str, uid: Uid, stored: Stored) -> IndexDocument:
    """What an index keeps of an entry."""
    entry = stored.entry
    return IndexDocument(
        uid=uid,
        tenant=tenant,
        layer=entry.layer,
        owner=entry.owner.key,
        category=entry.category,
        tags=entry.tags,
        live_from_ms=entry.live_from_ms,
        live_until_ms=entry.live_until_ms,
        text=entry.searchable_text,
        vector=stored.vector,
    )


@dataclass(slots=True)
class _Feed:
    """One index with its alarm."""

    source: Source
    index: VectorIndex | KeywordIndex
    wake: asyncio.Event


class Indexer:
    """Keeps both indexes in step with the record; run `run` for as long as the service lives."""

    def __init__(
        self, outbox: Outbox, vector: VectorIndex, keyword: KeywordIndex, embedder: Embedder
    ) -> None:
        """Give the embedder that made the vector index."""
        self._outbox = outbox
        self._embedder = embedder
        self._feeds = (
            _Feed(Source.VECTOR, vector, asyncio.Event()),
            _Feed(Source.KEYWORD, keyword, asyncio.Event()),
        )
        self._progress = asyncio.Event()

    def notice(self) -> None:
        """Say that there is something in the outbox."""
        for feed in self._feeds:
            feed.wake.set()

    async def settled(self, uids: Sequence[Uid], deadline: Deadline) -> bool:
        """Wait until both indexes have these entries; False when the deadline came first."""
        while await self._outbox.unsettled(uids):
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
        """Apply rows as they come, both indexes at once; ends only by being cancelled."""
        async with asyncio.TaskGroup() as group:
            for feed in self._feeds:
                group.create_task(self._feed_for_ever(feed))

    async def _feed_for_ever(self, feed: _Feed) -> None:
        pause = RETRY_FIRST_SECONDS
        while True:
            feed.wake.clear()
            try:
                more = await self._feed_once(feed)
                pause = RETRY_FIRST_SECONDS
            except Exception as error:  # noqa: BLE001 (whatever it is, the worker goes on)
                _log.warning("index is behind", source=feed.source, error=repr(error))
                await asyncio.sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311 (jitter)
                pause = min(pause * 2, RETRY_MOST_SECONDS)
                continue
            if not more:
                try:
                    async with asyncio.timeout(IDLE_SECONDS):
                        await feed.wake.wait()
                except TimeoutError:
                    continue

    async def _feed_once(self, feed: _Feed) -> bool:
        """Apply one batch; whether there was one. Raises SourceError when the engine is down."""
        rows = await self._outbox.due(feed.source, BATCH)
        if not rows:
            return False
        try:
            await self._apply(feed, rows)
        except SourceError:
            raise
        except Exception:  # noqa: BLE001 (whatever it is, it is one row's fault)
            _log.exception("a batch failed; trying its rows one by one", source=feed.source)
            await self._apply_singly(feed, rows)
        self._progress.set()
        self._progress = asyncio.Event()
        return True

    async def _apply_singly(self, feed: _Feed, rows: Sequence[OutboxRow]) -> None:
        for row in rows:
            try:
                await self._apply(feed, [row])
            except SourceError:
                raise
            except Exception as error:  # noqa: BLE001 (a poison row must not stop the others)
                retry = RETRY_FIRST_SECONDS * 2**row.attempts
                last = row.attempts + 1 >= ATTEMPTS
                await self._outbox.postpone(feed.source, row, repr(error), None if last else retry)

    async def _apply(self, feed: _Feed, rows: Sequence[OutboxRow]) -> None:
        current = await self._outbox.load(rows)
        if feed.source is Source.VECTOR:
            current = await self._with_vectors(current)
        await feed.index.upsert(
            [document(row.tenant, row.uid, current[row.uid]) for row in rows if row.uid in current]
        )
        await feed.index.delete([row.uid for row in rows if row.uid not in current])
        await self._outbox.settle(feed.source, rows)

    async def _with_vectors(self, current: dict[Uid, Stored]) -> dict[Uid, Stored]:
        """Embed what has no vector yet, and keep the vectors in the record."""
        bare = {uid: stored for uid, stored in current.items() if stored.vector is None}
        if not bare:
            return current
        texts = [stored.entry.searchable_text for stored in bare.values()]
        matrix = await self._embedder.embed_passages(texts)
        made = {
            uid: replace(stored, vector=vector)
            for (uid, stored), vector in zip(bare.items(), matrix, strict=True)
        }
        await self._outbox.save_vectors(made)
        return current | made
