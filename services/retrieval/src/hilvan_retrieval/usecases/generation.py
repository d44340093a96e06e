"""The indexes that this process has open: which of them answer, and which are fed.

The record says which generations there are. A process opens those that its settings can open, and
looks again every two seconds, so that every replica follows a reindex.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import structlog

from hilvan_retrieval.errors import EngineMisconfigured, ReindexRefused, SourceError
from hilvan_retrieval.model.generation import Generation, GenerationState
from hilvan_retrieval.model.index import Source
from hilvan_retrieval.ports.embedding import Embedder
from hilvan_retrieval.ports.generation import GenerationStore
from hilvan_retrieval.ports.index import KeywordIndex, VectorIndex
from hilvan_retrieval.ports.outbox import Outbox

REFRESH_SECONDS = 2.0
"""How long another replica's switch may go unseen here."""

CAUGHT_UP_ROWS = 256
"""A new index this little behind may be switched to: its worker is through in a moment."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Engine:
    """What this process can make of a source: the kind of engine and what it is filled by.

    ``recipes`` are those whose indexes can be used; ``wanted`` is the one that a new index gets.
    ``connect`` gives the index of a generation without asking the engine anything.
    """

    name: str
    wanted: str
    recipes: frozenset[str]
    connect: Callable[[Generation], VectorIndex | KeywordIndex]

    def can_open(self, generation: Generation) -> bool:
        """Whether this process has what the generation was made with."""
        return generation.engine == self.name and generation.recipe in self.recipes


@dataclass(frozen=True, slots=True)
class Live:
    """What answers: an embedder with the index of its vectors, and the index of words."""

    embedder: Embedder
    vector: VectorIndex
    keyword: KeywordIndex
    vector_feed: str = "vector.1"
    keyword_feed: str = "keyword.1"

    @property
    def feeds(self) -> tuple[str, str]:
        """The parts of the outbox that must be empty for a write to be found."""
        return self.vector_feed, self.keyword_feed


@dataclass(frozen=True, slots=True)
class Opened:
    """A generation with its index."""

    generation: Generation
    index: VectorIndex | KeywordIndex


class OpenIndexes:
    """The open indexes of both sources. Call `open` before use, `keep_fresh` while it lives."""

    def __init__(
        self,
        generations: GenerationStore,
        outbox: Outbox,
        vector: Engine,
        keyword: Engine,
        embedders: Mapping[str, Embedder],
    ) -> None:
        """``embedders`` by the id of their model, one for each of the vector engine's recipes."""
        self._generations = generations
        self._outbox = outbox
        self._engines = {Source.VECTOR: vector, Source.KEYWORD: keyword}
        self._embedders = embedders
        self._opened: dict[str, Opened] = {}
        self._prepared: set[str] = set()
        self._live: Live | None = None
        # Or what one look has read could bring back what was dropped since.
        self._looking = asyncio.Lock()
        self.changed = asyncio.Event()

    @property
    def live(self) -> Live:
        """What answers now; a call takes it once, so that a switch can't come between."""
        if self._live is None:
            raise LookupError("the indexes are not open")
        return self._live

    @property
    def opened(self) -> Sequence[Opened]:
        """Every generation that is open here, by source and number."""
        return tuple(self._opened.values())

    def embedder_of(self, generation: Generation) -> Embedder | None:
        """The embedder that makes the generation's vectors; None for words."""
        return self._embedders.get(generation.recipe)

    async def open(self) -> None:
        """Open what there is, and begin what is missing.

        An engine that is down is no reason to stop: its index is made when it is back. Raises
        EngineMisconfigured when an engine that answers, or the record, can't be used so.
        """
        known = await self._generations.all()
        for source, engine in self._engines.items():
            mine = [each for each in known if each.source is source]
            if not any(engine.can_open(each) for each in mine):
                _require_model(source, engine, mine)
                await self._generations.begin(
                    source, engine.name, engine.wanted, GenerationState.LIVE
                )
        await self.refresh()
        for each in self.opened:
            if each.generation.state is GenerationState.LIVE:
                try:
                    await self.prepare(each)
                except SourceError as error:
                    _log.warning("engine is down", feed=each.generation.feed, error=str(error))

    async def prepare(self, opened: Opened) -> None:
        """Make the index where it is missing, once; one that is empty is filled by the record."""
        feed = opened.generation.feed
        if feed in self._prepared:
            return
        is_new = await opened.index.ensure()
        # Empty and not new: a process ended after it was made, before that was noted.
        if opened.generation.filled and (
            is_new or (await opened.index.state()).document_count == 0
        ):
            _log.info("index is empty", feed=feed)
            await self._generations.refill(opened.generation)
            await self.refresh()
        self._prepared.add(feed)

    def doubt(self, opened: Opened) -> None:
        """Prepare the index again before its next use: an engine may come back without it."""
        self._prepared.discard(opened.generation.feed)

    async def fill(self, opened: Opened, rows: int) -> bool:
        """Put some rows into the outbox of an index that lacks parts of the record."""
        if opened.generation.is_filled:
            return False
        generation = await self._generations.fill(opened.generation, rows)
        feed = generation.feed
        if feed in self._opened:
            self._opened[feed] = replace(self._opened[feed], generation=generation)
        return True

    async def refresh(self) -> None:
        """Follow the record: open what is new, close what is gone, and choose what answers."""
        async with self._looking:
            known = await self._generations.all()
            openable = {g.feed: g for g in known if self._engines[g.source].can_open(g)}
            before = self._opened
            for feed in before.keys() - openable.keys():
                await before[feed].index.close()
            self._opened = {
                feed: Opened(
                    generation,
                    before[feed].index
                    if feed in before
                    else self._engines[generation.source].connect(generation),
                )
                for feed, generation in openable.items()
            }
            self._live = self._choose()
            if before.keys() != self._opened.keys():
                self.changed.set()

    async def keep_fresh(self) -> None:
        """Refresh for ever; a failure keeps what is open."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                await self.refresh()
            except (SourceError, EngineMisconfigured) as error:
                _log.warning("indexes not refreshed", error=str(error))

    async def begin(self, source: Source) -> Generation:
        """Begin an index beside the live one; it fills in the background.

        Raises ReindexRefused when one of another kind is being built.
        """
        engine = self._engines[source]
        made = await self._generations.begin(
            source, engine.name, engine.wanted, GenerationState.BUILDING
        )
        await self.refresh()
        return made

    async def switch(self, source: Source) -> Generation:
        """Let the index that was built answer. Raises ReindexRefused while it is behind."""
        built = self._one(source, GenerationState.BUILDING, "no index is being built")
        counts = await self._outbox.counts(built.feed)
        if not built.is_filled or counts.pending > CAUGHT_UP_ROWS:
            raise ReindexRefused(f"{built.feed} is not caught up: {counts.pending} rows wait")
        if counts.parked:
            raise ReindexRefused(f"{built.feed} lacks {counts.parked} entries that were parked")
        await self._generations.switch(built)
        await self.refresh()
        return built

    async def roll_back(self, source: Source) -> Generation:
        """Let the newest retired index answer again. Raises ReindexRefused without one."""
        kept = self._one(source, GenerationState.RETIRED, "no former index is kept")
        await self._generations.switch(kept)
        await self.refresh()
        return kept

    async def drop(self, source: Source) -> list[Generation]:
        """Remove every index that does not answer, with all that it holds."""
        dropped = []
        async with self._looking:
            for generation in await self._generations.all():
                if generation.source is source and generation.state is not GenerationState.LIVE:
                    await self._generations.drop(generation)
                    dropped.append(generation)
                    if opened := self._opened.pop(generation.feed, None):
                        self.changed.set()
                        await opened.index.drop()
                        await opened.index.close()
        await self.refresh()
        return dropped

    async def close(self) -> None:
        """Close every index."""
        while self._opened:
            _, opened = self._opened.popitem()
            await opened.index.close()

    def _one(self, source: Source, state: GenerationState, otherwise: str) -> Generation:
        found = [
            each.generation
            for each in self.opened
            if each.generation.source is source and each.generation.state is state
        ]
        if not found:
            raise ReindexRefused(f"{source.value}: {otherwise}")
        return found[-1]

    def _choose(self) -> Live:
        vector, keyword = self._answering(Source.VECTOR), self._answering(Source.KEYWORD)
        return Live(
            self._embedders[vector.generation.recipe],
            cast("VectorIndex", vector.index),
            cast("KeywordIndex", keyword.index),
            vector.generation.feed,
            keyword.generation.feed,
        )

    def _answering(self, source: Source) -> "Opened":
        """The live generation, or while settings differ between replicas the newest usable one."""
        mine = [each for each in self.opened if each.generation.source is source]
        if not mine:
            raise EngineMisconfigured(
                f"the record has no {source.value} index that this configuration can open"
            )
        live = [each for each in mine if each.generation.state is GenerationState.LIVE]
        return (live or mine)[-1]


def _require_model(source: Source, engine: Engine, known: Sequence[Generation]) -> None:
    """Refuse to leave vectors of another model behind unasked: they are dear to make again."""
    others = [
        each.recipe
        for each in known
        if each.state is GenerationState.LIVE and each.recipe not in engine.recipes
    ]
    if source is Source.VECTOR and others:
        raise EngineMisconfigured(
            f"the record was embedded with {others[-1]!r}, not {engine.wanted!r}: set that model, "
            "name the new one as the next model and run `hilvan reindex`"
        )
