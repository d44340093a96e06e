"""From ticks to the ids of the spaces that changed."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing

from hilvan_curation.errors import SourceUnavailable
from hilvan_curation.model.vault import SpaceSnapshot


async def changed_spaces(
    last: Iterable[SpaceSnapshot],
    scan: Callable[[], Awaitable[list[SpaceSnapshot]]],
    ticks: AsyncGenerator[None, None],
) -> AsyncGenerator[set[str], None]:
    """Scan at each tick, and yield the ids whose snapshots differ when there are any."""
    before = {snapshot.space.id: snapshot for snapshot in last}
    async with aclosing(ticks):
        async for _ in ticks:
            try:
                now = {snapshot.space.id: snapshot for snapshot in await scan()}
            except SourceUnavailable:
                continue
            changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
            before = now
            if changed:
                yield changed
