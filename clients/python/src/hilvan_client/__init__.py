"""The Python client of Hilvan.

    async with Hilvan.connect(assembler="127.0.0.1:7703") as hilvan:
        answer = await hilvan.assembler.Assemble(AssembleRequest(query="…"))

Names are imported when they are first used, so that the command's ``--help`` does not wait for
gRPC.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hilvan_client.client import Hilvan
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
    from hilvan_client.import_stream import Backoff, ImportProgress, ImportSummary, import_entries
    from hilvan_client.importers import Fault, ImportItem

__all__ = [
    "Backoff",
    "Conflict",
    "DeadlineExceeded",
    "FailedPrecondition",
    "Failure",
    "Fault",
    "Hilvan",
    "HilvanError",
    "ImportItem",
    "ImportProgress",
    "ImportSummary",
    "InternalError",
    "InvalidRequest",
    "NotBuilt",
    "NotFound",
    "Overloaded",
    "PermissionDenied",
    "Unauthenticated",
    "Unavailable",
    "Violation",
    "import_entries",
]

_HOMES = {
    "Hilvan": "client",
    "Backoff": "import_stream",
    "ImportProgress": "import_stream",
    "ImportSummary": "import_stream",
    "import_entries": "import_stream",
    "Fault": "importers",
    "ImportItem": "importers",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)
