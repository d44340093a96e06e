"""The caller's deadline is the only clock: what is left of it travels down."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc

MARGIN_SECONDS = 0.005
"""Kept back from what a downstream call may use, to answer in time with what there is."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock."""

    at: float
    clock: Callable[[], float] = time.monotonic

    @staticmethod
    def after(seconds: float) -> "Deadline":
        """A deadline that many seconds from now."""
        return Deadline(time.monotonic() + seconds)

    @staticmethod
    def of(context: "grpc.aio.ServicerContext[Any, Any]", default_seconds: float) -> "Deadline":
        """The call's own deadline, or the default where the caller set none."""
        remaining = context.time_remaining()
        return Deadline.after(default_seconds if remaining is None else float(remaining))

    def remaining(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self.at - self.clock())

    def downstream(self, cap_seconds: float | None = None) -> float:
        """Seconds for a call further down: what is left less the margin, at most the cap."""
        left = max(0.0, self.remaining() - MARGIN_SECONDS)
        return left if cap_seconds is None else min(left, cap_seconds)
