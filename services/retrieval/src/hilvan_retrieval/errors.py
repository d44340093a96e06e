"""What can go wrong in retrieval.

RetrievalError
├── InvalidInput            a caller's value is out of bounds (carries every violation)
├── NotFound                no such entry, or not one that the caller may see
├── Conflict                the etag is not the current one
├── RequestIdReused         the same request id came with another request
├── SourceError             one source could not answer
│   ├── SourceTimeout       not inside its share of the deadline
│   └── SourceUnavailable   refused, reset, not started
│       ├── RecordUnavailable   the record can't be read or written
│       └── QueryRefused        it works, and will not answer this one query
├── ReindexRefused          the step of a reindex does not fit the state of the indexes
├── ConsolidationRunning    another consolidation of the tenant is running
├── ConsolidationNotFound   the tenant has no such consolidation
├── AllSourcesFailed        no source that was asked could answer
└── EngineMisconfigured     wrong metric, dimension or schema; raised at start, names the fix
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One bad field of a request: its full path and what is wrong with it."""

    field: str
    description: str


class RetrievalError(Exception):
    """Root of everything that retrieval raises on purpose."""


class InvalidInput(RetrievalError):
    """A request or record is out of bounds; ``violations`` lists every fault at once."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        """Keep every violation; the message joins them."""
        self.violations = tuple(violations)
        super().__init__("; ".join(f"{v.field}: {v.description}" for v in violations))


class NotFound(RetrievalError):
    """No such entry for this caller. Says the same whether it is absent or out of reach."""

    def __init__(self, entry_id: str) -> None:
        """Name the id that was asked for."""
        self.entry_id = entry_id
        super().__init__(f"entry {entry_id!r} not found")


class Conflict(RetrievalError):
    """The caller's etag is not the current one."""

    def __init__(self, entry_id: str, current_etag: str) -> None:
        """Carry the current etag, so that the caller can read and retry."""
        self.entry_id = entry_id
        self.current_etag = current_etag
        super().__init__(f"entry {entry_id!r} has changed; its etag is {current_etag}")


class RequestIdReused(RetrievalError):
    """A request id was used before with another request."""

    def __init__(self, request_id: str) -> None:
        """Name the request id."""
        self.request_id = request_id
        super().__init__(f"request_id {request_id!r} was used with another request")


class WriteRefused(RetrievalError):
    """The caller may not write entries of this owner."""

    def __init__(self, owner: str) -> None:
        """Name the owner as the caller gave it."""
        super().__init__(f"this credential may not write entries of {owner}")


class NotYetSearchable(RetrievalError):
    """The write is recorded and will be searchable, but was not by the deadline."""

    def __init__(self, entry_id: str) -> None:
        """Name an entry of the write."""
        self.entry_id = entry_id
        super().__init__(f"entry {entry_id!r} is recorded and not searchable yet")


class SourceError(RetrievalError):
    """One source (an index or the embedder) could not answer."""


class SourceTimeout(SourceError):
    """The source did not answer inside its share of the deadline."""


class SourceUnavailable(SourceError):
    """The source refused, reset or is not started."""


class QueryRefused(SourceUnavailable):
    """The source answered that this query is none: others are answered, so it is not at fault."""


class ReindexRefused(RetrievalError):
    """The step of a reindex does not fit the state of the indexes; the message says why."""


class ConsolidationRunning(RetrievalError):
    """Another consolidation of the tenant is running, in this process or another."""


class ConsolidationNotFound(RetrievalError):
    """The tenant has no such consolidation."""

    def __init__(self, run_id: str) -> None:
        """Name the run that was asked for."""
        self.run_id = run_id
        super().__init__(f"consolidation {run_id!r} not found")


class RecordUnavailable(SourceUnavailable):
    """The record can't be read or written: without it there is no answer."""


class AllSourcesFailed(RetrievalError):
    """No source that was asked could answer."""


class EngineMisconfigured(RetrievalError):
    """An engine can't serve this store as it is set up; the message names the fix."""
