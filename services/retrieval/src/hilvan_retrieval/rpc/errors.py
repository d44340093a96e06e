"""The one table from retrieval's exceptions to what a caller sees."""

import grpc

from hilvan_kit.failures import ErrorTable, Failure
from hilvan_kit.guards import invalid_fields
from hilvan_retrieval.errors import (
    AllSourcesFailed,
    Conflict,
    ConsolidationNotFound,
    ConsolidationRunning,
    InvalidInput,
    NotFound,
    NotYetSearchable,
    RecordUnavailable,
    ReindexRefused,
    RequestIdReused,
    SourceError,
    WriteRefused,
)

DOMAIN = "retrieval.hilvan"


def _not_found(error: NotFound) -> Failure:
    return Failure(
        grpc.StatusCode.NOT_FOUND,
        "ENTRY_NOT_FOUND",
        "no such entry",
        resource=("hilvan.Entry", error.entry_id),
    )


def _conflict(error: Conflict) -> Failure:
    return Failure(
        grpc.StatusCode.ABORTED,
        "ETAG_MISMATCH",
        "the entry has changed; read it again and retry",
        metadata={"current_etag": error.current_etag},
        resource=("hilvan.Entry", error.entry_id),
    )


def _not_yet_searchable(error: NotYetSearchable) -> Failure:
    return Failure(
        grpc.StatusCode.DEADLINE_EXCEEDED,
        "NOT_YET_SEARCHABLE",
        "the write is recorded and will be searchable soon",
        metadata={"entry_id": error.entry_id},
    )


TABLE = ErrorTable(
    DOMAIN,
    {
        InvalidInput: lambda e: invalid_fields([(v.field, v.description) for v in e.violations]),
        NotFound: _not_found,
        Conflict: _conflict,
        RequestIdReused: lambda _: Failure(
            grpc.StatusCode.ALREADY_EXISTS,
            "REQUEST_ID_REUSED",
            "the request_id was used before with another request",
        ),
        WriteRefused: lambda e: Failure(
            grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED", str(e)
        ),
        NotYetSearchable: _not_yet_searchable,
        ReindexRefused: lambda e: Failure(
            grpc.StatusCode.FAILED_PRECONDITION, "REINDEX_REFUSED", str(e)
        ),
        ConsolidationRunning: lambda _: Failure(
            grpc.StatusCode.ABORTED,
            "CONSOLIDATION_RUNNING",
            "another consolidation of the tenant is running",
            retry_after_seconds=10.0,
        ),
        ConsolidationNotFound: lambda e: Failure(
            grpc.StatusCode.NOT_FOUND,
            "CONSOLIDATION_NOT_FOUND",
            "no such consolidation",
            resource=("hilvan.Consolidation", e.run_id),
        ),
        AllSourcesFailed: lambda e: Failure(
            grpc.StatusCode.UNAVAILABLE,
            "ALL_SOURCES_FAILED",
            f"not every source that is needed answered: {e}",
            retry_after_seconds=1.0,
        ),
        RecordUnavailable: lambda _: Failure(
            grpc.StatusCode.UNAVAILABLE,
            "STORAGE_UNAVAILABLE",
            "the record does not answer",
            retry_after_seconds=1.0,
        ),
        SourceError: lambda _: Failure(
            grpc.StatusCode.UNAVAILABLE,
            "EMBEDDER_UNAVAILABLE",
            "a part that this call can't do without is not available",
            retry_after_seconds=1.0,
        ),
    },
)
