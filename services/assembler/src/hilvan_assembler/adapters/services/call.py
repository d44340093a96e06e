"""What every call to another service has: the caller's credential, a deadline, one translator.

A service that keeps failing is not asked for a while; see `hilvan_kit.breaker`.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import grpc

from hilvan_assembler.errors import ServiceError, ServiceTimeout, ServiceUnavailable
from hilvan_assembler.model.turn import Caller
from hilvan_kit.breaker import Attempt, Breaker, Refused, State
from hilvan_kit.deadlines import Deadline
from hilvan_kit.failures import error_info
from hilvan_kit.guards import TIMEOUT_KEY

ENOUGH_SECONDS = 0.05
"""A service that was given less and did not answer is not at fault."""

PROBE_SECONDS = 0.5
"""How long a call that tries a service again may take: the others are refused meanwhile."""

_PREFIX = "ERROR_REASON_"
_GONE = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}

Failed = type[ServiceError]
Known = Mapping[str, Callable[[str], Exception]]
"""By the reason in its ErrorInfo, what makes an exception of an error's message."""

_NONE_KNOWN: Known = {}


class Service:
    """Another service: its name, and whether it is asked."""

    def __init__(self, name: str) -> None:
        """Ask it until it fails."""
        self.name = name
        self._domain = f"{name}.hilvan"
        self._breaker: Breaker[Failed] = Breaker(name)
        self._probes: set[asyncio.Task[Any]] = set()

    async def call(
        self,
        method: Callable[..., Any],
        request: Any,
        caller: Caller,
        deadline: Deadline,
        known: Known = _NONE_KNOWN,
    ) -> Any:
        """Call a method with what is left of the deadline.

        ``known`` are the reasons that mean something here; all other errors say only that the
        service can't help. Raises ServiceTimeout, ServiceUnavailable; at once, as it
        was before, while the service is not asked.
        """
        try:
            asked = self._guarded(method, request, caller, deadline, known)
            if self._breaker.state is State.CLOSED:
                return await asked
            # A probe goes on without its caller: calls beside it are refused, which ends the
            # caller, and would end every probe before the service can answer.
            probe = asyncio.create_task(asked)
            self._probes.add(probe)
            probe.add_done_callback(self._probes.discard)
            return await asyncio.shield(probe)
        except Refused as refused:
            failed: Failed = refused.kind
            raise failed(self.name) from None

    async def close(self) -> None:
        """End the probe that may be under way."""
        for probe in self._probes:
            probe.cancel()
        await asyncio.gather(*self._probes, return_exceptions=True)

    async def _guarded(self, *call: Any) -> Any:
        with self._breaker.guard() as attempt:
            return await self._try(attempt, *call)

    async def _try(
        self,
        attempt: Attempt[Failed],
        method: Callable[..., Any],
        request: Any,
        caller: Caller,
        deadline: Deadline,
        known: Known,
    ) -> Any:
        seconds = deadline.downstream(PROBE_SECONDS if attempt.is_probe else None)
        if seconds <= 0:
            raise ServiceTimeout(self.name)
        metadata = (*caller.metadata, (TIMEOUT_KEY, str(int(seconds * 1000))))
        try:
            answer = await method(request, timeout=seconds, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            info = error_info(error)
            if info is not None and info.domain == self._domain and info.reason in known:
                attempt.succeeded()
                raise known[info.reason](str(error.details() or "")) from error
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                if seconds >= ENOUGH_SECONDS:
                    attempt.failed(ServiceTimeout)
                raise ServiceTimeout(self.name) from error
            # Other codes are the service's answer to this call, and say little of the next.
            if error.code() in _GONE:
                attempt.failed(ServiceUnavailable)
            raise ServiceUnavailable(self.name) from error
        attempt.succeeded()
        return answer


def reason_name(enum_name: str) -> str:
    """What an ErrorInfo calls the value of an ErrorReason enumeration."""
    return enum_name.removeprefix(_PREFIX)
