"""What the record promises of entries. Each sentence here is a test of the contract suite."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

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
)


class EntryStore(Protocol):
    """The record: what it has exists, what it has not does not, whatever an index says."""

    async def change(
        self,
        tenant: str,
        ids: Sequence[str],
        decide: Callable[[Mapping[str, Entry]], Change],
        request: RequestKey | None = None,
    ) -> Answer:
        """Change the record in one transaction; when it returns, nothing of it can be lost.

        ``decide`` is pure and gets the current entries of ``ids``, those that are superseded by
        one of them, and everything that they, or entries they lead to, are superseded by; it may
        be called again. Each put gets the
        next version of its entry. Each put and delete leaves a row in the outbox of every
        index. What ``decide`` raises leaves the record as it was. With a ``request`` the answer
        is kept for 24 hours, and the same request gives it again without deciding.

        Raises:
            RequestIdReused: the request id came before with another digest.
        """

    async def count_accesses(
        self,
        tenant: str,
        ids: Sequence[str],
        owners: frozenset[str] | None,
        time: datetime,
        request: RequestKey | None,
    ) -> int:
        """Count one access of each of these entries; how many there were is returned.

        Only entries of these owners count; None: of everybody.

        Versions stay as they are. With a ``request`` that was counted before nothing changes.
        Raises RequestIdReused as `change`.
        """

    async def entries(self, tenant: str, ids: Sequence[str]) -> dict[str, Entry]:
        """The entries of these ids; unknown ids and other tenants' are left out."""

    async def hydrate(
        self, tenant: str, uids: Sequence[Uid], *, model: str | None
    ) -> dict[Uid, Stored]:
        """The entries behind an index's hits; unknown uids and other tenants' are left out.

        With their vectors of a model, where there are such; of no model: without any.
        """

    async def page(self, query: EntryQuery) -> list[Entry]:
        """The entries that match, by falling update time, then id, at most ``limit``.

        ``after`` is the (update time in µs, id) of the last entry of the page before.
        """

    async def recent_vectors(
        self, tenant: str, owner: Owner, layer: Layer, feed: str, model: str
    ) -> dict[str, Vector]:
        """By id, the model's vectors of the owner's entries that the feed's index lacks yet."""

    async def count(self, tenant: str) -> int:
        """How many entries the tenant has."""

    async def ping(self) -> None:
        """Return when the record can be read; raise `SourceUnavailable` when it can't."""

    async def close(self) -> None:
        """Release the database; may be called twice."""
