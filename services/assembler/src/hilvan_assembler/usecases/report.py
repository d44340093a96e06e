"""Tells retrieval what was noticed while assembling, without delaying an answer."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

import structlog

from hilvan_assembler.errors import AssemblerError
from hilvan_assembler.model.contradiction import FoundContradiction
from hilvan_assembler.model.turn import Caller
from hilvan_assembler.ports.retrieval import Retrieval
from hilvan_assembler.usecases.turn import Turn

REPORT_SECONDS = 5.0
"""How long findings are gathered: a report a turn took a fifth of a busy call's time. What is
gathered is lost when the process is killed; it will be found again."""

MAX_CALLERS = 1_000
"""Callers whose findings are gathered at once; those of further ones are dropped."""

MAX_ACCESSES = 1_000
MAX_CONTRADICTIONS = 100
"""What one report may hold, as proto/hilvan/retrieval/v1 bounds it."""

_log = structlog.get_logger()

Finding = TypeVar("Finding", bound=Hashable)
Tell = Callable[[Caller, Sequence[Finding]], Awaitable[None]]


class Reports(Generic[Finding]):
    """Gathers findings of one kind by caller. What is found twice in a report counts once."""

    def __init__(
        self, what: str, tell: Tell[Finding], most: int, seconds: float = REPORT_SECONDS
    ) -> None:
        """``tell`` takes at most ``most`` of ``what``, gathered for ``seconds``."""
        self._what = what
        self._tell = tell
        self._most = most
        self._seconds = seconds
        self._found: dict[Caller, dict[Finding, None]] = {}
        self._closing = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    def add(self, caller: Caller, findings: Sequence[Finding]) -> None:
        """Note what was found in a caller's turn."""
        if not findings or (caller not in self._found and len(self._found) >= MAX_CALLERS):
            return
        self._found.setdefault(caller, {}).update(dict.fromkeys(findings))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def close(self) -> None:
        """Tell what was gathered, now."""
        self._closing.set()
        if self._sending is not None:
            await self._sending

    async def _send(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                await self._closing.wait()
        while self._found:
            caller = next(iter(self._found))
            findings = list(self._found.pop(caller))
            for start in range(0, len(findings), self._most):
                await self._report(caller, findings[start : start + self._most])

    async def _report(self, caller: Caller, findings: Sequence[Finding]) -> None:
        try:
            await self._tell(caller, findings)
        except AssemblerError as error:
            _log.warning("not recorded", what=self._what, error=repr(error))


class TurnReports:
    """What retrieval is told of turns: which entries were rendered, and what contradicts."""

    def __init__(self, retrieval: Retrieval) -> None:
        """Tell this retrieval."""
        self._accesses = Reports("accesses", retrieval.record_accesses, MAX_ACCESSES)
        self._contradictions = Reports(
            "contradictions", retrieval.record_contradictions, MAX_CONTRADICTIONS
        )

    def add(
        self, turn: Turn, rendered: Sequence[str], contradictions: Sequence[FoundContradiction]
    ) -> None:
        """Note what a turn rendered and found, unless it is a preview."""
        if not turn.preview:
            self._accesses.add(turn.caller, rendered)
            self._contradictions.add(turn.caller, contradictions)

    async def close(self) -> None:
        """Tell what was gathered, now."""
        await asyncio.gather(self._accesses.close(), self._contradictions.close())
