"""Compares every index with the record, a bucket at a time, and mends what differs."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from hilvan_retrieval.core.index import Difference, compare, document
from hilvan_retrieval.errors import SourceError
from hilvan_retrieval.model.entry import BUCKETS, Uid
from hilvan_retrieval.model.generation import Generation
from hilvan_retrieval.ports.generation import GenerationStore
from hilvan_retrieval.ports.outbox import Outbox
from hilvan_retrieval.usecases.generation import Opened, OpenIndexes

PARKED_MOST = 10_000
"""Parked rows of one index that a repair tries again."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One index in one bucket; ``difference`` None: the engine did not answer."""

    generation: Generation
    difference: Difference | None
    parked: int


@dataclass(frozen=True, slots=True)
class CheckedBucket:
    """One bucket of the record with every index that is open here."""

    number: int
    entry_count: int
    indexes: tuple[Checked, ...]


class IndexChecker:
    """Finds what an index has otherwise than the record, whatever the reason."""

    def __init__(self, generations: GenerationStore, outbox: Outbox, indexes: OpenIndexes) -> None:
        """Compare the indexes that are open here."""
        self._generations = generations
        self._outbox = outbox
        self._indexes = indexes

    async def check(self, *, repair: bool) -> AsyncIterator[CheckedBucket]:
        """Compare bucket by bucket; to repair is to announce what differs to the index again.

        What waits in the outbox is known and no difference. Writes go on meanwhile: one that
        comes between the reads can look like a difference; to announce it is harmless.
        """
        for number, bucket in enumerate(BUCKETS, start=1):
            opened = self._indexes.opened
            # The indexes first: what is written later can only make the record newer.
            found = [await self._revisions(each, bucket) for each in opened]
            entries = await self._generations.bucket(bucket)
            record = {
                uid: document(tenant, uid, entry).revision
                for uid, (tenant, entry) in entries.items()
            }
            checked = [
                await self._checked(each, bucket, record, revisions, repair=repair)
                for each, revisions in zip(opened, found, strict=True)
            ]
            yield CheckedBucket(number, len(entries), tuple(checked))

    async def _revisions(self, opened: Opened, bucket: str) -> dict[Uid, int] | None:
        try:
            return await opened.index.revisions(bucket)
        except SourceError:
            return None

    async def _checked(
        self,
        opened: Opened,
        bucket: str,
        record: Mapping[Uid, int],
        index: Mapping[Uid, int] | None,
        *,
        repair: bool,
    ) -> Checked:
        feed = opened.generation.feed
        parked = [
            row.uid
            for row in await self._outbox.parked(feed, PARKED_MOST)
            if row.uid.startswith(bucket)
        ]
        difference = None
        if index is not None:
            behind = await self._outbox.behind(feed, bucket)
            difference = compare(record, index).without(behind)
        if repair:
            wrong = difference.uids if difference else frozenset()
            await self._outbox.announce(feed, [*sorted(wrong), *parked])
        return Checked(opened.generation, difference, len(parked))
