"""A breaker: a part that keeps failing is no longer asked, but by one call now and then.

    try:
        with breaker.guard() as attempt:
            ...                          # ask the part
            attempt.succeeded()          # or attempt.failed(kind)
    except Refused as refused:
        ...                              # nobody was asked; refused.kind says why

An attempt without a verdict (its caller went away, or gave too little time) says nothing of the
part, and leaves its place to the next one.
"""

import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, TypeVar

from prometheus_client import Gauge

FAILURES_IN_A_ROW = 5
WINDOW_CALLS = 20
WINDOW_SECONDS = 10.0
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 2.0
JITTER = 0.2
"""Share by which a pause may be shorter, so that replicas don't try again together."""

K = TypeVar("K")

_STATE = Gauge(
    "hilvan_breaker_state",
    "Whether a part is asked: 0 closed (yes), 1 half open (by one call), 2 open (no).",
    ["part"],
)


class State(IntEnum):
    """As the metric shows it."""

    CLOSED = 0
    HALF_OPEN = 1
    OPEN = 2


class Refused(Exception, Generic[K]):
    """The part was not asked; ``kind`` is how the last call that counted failed."""

    def __init__(self, kind: K) -> None:
        """Keep the kind."""
        self.kind = kind
        super().__init__(str(kind))


@dataclass(frozen=True, slots=True)
class _Pause(Generic[K]):
    kind: K
    seconds: float
    until: float


class Breaker(Generic[K]):
    """Decides whether a part is asked; ``K`` is the kind of its failures.

    Closed: everybody asks, until 5 calls in a row fail, or 10 of the last 20 within 10 s. Open:
    nobody asks, for 0.5 s. Half open: one call asks, the others are refused; its success closes,
    its failure opens for twice as long as before, at most 2 s. Single-threaded.
    """

    def __init__(
        self,
        part: str = "",
        *,
        now: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Start closed. The metric shows a part that has a name: of two, the newer."""
        self._now = now
        self._chance = chance
        self._in_a_row = 0
        self._outcomes: deque[tuple[float, bool]] = deque(maxlen=WINDOW_CALLS)
        self._pause: _Pause[K] | None = None
        self._probe: Attempt[K] | None = None
        # Grows with each opening and closing: what began before has no say after.
        self._era = 0
        if part:
            _STATE.labels(part).set_function(lambda: self.state)

    @property
    def state(self) -> State:
        """Where it stands now."""
        if self._pause is None:
            return State.CLOSED
        return State.OPEN if self._now() < self._pause.until else State.HALF_OPEN

    def check(self) -> None:
        """Raise Refused if a call would be now: before work that is for the call alone."""
        if self._pause and (self._probe or self.state is State.OPEN):
            raise Refused(self._pause.kind)

    @contextmanager
    def guard(self) -> "Iterator[Attempt[K]]":
        """Let a call through; raises Refused."""
        self.check()
        attempt = Attempt(self, self._era, is_probe=self._pause is not None)
        if attempt.is_probe:
            self._probe = attempt
        try:
            yield attempt
        finally:
            if self._probe is attempt:
                self._probe = None

    def _succeeded(self) -> None:
        self._in_a_row = 0
        self._outcomes.append((self._now(), False))
        if self._pause is not None:
            self._turn(None)

    def _failed(self, kind: K) -> None:
        now = self._now()
        self._in_a_row += 1
        self._outcomes.append((now, True))
        recent = sum(failed for at, failed in self._outcomes if now - at <= WINDOW_SECONDS)
        if self._pause is not None:
            self._open(kind, 2 * self._pause.seconds)
        elif self._in_a_row >= FAILURES_IN_A_ROW or 2 * recent >= WINDOW_CALLS:
            self._open(kind, FIRST_PAUSE_SECONDS)

    def _open(self, kind: K, seconds: float) -> None:
        seconds = min(seconds, LONGEST_PAUSE_SECONDS)
        until = self._now() + seconds * (1 - JITTER * self._chance())
        self._turn(_Pause(kind, seconds, until))

    def _turn(self, pause: _Pause[K] | None) -> None:
        self._pause = pause
        self._probe = None
        self._era += 1
        self._outcomes.clear()


class Attempt(Generic[K]):
    """A call that was let through. Its first verdict counts."""

    def __init__(self, breaker: Breaker[K], era: int, *, is_probe: bool) -> None:
        """Made by `Breaker.guard`. A probe should be waited for briefly: others are refused."""
        self._breaker: Breaker[K] | None = breaker
        self._era = era
        self.is_probe = is_probe

    def succeeded(self) -> None:
        """Say that the part works."""
        if breaker := self._taken():
            breaker._succeeded()  # noqa: SLF001 - the two are one thing

    def failed(self, kind: K) -> None:
        """Say how the part failed."""
        if breaker := self._taken():
            breaker._failed(kind)  # noqa: SLF001 - the two are one thing

    def _taken(self) -> Breaker[K] | None:
        """The breaker, once, while what it asks about is still open."""
        breaker, self._breaker = self._breaker, None
        return breaker if breaker is not None and breaker._era == self._era else None  # noqa: SLF001
