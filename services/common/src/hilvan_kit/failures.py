"""The one way in which errors leave a server: `google.rpc.Status` with its details.

A service gives an `ErrorTable`: for each of its exception classes a function that tells the
`Failure`. Whatever is not in the table is a fault of ours: the caller gets an incident number, the
log gets the rest.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

DETAILS_KEY = "grpc-status-details-bin"

_VIOLATIONS_BYTES = 4_096
_TEXT_BYTES = 500
"""gRPC's clients refuse trailers above 8 KiB, where binary values count by a third more: a longer
error would reach the caller as another one, RESOURCE_EXHAUSTED, without a word of ours."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as the caller sees it. ``violations`` are (full field path, description) pairs."""

    code: grpc.StatusCode
    reason: str
    message: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    violations: Sequence[tuple[str, str]] = ()
    resource: tuple[str, str] | None = None
    retry_after_seconds: float | None = None


Rows = Mapping[type[Exception], Callable[..., Failure]]


class ErrorTable:
    """From an exception to its failure. The nearest class in the exception's ancestry decides."""

    def __init__(self, domain: str, rows: Rows) -> None:
        """``domain`` goes into every ErrorInfo, such as ``retrieval.hilvan``."""
        self.domain = domain
        self.rows = rows

    def failure(self, error: Exception) -> Failure | None:
        """Tell the failure, or None for an exception that nobody foresaw."""
        for ancestor in type(error).__mro__:
            row = self.rows.get(ancestor)
            if row is not None:
                return row(error)
        return None


def incident_failure() -> Failure:
    """Say that the fault is ours, with a number that finds it in the log, and nothing else."""
    incident = uuid.uuid4().hex
    return Failure(
        grpc.StatusCode.INTERNAL,
        "INTERNAL",
        f"internal error; incident {incident}",
        metadata={"incident": incident},
    )


def status(failure: Failure, domain: str) -> status_pb2.Status:
    """Build the rich status. It is cut to what a client takes, and says how much it leaves out."""
    info = error_details_pb2.ErrorInfo(reason=failure.reason, domain=domain)
    for key, value in failure.metadata.items():
        info.metadata[key] = _text(value)
    details: list[Message] = [info]
    if failure.violations:
        details.append(_bad_request(failure.violations))
    if failure.resource is not None:
        kind, name = failure.resource
        details.append(
            error_details_pb2.ResourceInfo(resource_type=kind, resource_name=_text(name))
        )
    if failure.retry_after_seconds is not None:
        delay = Duration()
        delay.FromNanoseconds(round(failure.retry_after_seconds * 1e9))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    message = status_pb2.Status(code=failure.code.value[0], message=_text(failure.message))
    for detail in details:
        packed = AnyMessage()
        packed.Pack(detail)
        message.details.append(packed)
    return message


def _bad_request(violations: Sequence[tuple[str, str]]) -> error_details_pb2.BadRequest:
    bad = error_details_pb2.BadRequest()
    for told, (path, description) in enumerate(violations):
        if bad.ByteSize() > _VIOLATIONS_BYTES:
            bad.field_violations.add(description=f"and {len(violations) - told} more")
            break
        bad.field_violations.add(field=_text(path), description=_text(description))
    return bad


def _text(value: str) -> str:
    # A name from a file system may hold lone surrogates, which protobuf refuses.
    return value[:_TEXT_BYTES].encode(errors="replace")[:_TEXT_BYTES].decode(errors="ignore")


def error_info(error: grpc.aio.AioRpcError) -> error_details_pb2.ErrorInfo | None:
    """The reason and domain of an error that a service of ours sent; None of any other error."""
    packed = dict(error.trailing_metadata() or ()).get(DETAILS_KEY)
    if not isinstance(packed, bytes):
        return None
    try:
        details = status_pb2.Status.FromString(packed).details
    except DecodeError:
        return None
    info = error_details_pb2.ErrorInfo()
    return next((info for detail in details if detail.Unpack(info)), None)


async def abort(
    context: "grpc.aio.ServicerContext[Any, Any]", failure: Failure, domain: str
) -> None:
    """End the call with the failure; raises, as ``context.abort`` does."""
    rich = status(failure, domain)
    await context.abort(failure.code, rich.message, ((DETAILS_KEY, rich.SerializeToString()),))
