"""What the record promises of generations. Each sentence here is a test of the contract suite."""

from typing import Protocol

from hilvan_retrieval.model.entry import Entry, Uid
from hilvan_retrieval.model.generation import Generation, GenerationState
from hilvan_retrieval.model.index import Source


class GenerationStore(Protocol):
    """Which indexes there are. A source has at most one live and one building generation."""

    async def all(self) -> list[Generation]:
        """Every generation, by source and number."""

    async def begin(
        self, source: Source, engine: str, recipe: str, state: GenerationState
    ) -> Generation:
        """Make the next generation of the source, with nothing filled; of no entries, all is.

        Every write that commits from now on reaches its feed. A live one retires the one before.
        One that is being built already is given back when it is of the same kind; else
        ReindexRefused.
        """

    async def fill(self, generation: Generation, rows: int) -> Generation:
        """Put the record's next buckets into its outbox, until that many rows were put there.

        What waits already keeps its place. The generation as it is then.
        """

    async def refill(self, generation: Generation) -> Generation:
        """Begin to fill it again, because its index is empty; not when everything waits already."""

    async def switch(self, generation: Generation) -> None:
        """Make it the live one; what was live is retired."""

    async def drop(self, generation: Generation) -> None:
        """Forget it, its outbox, and the vectors of a model that no generation uses.

        Raises ReindexRefused for the live one.
        """

    async def bucket(self, bucket: str) -> dict[Uid, tuple[str, Entry]]:
        """The record's part of a bucket: tenant and entry by uid."""
