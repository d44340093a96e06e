"""Reads by id and by page, and the state of the indexes."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta

from hilvan_kit.auth import Principal
from hilvan_retrieval.core import plan
from hilvan_retrieval.core.policy import can_read
from hilvan_retrieval.errors import NotFound, SourceError
from hilvan_retrieval.model import (
    EmbeddingModel,
    Entry,
    EntryQuery,
    IndexState,
    Layer,
    OutboxCounts,
    Owner,
    Source,
)
from hilvan_retrieval.ports import EntryStore, KeywordIndex, Outbox, VectorIndex
from hilvan_retrieval.usecases.policies import PolicyBook

EXPORT_PAGE = 500

PageKey = list[int | str]

# Microseconds are counted in whole numbers: as floats, a quarter of 2040's are off by one.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Reader:
    """Reads entries, for those who may."""

    def __init__(
        self,
        store: EntryStore,
        outbox: Outbox,
        indexes: tuple[VectorIndex, KeywordIndex],
        policies: PolicyBook,
        model: EmbeddingModel,
    ) -> None:
        """``model`` is the one behind the vector index."""
        self._store = store
        self._outbox = outbox
        self._indexes = indexes
        self._policies = policies
        self.model = model

    async def get(self, who: Principal, entry_id: str) -> Entry:
        """One entry. Raises NotFound."""
        found = await self.batch(who, [entry_id])
        if entry_id not in found:
            raise NotFound(entry_id)
        return found[entry_id]

    async def batch(self, who: Principal, ids: Sequence[str]) -> dict[str, Entry]:
        """Entries by id; what the caller can't see is left out like what does not exist."""
        policy = self._policies.of(who.tenant)
        found = await self._store.entries(who.tenant, ids)
        return {name: each for name, each in found.items() if can_read(policy, who, each.owner)}

    async def page(
        self,
        who: Principal,
        *,
        owners: frozenset[Owner] | None,
        layers: frozenset[Layer],
        categories: frozenset[str],
        updated_after: datetime | None,
        size: int,
        after: PageKey | None,
    ) -> tuple[list[Entry], PageKey | None]:
        """A page by falling update time, and the key of its last row when there is more."""
        policy = self._policies.of(who.tenant)
        keys = plan.listed_owners(policy, who, owners)
        key = None if after is None else (int(after[0]), str(after[1]))
        query = EntryQuery(who.tenant, keys, layers, categories, updated_after, size + 1, key)
        rows = await self._store.page(query)
        page = rows[:size]
        if len(rows) <= size:
            return page, None
        last = page[-1]
        return page, [(last.update_time - _EPOCH) // _MICROSECOND, last.id]

    async def everything(
        self, who: Principal, owners: frozenset[Owner] | None
    ) -> AsyncIterator[list[Entry]]:
        """All entries that the caller can read, page by page."""
        after: PageKey | None = None
        while True:
            rows, after = await self.page(
                who,
                owners=owners,
                layers=frozenset(),
                categories=frozenset(),
                updated_after=None,
                size=EXPORT_PAGE,
                after=after,
            )
            if rows:
                yield rows
            if after is None:
                return

    async def count(self, who: Principal) -> int:
        """How many entries the tenant has."""
        return await self._store.count(who.tenant)

    async def index_states(self) -> list[tuple[Source, IndexState | None, OutboxCounts]]:
        """Each index with its state, or None where it does not answer, and its outbox."""
        states: list[tuple[Source, IndexState | None, OutboxCounts]] = []
        for source, index in zip((Source.VECTOR, Source.KEYWORD), self._indexes, strict=True):
            counts = await self._outbox.counts(source)
            try:
                states.append((source, await index.state(), counts))
            except SourceError:
                states.append((source, None, counts))
        return states
