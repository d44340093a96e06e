"""The one place where a gRPC status becomes a `HilvanError`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from grpc import aio

from hilvan_client.errors import (
    Conflict,
    DeadlineExceeded,
    FailedPrecondition,
    Failure,
    HilvanError,
    InternalError,
    InvalidRequest,
    NotBuilt,
    NotFound,
    Overloaded,
    PermissionDenied,
    Unauthenticated,
    Unavailable,
    Violation,
)

_DETAILS = "grpc-status-details-bin"

_ERRORS: Mapping[grpc.StatusCode, type[HilvanError]] = MappingProxyType(
    {
        grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
        grpc.StatusCode.OUT_OF_RANGE: InvalidRequest,
        grpc.StatusCode.FAILED_PRECONDITION: FailedPrecondition,
        grpc.StatusCode.NOT_FOUND: NotFound,
        grpc.StatusCode.ABORTED: Conflict,
        grpc.StatusCode.ALREADY_EXISTS: Conflict,
        grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
        grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
        grpc.StatusCode.RESOURCE_EXHAUSTED: Overloaded,
        grpc.StatusCode.UNAVAILABLE: Unavailable,
        # What a server that stops sends for the calls it still has. A call that is cancelled
        # here raises asyncio.CancelledError and never comes this way.
        grpc.StatusCode.CANCELLED: Unavailable,
        grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
        grpc.StatusCode.UNIMPLEMENTED: NotBuilt,
        grpc.StatusCode.INTERNAL: InternalError,
        grpc.StatusCode.UNKNOWN: InternalError,
        grpc.StatusCode.DATA_LOSS: InternalError,
    }
)


def translate(error: aio.AioRpcError) -> HilvanError:
    """Make the error that callers see; raise it ``from`` the original."""
    failure = _failure(error)
    kind = _ERRORS.get(error.code(), HilvanError)
    if kind is Overloaded and not failure.reason and failure.retry_after is None:
        # gRPC itself sends this code for a message above the size cap: waiting won't help.
        kind = HilvanError
    return kind(failure)


def _failure(error: aio.AioRpcError) -> Failure:
    known: dict[str, Any] = {}
    for detail in _details(error):
        known |= _read(detail)
    return Failure(code=error.code().name, message=error.details() or "", **known)


def _details(error: aio.AioRpcError) -> list[Any]:
    """The packed details; none when the error did not come from a service of ours."""
    packed = dict(error.trailing_metadata() or ()).get(_DETAILS)
    if not isinstance(packed, bytes):
        return []
    try:
        return list(status_pb2.Status.FromString(packed).details)
    except DecodeError:
        return []


def _read(detail: Any) -> dict[str, Any]:
    """The fields of a `Failure` that one packed detail knows."""
    info = error_details_pb2.ErrorInfo()
    if detail.Unpack(info):
        metadata = MappingProxyType(dict(info.metadata))
        return {"reason": info.reason, "domain": info.domain, "metadata": metadata}
    bad = error_details_pb2.BadRequest()
    if detail.Unpack(bad):
        return {
            "violations": tuple(Violation(v.field, v.description) for v in bad.field_violations)
        }
    retry = error_details_pb2.RetryInfo()
    if detail.Unpack(retry):
        return {"retry_after": retry.retry_delay.ToTimedelta().total_seconds()}
    resource = error_details_pb2.ResourceInfo()
    if detail.Unpack(resource):
        return {"resource": resource.resource_name}
    return {}
