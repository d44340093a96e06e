"""Work in the background leaves the machine to others."""

import asyncio

import pytest

from hilvan_retrieval.usecases.pace import LONGEST_PAUSE_SECONDS, Pace


class Bench:
    """A clock that only work moves, and the pauses that were taken."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.now = 0.0
        self.pauses: list[float] = []

    async def work(self, seconds: float) -> str:
        """Take some time."""
        self.now += seconds
        return "done"

    async def sleep(self, seconds: float) -> None:
        """Note the pause."""
        self.pauses.append(seconds)

    def pace(self, share: float) -> Pace:
        """Make the pace under test."""
        return Pace(share, lambda: self.now, self.sleep)


@pytest.mark.parametrize(("share", "pause"), [(1.0, 0.0), (0.5, 2.0), (0.8, 0.5)])
async def test_the_pause_is_what_the_share_leaves(share: float, pause: float) -> None:
    """With a half of the time, as long as the work took; what the work gives is given back."""
    bench = Bench()
    assert await bench.pace(share)(bench.work(2.0)) == "done"
    assert bench.pauses == [pytest.approx(pause)]


async def test_a_pause_is_bounded() -> None:
    """One slow answer of a database stops nothing for minutes."""
    bench = Bench()
    await bench.pace(0.5)(bench.work(60.0))
    assert bench.pauses == [LONGEST_PAUSE_SECONDS]


async def test_a_failure_is_told_at_once() -> None:
    """Without a pause."""
    bench = Bench()

    async def fail() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await bench.pace(0.5)(fail())
    assert bench.pauses == []


async def test_by_default_half_of_the_time_is_worked() -> None:
    """The clock and the sleep are the machine's."""
    loop = asyncio.get_running_loop()
    begin = loop.time()
    await Pace()(asyncio.sleep(0.02))
    assert loop.time() - begin >= 0.035
