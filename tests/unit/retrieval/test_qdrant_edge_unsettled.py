"""When the engine process settles its writes."""

import pytest

from hilvan_retrieval.adapters.vector.edge.store import (
    MANY_POINTS,
    MOST_POINTS,
    OLDEST_S,
    PAUSE_S,
    Unsettled,
)

JUST_BEFORE = 0.001


def written(points: int, first: float, last: float) -> Unsettled:
    """Note one point at a time and the rest at another."""
    unsettled = Unsettled()
    unsettled.add(1, first)
    unsettled.add(points - 1, last)
    return unsettled


def test_nothing_written_is_never_due() -> None:
    """Without writes there is nothing to settle, whatever the time."""
    assert not Unsettled().due(1e9)


@pytest.mark.parametrize(
    ("points", "after", "due"),
    [
        (MANY_POINTS, PAUSE_S, True),
        (MANY_POINTS, PAUSE_S - JUST_BEFORE, False),
        (MANY_POINTS - 1, PAUSE_S, False),
        (MOST_POINTS, 0.0, True),
        (MOST_POINTS - 1, 0.0, False),
    ],
)
def test_a_bulk_is_due_in_a_pause_or_when_it_grows(points: int, after: float, due: bool) -> None:  # noqa: FBT001 - a fact of the table
    """Many writes wait for a pause, very many don't."""
    assert written(points, first=100.0, last=105.0).due(105.0 + after) is due


def test_the_oldest_write_sets_the_longest_wait() -> None:
    """A few writes are due by the age of the first, however recent the last."""
    unsettled = written(2, first=100.0, last=100.0 + OLDEST_S - JUST_BEFORE)
    assert not unsettled.due(100.0 + OLDEST_S - JUST_BEFORE)
    assert unsettled.due(100.0 + OLDEST_S)
