"""A real engine behind the fault rig: what each fault costs, and how soon it is forgotten."""

import asyncio
import statistics

import pytest
from support.engines.degradation import (
    BACK_S,
    DEADLINE_S,
    ENGINES,
    FAULTS,
    HTTP_FAULTS,
    ROWS,
    Bench,
    bench,
)
from support.engines.fault_proxy import Mode

from hilvan_retrieval.errors import AllSourcesFailed
from hilvan_retrieval.model.index import Source
from hilvan_retrieval.usecases.candidate import PartStatus

every_row = pytest.mark.parametrize(("engine", "fault"), ROWS)
every_engine = pytest.mark.parametrize("engine", ENGINES)

OF_WORDS = {"m1"}
OF_VECTORS = {"m1", "m2"}
CALLS = 8
"""Enough to open the breaker, and some more."""


async def until_open(opened: Bench) -> None:
    """Ask until the engine is no longer asked."""
    for _ in range(CALLS):
        await opened.ask()


async def no_more_than(opened: Bench, tasks: "set[asyncio.Task[object]]") -> None:
    """Wait until nothing runs that did not before: a cancelled call takes some turns to end."""
    async with asyncio.timeout(DEADLINE_S):
        while opened.tasks() - tasks:  # noqa: ASYNC110 - tasks tell nobody
            await asyncio.sleep(0.01)


@every_row
async def test_a_fault_costs_the_hits_of_its_engine_and_no_more(engine: str, fault: str) -> None:
    """Every call is answered in time with the other source's hits, and says what is missing.

    Nothing of the call goes on after it, and when the engine is well nothing is missing soon.
    """
    async with bench(ENGINES[engine]) as opened:
        others = OF_WORDS if opened.source is Source.VECTOR else OF_VECTORS
        before = opened.tasks()
        opened.begin(HTTP_FAULTS[fault])
        for _ in range(CALLS):
            found, seconds = await opened.ask()
            assert opened.of(found) in HTTP_FAULTS[fault].statuses
            assert {each.entry.id for each in found.candidates} == others
            assert [each.status for each in found.sources].count(PartStatus.OK) == 1
            assert seconds < DEADLINE_S
        await no_more_than(opened, before)
        opened.proxy.mode = Mode.PASS
        async with asyncio.timeout(2 * BACK_S):  # a busy machine is given twice the target
            await opened.until_well()
        found, _ = await opened.ask()
        assert {each.entry.id for each in found.candidates} == OF_VECTORS


@every_engine
async def test_an_engine_that_is_not_asked_costs_no_time(engine: str) -> None:
    """Answers come about as quickly as from a healthy one, not after its cap."""
    async with bench(ENGINES[engine]) as opened:
        healthy = [(await opened.ask())[1] for _ in range(40)]
        opened.begin(FAULTS["hang"])
        await until_open(opened)
        degraded = [(await opened.ask())[1] for _ in range(40)]
        assert statistics.median(degraded) < 1.5 * statistics.median(healthy)


@every_engine
async def test_all_sources_can_be_required_of_an_open_breaker(engine: str) -> None:
    """The error comes at once and says what the engine's fault was."""
    async with bench(ENGINES[engine]) as opened:
        opened.begin(FAULTS["hang"])
        await until_open(opened)
        with pytest.raises(AllSourcesFailed, match=f"{opened.source.value}: timeout"):
            await opened.ask(require_all_sources=True)


@every_engine
async def test_a_late_engine_is_no_faulty_one(engine: str) -> None:
    """A delay well inside of the cap is waited for."""
    async with bench(ENGINES[engine], cap_seconds=5.0) as opened:
        opened.proxy.delay_seconds = 0.05
        opened.proxy.mode = Mode.DELAY
        for _ in range(CALLS):
            found, seconds = await opened.ask()
            assert opened.of(found) is PartStatus.OK
            assert seconds >= opened.proxy.delay_seconds
