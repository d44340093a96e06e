"""What the outbox promises. Each sentence here is a test of the contract suite."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from hilvan_retrieval.model.entry import (
    Stored,
    Uid,
)
from hilvan_retrieval.model.outbox import OutboxCounts, OutboxRow, ParkedRow


class Outbox(Protocol):
    """What each index does not have yet. Rows outlive crashes; one entry has one row a feed.

    A feed belongs to a `Generation`; every write of an entry reaches every feed that there is.
    """

    def hold(self, feed: str) -> AbstractAsyncContextManager[bool]:
        """Keep every other worker, of any replica, from the feed; False when another has it.

        Nothing outlives the holder. Raises SourceUnavailable when the record can't be asked, and
        on leaving when the hold was lost meanwhile: another worker may then have applied later
        states of the same entries.
        """

    async def due(self, feed: str, limit: int) -> list[OutboxRow]:
        """Rows neither parked nor waiting for a retry, by rising seq, at most ``limit``."""

    async def load(self, rows: Sequence[OutboxRow], model: str | None) -> dict[Uid, Stored]:
        """The rows' entries as they are now, with the model's vectors; deleted ones are left out.

        Of no model: without vectors.
        """

    async def save_vectors(self, model: str, made: Mapping[Uid, Stored]) -> None:
        """Keep vectors with the entries that they were made of.

        Those whose entry was deleted or has another text meanwhile are left out.
        """

    async def settle(self, feed: str, rows: Sequence[OutboxRow]) -> None:
        """Remove rows whose entry was not written again since they were read."""

    async def postpone(
        self, feed: str, row: OutboxRow, error: str, retry_seconds: float | None
    ) -> None:
        """Count a failed attempt; try again after some seconds, or park the row for good."""

    async def announce(self, feed: str, uids: Sequence[Uid]) -> None:
        """Say that the index may be wrong about these, entries or not; parked rows run again."""

    async def unsettled(self, uids: Sequence[Uid], feeds: Sequence[str]) -> bool:
        """Whether any of the feeds is still behind on any of these (parked rows count)."""

    async def behind(self, feed: str, bucket: str) -> set[Uid]:
        """The entries of a bucket that the feed is behind on."""

    async def counts(self, feed: str) -> OutboxCounts:
        """How many rows wait and how many are parked."""

    async def parked(self, feed: str, limit: int) -> list[ParkedRow]:
        """Rows that were given up, by rising seq, at most ``limit``."""
