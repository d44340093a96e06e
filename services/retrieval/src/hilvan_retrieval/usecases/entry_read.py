"""Reads by id and by page, and the state of the indexes."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hilvan_kit.auth import Principal
from hilvan_retrieval.core import filter as plan
from hilvan_retrieval.core.policy import can_read
from hilvan_retrieval.errors import NotFound, SourceError
from hilvan_retrieval.model.embedding import EmbeddingModel
from hilvan_retrieval.model.entry import Entry, EntryQuery, Layer, Owner
from hilvan_retrieval.model.generation import Generation
from hilvan_retrieval.model.index import IndexState
from hilvan_retrieval.model.outbox import OutboxCounts, ParkedRow
from hilvan_retrieval.ports.entry import EntryStore
from hilvan_retrieval.ports.outbox import Outbox
from hilvan_retrieval.usecases.generation import OpenIndexes
from hilvan_retrieval.usecases.policy import PolicyBook

EXPORT_PAGE = 500

PageKey = list[int | str]

# Microseconds are counted in whole numbers: as floats, a quarter of 2040's are off by one.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class OpenedState:
    """What is known of one index; ``state`` None: the engine does not answer."""

    generation: Generation
    state: IndexState | None
    counts: OutboxCounts


class EntryReader:
    """Reads entries, for those who may."""

    def __init__(
        self,
        store: EntryStore,
        outbox: Outbox,
        indexes: OpenIndexes,
        policies: PolicyBook,
    ) -> None:
        """Entries come from the store; the indexes only tell their state."""
        self._store = store
        self._outbox = outbox
        self._indexes = indexes
        self._policies = policies

    @property
    def model(self) -> EmbeddingModel:
        """The model behind the vector index that answers."""
        return self._indexes.live.embedder.model

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

    async def index_states(self) -> list[OpenedState]:
        """Each index with its state, or None where it does not answer, and its outbox."""
        states = []
        for opened in self._indexes.opened:
            counts = await self._outbox.counts(opened.generation.feed)
            try:
                state = await opened.index.state()
            except SourceError:
                state = None
            states.append(OpenedState(opened.generation, state, counts))
        return states

    async def parked(self, limit: int) -> list[tuple[Generation, ParkedRow]]:
        """Entries that an index was given up on, at most ``limit`` of each index."""
        return [
            (opened.generation, row)
            for opened in self._indexes.opened
            for row in await self._outbox.parked(opened.generation.feed, limit)
        ]
