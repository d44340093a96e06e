"""The whole check: nothing pending, indexes like the record, and every live entry found by both."""

import asyncio
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from crash.lanes import Lost, Session
from crash.model import Violation, World

from hilvan.common.v1 import entry_pb2, report_pb2
from hilvan.common.v1.entry_pb2 import Entry
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb

SETTLE_S = 90.0
AT_ONCE = 8


async def wait_until_settled(session: Session) -> None:
    """Wait until no index is behind. Raises Violation for parked rows, or when it lasts."""
    until = time.monotonic() + SETTLE_S
    while True:
        answer = await session.stub("dev").call("GetIndexState", pb.GetIndexStateRequest())
        if any(each.parked_count for each in answer.indexes):
            raise Violation(f"writes were given up: {answer}")
        if all(_is_settled(each) for each in answer.indexes):
            return
        if time.monotonic() > until:
            raise Violation(f"indexes stay behind: {answer}")
        await asyncio.sleep(0.05)


def _is_settled(index: pb.IndexState) -> bool:
    is_whole = index.filled_share == 1 and not index.pending_count
    return is_whole and index.status == report_pb2.PART_STATUS_OK


async def check_indexes(session: Session) -> int:
    """Compare every index with the record; how many entries there are. Raises Violation."""
    parts = await session.stub("dev").all("CheckIndexes", pb.CheckIndexesRequest(), SETTLE_S)
    for part in parts:
        if part.differences or part.unavailable_sources:
            raise Violation(f"an index does not agree with the record: {part}")
    return sum(part.entry_count for part in parts)


async def export(session: Session, tenant: str) -> list[Entry]:
    """Every entry of a tenant."""
    pages = await session.stub(tenant).all("ExportEntries", pb.ExportEntriesRequest())
    return [entry for page in pages for entry in page.entries]


async def check_searches(session: Session, world: World, tenant: str) -> int:
    """Find each live entry by its word and by its vector; none that is gone. Raises Violation."""
    now = datetime.now(UTC)
    gate = asyncio.Semaphore(AT_ONCE)
    calls = session.stub(tenant)

    owners = {each.owner.id: each.owner for each in world.truth.values()}

    async def ids(query: str, source: "entry_pb2.Source.ValueType") -> list[str]:
        request = pb.SearchEntriesRequest(
            query=query, source=source, owners=owners.values(), limit=10
        )
        async with gate:
            answer = await calls.call("SearchEntries", request)
        return [each.entry.id for each in answer.candidates]

    async def look(entry: Entry) -> None:
        word = await ids(entry.text.split()[0], entry_pb2.SOURCE_KEYWORD)
        near = await ids(f"{entry.title} {entry.text}", entry_pb2.SOURCE_VECTOR)
        if is_live(entry, now) != (entry.id in word) or (
            is_live(entry, now) and entry.id not in near
        ):
            found = f"by word {word}, by vector {near}"
            raise world.violation(f"an entry is not found as it should be: {found}", [entry.id])

    async def miss(name: str, text: str) -> None:
        word = await ids(text.split(maxsplit=1)[0], entry_pb2.SOURCE_KEYWORD)
        if name in word or name in await ids(text, entry_pb2.SOURCE_VECTOR):
            raise world.violation("a deleted entry is found", [name])

    gone = [miss(name, text) for name, text in world.former.items() if text]
    await asyncio.gather(*map(look, world.truth.values()), *gone)
    return len(world.truth) + len(gone)


def is_live(entry: Entry, now: datetime) -> bool:
    """Whether an entry counts now."""
    link = entry.supersede_time.ToDatetime(UTC) if entry.superseded_by else None
    return link is None or link > now


def check_sqlite(folder: Path) -> None:
    """Let SQLite check the record's file. Raises Violation."""
    path = folder / "data" / "record.sqlite"
    if not path.exists():
        return
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        (told,) = connection.execute("PRAGMA integrity_check").fetchone()
    if told != "ok":
        raise Violation(f"the record's file is damaged: {told}")


async def patiently(session: Session, world: World, tenant: str) -> tuple[int, int]:
    """All of it; again while the engine comes back. How many were compared and searched."""
    for _ in range(100):
        try:
            await wait_until_settled(session)
            world.verify(await export(session, tenant))
            return await check_indexes(session), await check_searches(session, world, tenant)
        except Lost:
            await asyncio.sleep(0.1)
    raise Violation("the service does not answer")


def lines(rows: Iterable[tuple[str, object]]) -> str:
    """A table of two columns."""
    table = [(name, str(value)) for name, value in rows]
    width = max(len(name) for name, _ in table)
    return "\n".join(f"  {name:<{width}}  {value:>9}" for name, value in table)
