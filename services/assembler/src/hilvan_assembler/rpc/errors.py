"""The one table from the assembler's exceptions to what a caller sees."""

import grpc

from hilvan_assembler.errors import (
    ProjectNotFound,
    ServiceError,
    ServiceTimeout,
    SourcesFailed,
)
from hilvan_kit.failures import ErrorTable, Failure

DOMAIN = "assembler.hilvan"


def _service(error: ServiceError) -> Failure:
    return Failure(
        grpc.StatusCode.UNAVAILABLE,
        f"{error.service.upper()}_UNAVAILABLE",
        f"{error.service} can't be reached, and this call is nothing without it",
        retry_after_seconds=1.0,
    )


def _late(error: ServiceTimeout) -> Failure:
    return Failure(
        grpc.StatusCode.DEADLINE_EXCEEDED,
        "DEADLINE_EXCEEDED",
        f"{error.service} did not answer inside the deadline",
    )


TABLE = ErrorTable(
    DOMAIN,
    {
        ProjectNotFound: lambda _: Failure(
            grpc.StatusCode.NOT_FOUND, "PROJECT_NOT_FOUND", "no such project"
        ),
        SourcesFailed: lambda e: Failure(
            grpc.StatusCode.UNAVAILABLE,
            "ALL_SOURCES_FAILED",
            f"not every source that is needed answered: {e}",
            retry_after_seconds=1.0,
        ),
        ServiceTimeout: _late,
        ServiceError: _service,
    },
)
