"""The short form of `make crash`: a dozen kills of a working retrieval, on each database."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from crash.harness import Tally, Worker
from crash.process import running_starter
from support.engines.notes import EDGE, SQLITE, TANTIVY, note_engine
from support.engines.postgres_databases import new_database
from support.engines.vector import engine_folder

pytestmark = pytest.mark.timeout(240)

KILLS = 12
SEED = os.environ.get("HILVAN_TEST_CRASH_SEED", "7")
"""Another one kills elsewhere; a failure names it."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Gives the service a folder."""
    with engine_folder() as made:
        yield made


async def killed(folder: Path, record_url: str = "") -> Tally:
    """Kill so often, with the whole check in the end; raises Violation with the log's end."""
    note_engine(EDGE, "a process of the killed service")
    for name in (TANTIVY, *(() if record_url else (SQLITE,))):
        note_engine(name, "in the killed service")
    async with running_starter() as starter:
        worker = Worker(folder, starter, f"{SEED} {record_url[:10]}", record_url)
        try:
            await worker.run(KILLS, lambda _: None)
        except Exception as error:
            error.add_note(f"seed {SEED}\n{worker.service.log_tail()}")
            raise
    return worker.tally


def assert_it_worked(tally: Tally) -> None:
    """Look that the kills hit a service that was at work, and that something was repeated."""
    assert tally.kills == KILLS
    assert tally.checks == 1
    for what in ("acknowledged", "replays", "late replays", "entries searched"):
        assert tally.counts[what] > 0, what
    for what in ("write", "import", "consolidation", "start-up"):
        assert tally.hit[what] > 0, what


async def test_kills_lose_and_double_nothing_on_sqlite(folder: Path) -> None:
    """Every acknowledged write is there once, in the record and in both indexes."""
    assert_it_worked(await killed(folder))


async def test_kills_lose_and_double_nothing_on_postgresql(folder: Path, postgres_url: str) -> None:
    """The same with the record on a server that lives on."""
    async with new_database(postgres_url) as url:
        assert_it_worked(await killed(folder, url))
