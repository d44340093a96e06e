"""What a call to Hilvan can fail with.

HilvanError
├── InvalidRequest      the request is out of bounds: every bad field is in `violations`
├── FailedPrecondition  the request is fine, the state of what it is about is not
├── NotFound            it does not exist, or the caller may not see it
├── Conflict            somebody else wrote in between, or a request id was used twice
├── Unauthenticated     the credential is missing, unknown or expired
├── PermissionDenied    the credential does not allow this
├── Overloaded          the server sheds load: retry after `retry_after`
├── Unavailable         the service, or what it needs, can't be reached or is stopping
├── DeadlineExceeded    the deadline passed first
├── NotBuilt            the server does not have the method
└── InternalError       a fault of the server: its log has it under `incident`

`asyncio.CancelledError` is not one of them: a call that its own task cancels stays cancelled.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Violation:
    """One bad field: its full path, such as ``entry.importance``, and what it must be."""

    field: str
    description: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The whole error as the wire had it.

    ``code`` is the name of a gRPC status code; ``reason`` and ``domain`` are of `ErrorReason` and
    empty when the error was not the server's own. ``retry_after`` is in seconds.
    """

    code: str
    message: str
    reason: str = ""
    domain: str = ""
    metadata: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    violations: tuple[Violation, ...] = ()
    retry_after: float | None = None
    resource: str = ""


class HilvanError(Exception):
    """A call failed; `failure` has everything that is known."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure

    def __str__(self) -> str:
        label = self.failure.reason or self.failure.code
        parts = [f"{label}: {self.failure.message}" if self.failure.message else label]
        parts += [f"{item.field}: {item.description}" for item in self.failure.violations]
        return "; ".join(parts)

    @property
    def reason(self) -> str:
        """The name of the service's `ErrorReason` without its prefix; empty if it gave none."""
        return self.failure.reason


class InvalidRequest(HilvanError):
    """The request is out of bounds."""

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Every bad field at once."""
        return self.failure.violations


class FailedPrecondition(HilvanError):
    """The state of what the request is about does not allow it; `reason` says which."""


class NotFound(HilvanError):
    """It does not exist, or the caller may not see it."""

    @property
    def resource(self) -> str:
        """The id that was not found; empty if the server gave none."""
        return self.failure.resource


class Conflict(HilvanError):
    """Somebody else wrote in between, or a request id was used for another request."""

    @property
    def current_etag(self) -> str | None:
        """The etag to read again and retry with; None when the conflict was of another kind."""
        return self.failure.metadata.get("current_etag")


class Unauthenticated(HilvanError):
    """The credential is missing, unknown, malformed, revoked or expired."""


class PermissionDenied(HilvanError):
    """The credential does not allow this, whatever the fields say."""


class Overloaded(HilvanError):
    """The server sheds load."""

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before the next try; None when the server does not know."""
        return self.failure.retry_after


class Unavailable(HilvanError):
    """The service, or what it needs, can't be reached or is stopping. Safe to retry reads."""

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before the next try; None when nobody knows."""
        return self.failure.retry_after


class DeadlineExceeded(HilvanError):
    """The deadline passed first. A write may have happened: repeat it with its request id."""


class NotBuilt(HilvanError):
    """The server does not have the method, or not yet."""


class InternalError(HilvanError):
    """A fault of the server."""

    @property
    def incident(self) -> str | None:
        """The id under which the server's log has it."""
        return self.failure.metadata.get("incident")
