"""Tells retrieval which entries were loaded, without delaying an answer."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import structlog

from hilvan_assembler.errors import AssemblerError
from hilvan_assembler.model import Caller
from hilvan_assembler.ports import Retrieval

REPORT_SECONDS = 5.0
"""How long accesses are gathered: a report a turn took a fifth of a busy call's time. What is
gathered is lost when the process is killed; it only counts."""

CALLERS_MOST = 1_000
"""Callers whose accesses are gathered at once; those of further ones are dropped."""

IDS_MOST = 1_000
"""Ids of one report (proto/hilvan/retrieval/v1)."""

_log = structlog.get_logger()


class AccessReports:
    """Gathers accesses by caller. An entry that is loaded twice in a report counts once."""

    def __init__(self, retrieval: Retrieval, seconds: float = REPORT_SECONDS) -> None:
        """``seconds`` is how long accesses are gathered before they are told."""
        self._retrieval = retrieval
        self._seconds = seconds
        self._loaded: dict[Caller, dict[str, None]] = {}
        self._closing = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    def add(self, caller: Caller, ids: Sequence[str]) -> None:
        """Note that entries were loaded for a caller."""
        if not ids or (caller not in self._loaded and len(self._loaded) >= CALLERS_MOST):
            return
        self._loaded.setdefault(caller, {}).update(dict.fromkeys(ids))
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
        while self._loaded:
            caller = next(iter(self._loaded))
            ids = list(self._loaded.pop(caller))
            for start in range(0, len(ids), IDS_MOST):
                await self._report(caller, ids[start : start + IDS_MOST])

    async def _report(self, caller: Caller, ids: Sequence[str]) -> None:
        try:
            await self._retrieval.record_accesses(caller, ids)
        except AssemblerError as error:
            _log.warning("accesses not recorded", error=repr(error))
