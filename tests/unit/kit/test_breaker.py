"""The breaker: when it opens, whom it lets through, and how it comes back."""

from collections.abc import Callable
from contextlib import ExitStack

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from prometheus_client import REGISTRY

from hilvan_kit.breaker import Attempt, Breaker, Refused, State

LATE, GONE = "timeout", "unavailable"


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.seconds


class Tried:
    """A breaker whose pauses are as long as they can be, with a clock."""

    def __init__(self, chance: Callable[[], float] = lambda: 0.0, part: str = "") -> None:
        self.clock = Clock()
        self.breaker: Breaker[str] = Breaker(part, now=self.clock, chance=chance)

    def fail(self, times: int = 1, kind: str = LATE) -> None:
        """Let calls fail."""
        for _ in range(times):
            with self.breaker.guard() as attempt:
                attempt.failed(kind)

    def succeed(self, times: int = 1) -> None:
        """Let calls succeed."""
        for _ in range(times):
            with self.breaker.guard() as attempt:
                attempt.succeeded()

    def refusal(self) -> str:
        """Tell why a call is refused."""
        with pytest.raises(Refused) as caught, self.breaker.guard():
            pass
        return str(caught.value.kind)

    def wait(self, seconds: float) -> State:
        """Let time pass; tell the state."""
        self.clock.seconds += seconds
        return self.breaker.state

    def state(self) -> State:
        """Tell the state."""
        return self.breaker.state


@pytest.fixture
def tried() -> Tried:
    """A closed breaker."""
    return Tried()


def test_five_failures_in_a_row_open(tried: Tried) -> None:
    """Four don't, nor do five with a success between them."""
    tried.fail(4)
    tried.succeed()
    tried.fail(4)
    assert tried.state() is State.CLOSED
    tried.fail()
    assert tried.state() is State.OPEN


def test_half_of_the_last_twenty_open(tried: Tried) -> None:
    """The tenth failure among twenty calls does, though no two came in a row."""
    for _ in range(9):
        tried.fail()
        tried.succeed()
    assert tried.state() is State.CLOSED
    tried.fail()
    assert tried.state() is State.OPEN


@pytest.mark.parametrize(
    "forget", [lambda tried: tried.wait(10.01), lambda tried: tried.succeed(11)]
)
def test_what_is_past_does_not_count(tried: Tried, forget: Callable[[Tried], object]) -> None:
    """Failures older than ten seconds, or before the last twenty calls, are forgotten."""
    for _ in range(9):
        tried.fail()
        tried.succeed()
    forget(tried)
    tried.fail()
    assert tried.state() is State.CLOSED


def test_a_refusal_says_what_failed(tried: Tried) -> None:
    """It is the last failure, of the kind that its caller gave."""
    tried.fail(4, GONE)
    tried.fail(1, LATE)
    assert tried.refusal() == LATE
    tried.wait(0.5)
    tried.fail(1, GONE)
    assert tried.refusal() == GONE


def test_after_half_a_second_one_call_goes_through(tried: Tried) -> None:
    """The others are refused meanwhile; its success lets all through again."""
    tried.fail(5)
    assert tried.wait(0.49) is State.OPEN
    tried.refusal()
    assert tried.wait(0.02) is State.HALF_OPEN
    with tried.breaker.guard() as probe:
        assert probe.is_probe
        tried.refusal()
        probe.succeeded()
    assert tried.state() is State.CLOSED
    with tried.breaker.guard() as first, tried.breaker.guard():
        assert not first.is_probe


def test_each_failed_probe_doubles_the_pause_up_to_two_seconds(tried: Tried) -> None:
    """After a success it begins at half a second again."""
    tried.fail(5)
    for pause in (0.5, 1.0, 2.0, 2.0):
        assert tried.wait(pause - 0.01) is State.OPEN
        assert tried.wait(0.02) is State.HALF_OPEN
        tried.fail()
    assert tried.wait(2.01) is State.HALF_OPEN
    tried.succeed()
    tried.fail(5)
    assert tried.wait(0.51) is State.HALF_OPEN


def test_a_pause_is_up_to_a_fifth_shorter_by_chance() -> None:
    """Replicas that lost an engine together don't try it again together."""
    tried = Tried(chance=lambda: 1.0)
    tried.fail(5)
    assert tried.wait(0.39) is State.OPEN
    assert tried.wait(0.02) is State.HALF_OPEN


def test_a_probe_that_went_away_leaves_its_place(tried: Tried) -> None:
    """Cancelled, or failed in a way that says nothing of the part: the next call is the probe."""
    tried.fail(5)
    tried.wait(0.5)
    with pytest.raises(ZeroDivisionError), tried.breaker.guard():
        raise ZeroDivisionError
    assert tried.state() is State.HALF_OPEN
    with tried.breaker.guard() as probe:
        assert probe.is_probe


def test_a_probe_that_was_judged_leaves_its_place(tried: Tried) -> None:
    """Though it goes on, the next one may try when the pause is over."""
    tried.fail(5)
    tried.wait(0.5)
    with tried.breaker.guard() as probe:
        probe.failed(LATE)
        tried.wait(1.0)
        tried.succeed()
    assert tried.state() is State.CLOSED


