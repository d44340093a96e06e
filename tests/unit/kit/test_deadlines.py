"""What is left of a deadline, and what of it travels down."""

from hypothesis import given
from hypothesis import strategies as st

from hilvan_kit.deadlines import MARGIN_SECONDS, Deadline

seconds = st.floats(-1e6, 1e6)


@given(seconds, seconds, st.none() | st.floats(0, 1e6))
def test_seconds_for_a_call_further_down(at: float, now: float, cap: float | None) -> None:
    """Never negative, at most the cap, and always the margin less than what is left."""
    deadline = Deadline(at, clock=lambda: now)
    assert deadline.remaining() == max(0.0, at - now)
    down = deadline.downstream(cap)
    assert 0 <= down <= deadline.remaining()
    assert cap is None or down <= cap
    if down > 0 and down != cap:
        assert down == deadline.remaining() - MARGIN_SECONDS


def test_a_deadline_that_passed_leaves_nothing() -> None:
    """After the deadline there is no time at all, with or without a cap."""
    deadline = Deadline(10.0, clock=lambda: 11.0)
    assert (deadline.remaining(), deadline.downstream(), deadline.downstream(5)) == (0, 0, 0)


def test_a_deadline_runs_by_its_clock() -> None:
    """The same deadline has less left as time goes by, until nothing is."""
    times = iter([0.0, 4.0, 10.0, 99.0])
    deadline = Deadline(10.0, clock=lambda: next(times))
    assert [deadline.remaining() for _ in range(4)] == [10, 6, 0, 0]


def test_after_counts_from_now() -> None:
    """``after`` is a deadline that many seconds from now."""
    assert 99 < Deadline.after(100).remaining() <= 100
