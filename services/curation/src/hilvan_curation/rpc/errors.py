"""The one table from curation's exceptions to what a caller sees."""

from collections.abc import Callable

import grpc

from hilvan_curation.errors import (
    CategoryNotFound,
    CurationError,
    FrontmatterBroken,
    InvalidPath,
    MetadataRequired,
    MetadataUnavailable,
    NoteChanged,
    NoteNotFound,
    NoteTooLarge,
    NotPinnable,
    ProjectNotFound,
    SessionNotFound,
    SourceUnavailable,
    SpaceNotFound,
    VaultRefused,
    WriteRefused,
)
from hilvan_kit.failures import ErrorTable, Failure
from hilvan_kit.guards import invalid_fields

DOMAIN = "curation.hilvan"


def _missing(kind: str) -> Callable[[CurationError], Failure]:
    return lambda _: Failure(
        grpc.StatusCode.NOT_FOUND, f"{kind.upper()}_NOT_FOUND", f"no such {kind}"
    )


def _precondition(reason: str, message: str) -> Callable[[CurationError], Failure]:
    return lambda _: Failure(grpc.StatusCode.FAILED_PRECONDITION, reason, message)


def _unavailable(error: CurationError) -> Failure:
    return Failure(
        grpc.StatusCode.UNAVAILABLE, "STORAGE_UNAVAILABLE", str(error), retry_after_seconds=1.0
    )


TABLE = ErrorTable(
    DOMAIN,
    {
        NoteNotFound: lambda e: Failure(
            grpc.StatusCode.NOT_FOUND,
            "NOTE_NOT_FOUND",
            "no such note",
            resource=("hilvan.Note", e.path),
        ),
        SpaceNotFound: _missing("space"),
        ProjectNotFound: _missing("project"),
        CategoryNotFound: _missing("category"),
        SessionNotFound: _missing("session"),
        NoteChanged: lambda _: Failure(
            grpc.StatusCode.ABORTED, "NOTE_CHANGED", "the file changed meanwhile; try again"
        ),
        NotPinnable: _precondition(
            "NOT_PINNABLE", "a tag pins notes of the personal space or of a project only"
        ),
        FrontmatterBroken: lambda e: Failure(
            grpc.StatusCode.FAILED_PRECONDITION,
            "BROKEN_FRONTMATTER",
            f"the note's frontmatter is broken and not edited; line {e.line}: {e.message}",
        ),
        MetadataRequired: lambda e: Failure(
            grpc.StatusCode.FAILED_PRECONDITION,
            "METADATA_REQUIRED",
            "this call needs the metadata database, and the server runs without one",
            metadata={"method": str(e)},
        ),
        WriteRefused: lambda _: Failure(
            grpc.StatusCode.PERMISSION_DENIED,
            "PERMISSION_DENIED",
            "this credential may not write here",
        ),
        VaultRefused: lambda e: invalid_fields([("path", str(e))]),
        InvalidPath: lambda e: invalid_fields([("path", e.reason)]),
        NoteTooLarge: lambda e: invalid_fields([("note", f"is larger than {e.limit} bytes")]),
        SourceUnavailable: _unavailable,
        MetadataUnavailable: _unavailable,
    },
)
