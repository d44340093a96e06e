"""The record's adapters, entries to put into them, and whose they are."""

import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from support.engines.notes import POSTGRESQL, SQLITE, note_engine
from support.engines.postgres_databases import new_database
from support.engines.run import RUN

from hilvan_kit.auth import Principal, Role
from hilvan_retrieval.adapters.record import (
    Database,
    SqlConsolidationInput,
    SqlConsolidationJournal,
    SqlEntryStore,
    SqlGenerationStore,
    SqlOutbox,
    SqlPolicyStore,
    migrate,
    open_record,
    open_sqlite,
)
from hilvan_retrieval.model.embedding import Vector
from hilvan_retrieval.model.entry import Axis, Entry, Layer, Owner
from hilvan_retrieval.model.generation import GenerationState
from hilvan_retrieval.model.index import Source
from hilvan_retrieval.model.policy import SpacePolicy

T0 = datetime(2025, 1, 1, tzinfo=UTC)
NOW = datetime(2025, 6, 1, tzinfo=UTC)
MODEL = "test-model"

ANA = Owner(Axis.USER, "ana")
BOB = Owner(Axis.USER, "bob")
DESK = Owner(Axis.PROJECT, "desk")
HOME = Owner(Axis.SPACE, "home")

AS_ANA = Principal("acme", "ana", Role.MEMBER)
AS_BOB = Principal("acme", "bob", Role.MEMBER)
AS_CAL = Principal("acme", "cal", Role.MEMBER)
AS_ADMIN = Principal("acme", "root", Role.ADMIN)
AS_SERVICE = Principal("acme", "curation", Role.SERVICE)
AS_RIVAL = Principal("rival", "ana", Role.MEMBER)

SPACE = SpacePolicy("home", frozenset({"bob"}), frozenset({"ana"}), frozenset({"desk"}), ())
"""Ana writes and Bob reads the space and its project; Cal does neither."""


def entry(entry_id: str = "m1", text: str = "a statement", **values: Any) -> Entry:
    """Make an entry of Ana, made and updated at `T0` unless told otherwise."""
    base: dict[str, Any] = {
        "layer": Layer.MEMORY,
        "owner": ANA,
        "create_time": T0,
        "update_time": T0,
    }
    return Entry(id=entry_id, text=text, **(base | values))


def unit(*values: float) -> Vector:
    """Make a unit vector of the record's tests."""
    vector = np.array(values, np.float32)
    return vector / np.float32(np.linalg.norm(vector))


class Clock:
    """Seconds since 1970 that move only when told."""

    def __init__(self, at: datetime = NOW) -> None:
        """Stand at a moment."""
        self.seconds = at.timestamp()

    def __call__(self) -> float:
        """Tell the time."""
        return self.seconds

    def moment(self) -> datetime:
        """Tell the time as a datetime."""
        return datetime.fromtimestamp(self.seconds, UTC)

    def move(self, by: timedelta) -> None:
        """Go forward."""
        self.seconds += by.total_seconds()


@contextmanager
def quick_folder() -> Iterator[Path]:
    """Give an empty folder, in memory where that is possible: a commit syncs its file."""
    memory = Path("/dev/shm")  # noqa: S108 - the folder made in it is private
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


@dataclass(frozen=True, slots=True)
class Record:
    """The ports of one database, and ways to open it once more, as a replica would."""

    store: SqlEntryStore
    outbox: SqlOutbox
    policies: SqlPolicyStore
    generations: SqlGenerationStore
    findings: SqlConsolidationInput
    journal: SqlConsolidationJournal
    clock: Clock
    again: Callable[[], AbstractAsyncContextManager[SqlEntryStore]]
    replica: Callable[[], "AbstractAsyncContextManager[Record]"]


@asynccontextmanager
async def sqlite_record() -> AsyncIterator[Record]:
    """Open a record in a new SQLite file."""
    note_engine(SQLITE, "in the process of the tests")
    with quick_folder() as folder:
        async with _record(lambda: open_sqlite(folder / "record.sqlite")) as record:
            yield record


@asynccontextmanager
async def postgres_record() -> AsyncIterator[Record]:
    """Open a record in a new database of the session's PostgreSQL."""
    async with (
        new_database(RUN.engine(POSTGRESQL).address, "hilvan_record", _migrate_at) as address,
        _record(lambda: open_record(address, Path("unused"))) as record,
    ):
        yield record


async def _migrate_at(address: str) -> None:
    database = open_record(address, Path("unused"))
    await migrate(database)
    await database.close()


@asynccontextmanager
async def _record(connect: Callable[[], Database]) -> AsyncIterator[Record]:
    clock = Clock()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Database]:
        database = connect()
        try:
            await migrate(database)
            yield database
        finally:
            await database.close()

    @asynccontextmanager
    async def again() -> AsyncIterator[SqlEntryStore]:
        async with opened() as other:
            yield SqlEntryStore(other, clock)

    @asynccontextmanager
    async def replica() -> AsyncIterator[Record]:
        async with opened() as database:
            yield Record(
                SqlEntryStore(database, clock),
                SqlOutbox(database, clock),
                SqlPolicyStore(database),
                SqlGenerationStore(database, clock),
                SqlConsolidationInput(database),
                SqlConsolidationJournal(database, clock),
                clock,
                again,
                replica,
            )

    async with replica() as record:
        yield record


async def begin_feeds(record: Record) -> tuple[str, str]:
    """Begin an index of each source, and give their feeds: vector, then keyword."""
    begun = [
        await record.generations.begin(source, "memory", MODEL, GenerationState.LIVE)
        for source in (Source.VECTOR, Source.KEYWORD)
    ]
    return begun[0].feed, begun[1].feed


RECORDS: Mapping[str, Callable[[], AbstractAsyncContextManager[Record]]] = {
    "sqlite": sqlite_record,
    "postgresql": postgres_record,
}
"""Every adapter of the record, for the contract suites: by name, how to open a new one."""