def test_without_a_verdict_nothing_counts(tried: Tried) -> None:
    """Calls that were abandoned neither open nor break a row of failures."""
    tried.fail(4)
    for _ in range(30):
        with tried.breaker.guard():
            pass
    assert tried.state() is State.CLOSED
    tried.fail()
    assert tried.state() is State.OPEN


def test_only_the_first_verdict_counts(tried: Tried) -> None:
    """One call is one outcome."""
    with tried.breaker.guard() as attempt:
        for _ in range(9):
            attempt.failed(LATE)
    assert tried.state() is State.CLOSED


def test_what_began_before_has_no_say_after(tried: Tried) -> None:
    """A late success doesn't close what is open, late failures don't count for the next time."""
    with ExitStack() as calls:
        late = [calls.enter_context(tried.breaker.guard()) for _ in range(10)]
        tried.fail(5)
        late.pop().succeeded()
        late.pop().failed(GONE)
        assert (tried.state(), tried.refusal()) == (State.OPEN, LATE)
        tried.wait(0.5)
        tried.succeed()
        for each in late:
            each.failed(GONE)
    assert tried.state() is State.CLOSED


def test_the_state_is_a_metric() -> None:
    """By the part's name, as it is when it is asked for."""

    def shown() -> float | None:
        return REGISTRY.get_sample_value("hilvan_breaker_state", {"part": "a-test"})

    tried = Tried(part="a-test")
    assert shown() == State.CLOSED
    tried.fail(5)
    assert shown() == State.OPEN
    tried.wait(0.5)
    assert shown() == State.HALF_OPEN


class Model(RuleBasedStateMachine):
    """Any order of calls, verdicts and time, against what the breaker promises."""

    def __init__(self) -> None:
        super().__init__()
        self.tried = Tried()
        self.guards: list[tuple[ExitStack, Attempt[str]]] = []
        self.in_a_row = 0
        self.counted: list[tuple[float, bool]] = []
        self.is_closed = True
        self.failed_at = 0.0
        self.kind = ""
        self.stale: set[int] = set()

    def _now(self) -> float:
        return self.tried.clock.seconds

    def _probes(self) -> list[Attempt[str]]:
        return [each for _, each in self.guards if each.is_probe]

    @rule()
    def call(self) -> None:
        """A call begins, or is refused for a reason that the model has."""
        guard = ExitStack()
        try:
            self.guards.append((guard, guard.enter_context(self.tried.breaker.guard())))
        except Refused as refused:
            told = refused.kind
            assert (self.is_closed, told) == (False, self.kind)
            assert self._probes() or self._now() - self.failed_at < 2.0
        else:
            assert self.guards[-1][1].is_probe is not self.is_closed
            if not self.is_closed:
                assert self._now() - self.failed_at >= 0.4

    @precondition(lambda self: self.guards)
    @rule(data=st.data(), verdict=st.sampled_from([LATE, GONE, "ok", "abandoned"]))
    def end(self, data: st.DataObject, verdict: str) -> None:
        """A call ends with a verdict or without."""
        place = data.draw(st.integers(0, len(self.guards) - 1))
        guard, attempt = self.guards.pop(place)
        has_say = id(attempt) not in self.stale
        with guard:
            if verdict == "ok":
                attempt.succeeded()
            elif verdict != "abandoned":
                attempt.failed(verdict)
        self.stale.discard(id(attempt))
        if has_say and verdict != "abandoned":
            self._count(verdict)

    def _count(self, verdict: str) -> None:
        failed, was_closed = verdict != "ok", self.is_closed
        self.in_a_row = self.in_a_row + 1 if failed else 0
        self.counted = [*self.counted, (self._now(), failed)][-20:]
        recent = [bad for at, bad in self.counted if self._now() - at <= 10.0]
        if not failed:
            self.is_closed = True
        elif not was_closed or self.in_a_row >= 5 or sum(recent) >= 10:
            self.is_closed, self.failed_at, self.kind = False, self._now(), verdict
        if not self.is_closed or not was_closed:
            self.in_a_row, self.counted = 0, []
            self.stale = {id(each) for _, each in self.guards}

    @rule(seconds=st.sampled_from([0.01, 0.3, 0.5, 1.0, 2.0, 5.0, 11.0]))
    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.tried.wait(seconds)

    @rule(times=st.integers(1, 6))
    def fail_in_a_row(self, times: int) -> None:
        """What is rare by chance: calls fail one after the other."""
        for _ in range(times):
            before = len(self.guards)
            self.call()
            if len(self.guards) > before:
                self._end_last(LATE)

    def _end_last(self, verdict: str) -> None:
        guard, attempt = self.guards.pop()
        with guard:
            attempt.failed(verdict)
        self._count(verdict)

    @invariant()
    def at_most_one_probe(self) -> None:
        """Of those that still have a say."""
        assert len([each for each in self._probes() if id(each) not in self.stale]) <= 1

    @invariant()
    def closed_as_the_model_says(self) -> None:
        """And only then."""
        assert (self.tried.state() is State.CLOSED) is self.is_closed

    def teardown(self) -> None:
        """End what is under way."""
        for guard, _ in self.guards:
            guard.close()


TestAnyOrder = Model.TestCase
