"""The guards of every service, in the order of `standard_guards`."""

import asyncio
import time
from contextvars import ContextVar
from functools import cache
from itertools import islice
from typing import Any

import grpc
import structlog
from prometheus_client import Counter, Histogram

from hilvan_kit.auth import (
    TENANT_KEY,
    USER_KEY,
    Authenticator,
    AuthError,
    PermissionDenied,
    Principal,
    Reason,
    Unauthenticated,
)
from hilvan_kit.calls import Call, Guard, MalformedRequest, Step
from hilvan_kit.failures import ErrorTable, Failure, Rows, abort, incident_failure
from hilvan_kit.paging import BadPageToken
from hilvan_kit.validation import InvalidRequest

TIMEOUT_KEY = "hilvan-timeout-ms"
"""Metadata in which our client repeats the deadline it set, so that a call's age can be told."""

SHED_SHARE = 0.4
"""A call that has lost this share of its deadline before it began is rejected: it would take the
time of calls that can still be answered. See `measured.md`: 93 % goodput at 1.5x the capacity."""

SHED_RETRY_SECONDS = 0.2

_TIMEOUT_DIGITS = 9
"""Eleven days; a longer number is no timeout, and could be too long to compute with."""

_TOLD_IN_MESSAGE = 20
"""Violations that the message repeats; the details have them all."""

_OPEN_METHODS = ("/grpc.health.v1.Health/", "/grpc.reflection.")

_FORWARDED = ("authorization", TENANT_KEY, USER_KEY)

_principal: ContextVar[Principal] = ContextVar("principal")
_credentials: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("credentials")

_log = structlog.get_logger()

# The names of gRPC's OpenTelemetry metrics (gRFC A66), written the Prometheus way.
_DURATION = Histogram(
    "grpc_server_call_duration_seconds",
    "Duration of calls from the handler's start to its end.",
    ["grpc_method", "grpc_status"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 10),
)
_STARTED = Counter("grpc_server_call_started", "Calls that began.", ["grpc_method"])

# Looking a labelled metric up costs as much as counting; methods and statuses are few.
_started = cache(_STARTED.labels)
_duration = cache(_DURATION.labels)


class Overloaded(Exception):
    """Too much of the caller's deadline is gone before the call could begin."""


class NotBuilt(Exception):
    """The method is in the contract and not built yet."""

    def __init__(self, method: str, why: str) -> None:
        """Name the method and what it waits for."""
        self.method = method
        super().__init__(f"{method} is not built yet: {why}")


def principal() -> Principal:
    """Who the running call acts for. LookupError outside of an authenticated call."""
    return _principal.get()


def credentials() -> tuple[tuple[str, str], ...]:
    """The running call's metadata that proves who it acts for, to send on to other services."""
    return _credentials.get()


def standard_guards(authenticator: Authenticator, table: ErrorTable) -> tuple[Guard, ...]:
    """Observe, translate errors, shed, authenticate: the first is outermost.

    Shedding is the first thing that can refuse a call, before any work is done for it.
    """
    return (observe, translate(table), shed, authenticate(authenticator))


async def observe(call: Call, proceed: Step) -> Any:
    """Count and time the call, and write its one canonical log line."""
    _started(call.method).inc()
    try:
        return await proceed(call)
    except asyncio.CancelledError:
        call.outcome = "CANCELLED"
        raise
    finally:
        elapsed = time.monotonic() - call.started
        _duration(call.method, call.outcome).observe(elapsed)
        if not call.method.startswith(_OPEN_METHODS):
            _log.info(
                "call",
                method=call.method,
                status=call.outcome,
                milliseconds=round(elapsed * 1000, 2),
                **call.notes,
            )


def translate(table: ErrorTable) -> Guard:
    """Turn every exception into its rich error; a fault of ours becomes an incident number."""
    known = ErrorTable(table.domain, {**_COMMON, **table.rows})

    async def guard(call: Call, proceed: Step) -> Any:
        try:
            return await proceed(call)
        except grpc.aio.AbortError:
            call.outcome = call.context.code().name
            raise
        except Exception as error:  # noqa: BLE001 (the edge: nothing may leak past it)
            failure = _foreseen(error, known)
            if failure is None:
                failure = incident_failure()
                _log.exception("incident", method=call.method, **failure.metadata)
            call.outcome = failure.code.name
            call.notes["reason"] = failure.reason
            return await abort(call.context, failure, table.domain)

    return guard


def _foreseen(error: Exception, table: ErrorTable) -> Failure | None:
    try:
        return table.failure(error)
    except Exception:  # noqa: BLE001 (as in `translate`)
        # The row itself is at fault; the caller learns as little of that as of any other fault.
        _log.exception("error table")
        return None


async def shed(call: Call, proceed: Step) -> Any:
    """Reject a call whose deadline is mostly gone: it waited where Python can't see the queue."""
    remaining = call.context.time_remaining()
    stated = call.metadata.get(TIMEOUT_KEY, "")
    if remaining is not None and stated.isdecimal() and len(stated) <= _TIMEOUT_DIGITS:
        timeout = int(stated) / 1000
        if timeout - remaining > SHED_SHARE * timeout:
            raise Overloaded
    return await proceed(call)


def authenticate(authenticator: Authenticator) -> Guard:
    """Give the call its principal; health and reflection need none."""

    async def guard(call: Call, proceed: Step) -> Any:
        if not call.method.startswith(_OPEN_METHODS):
            who = authenticator.authenticate(call.metadata)
            _principal.set(who)
            _credentials.set(
                tuple((key, call.metadata[key]) for key in _FORWARDED if key in call.metadata)
            )
            call.notes["tenant"] = who.tenant
        return await proceed(call)

    return guard


def invalid_fields(pairs: Any) -> Failure:
    """The answer to a bad request: every (field path, description) pair at once."""
    violations = tuple(pairs)
    message = "; ".join(
        f"{path}: {text}" if path else text for path, text in islice(violations, _TOLD_IN_MESSAGE)
    )
    return Failure(
        grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", message, violations=violations
    )


def _unauthenticated(error: AuthError) -> Failure:
    known = {Reason.CREDENTIAL_MISSING, Reason.CREDENTIAL_EXPIRED}
    reason = error.reason.value if error.reason in known else "CREDENTIAL_INVALID"
    return Failure(grpc.StatusCode.UNAUTHENTICATED, reason, str(error))


_COMMON: Rows = {
    InvalidRequest: lambda error: invalid_fields(error.pairs),
    MalformedRequest: lambda error: invalid_fields(error.faults),
    BadPageToken: lambda error: invalid_fields([("page_token", str(error))]),
    Unauthenticated: _unauthenticated,
    PermissionDenied: lambda error: Failure(
        grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED", str(error)
    ),
    Overloaded: lambda _: Failure(
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "OVERLOADED",
        "too much of the deadline was gone before the call could begin",
        retry_after_seconds=SHED_RETRY_SECONDS,
    ),
    NotBuilt: lambda error: Failure(
        grpc.StatusCode.UNIMPLEMENTED,
        "NOT_BUILT_YET",
        str(error),
        metadata={"method": error.method},
    ),
    TimeoutError: lambda _: Failure(
        grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED", "the deadline passed"
    ),
}
