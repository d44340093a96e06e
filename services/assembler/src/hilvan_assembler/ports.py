"""What assembly asks of the outside."""

from collections.abc import Callable, Sequence
from typing import Protocol

from hilvan_assembler.model import (
    Brief,
    Caller,
    CandidateRequest,
    Changed,
    Conflict,
    CurationAnswer,
    FoundConflict,
    RetrievalAnswer,
    SessionOpening,
)
from hilvan_kit.deadlines import Deadline


class Tokenizer(Protocol):
    """Counts tokens."""

    @property
    def name(self) -> str:
        """What a request asks for."""

    @property
    def count(self) -> Callable[[str], int]:
        """The number of tokens of a text; 0 for the empty text, the same every time."""


class ConflictJudge(Protocol):
    """Tells whether two statements can't both hold."""

    def __call__(self, older: str, newer: str) -> Conflict | None:
        """The conflict with its evidence, or None. Pure: the same texts, the same answer."""


class Retrieval(Protocol):
    """Retrieval as the assembler asks it.

    Every method raises ServiceUnavailable when it can't be asked, and ServiceTimeout when it did
    not answer in time.
    """

    async def candidates(
        self, caller: Caller, request: CandidateRequest, deadline: Deadline
    ) -> RetrievalAnswer:
        """Candidates of both sources, with what became of each.

        Raises:
            SourcesFailed: no source answered, or not all of them and the request requires all.
        """

    async def changed(
        self, caller: Caller, project_id: str, deadline: Deadline
    ) -> Sequence[Changed]:
        """The project's entries, newest update first, at most 1,000."""

    async def record_accesses(self, caller: Caller, ids: Sequence[str]) -> None:
        """Count that entries were loaded into a prompt; at most 1,000."""

    async def record_conflicts(self, caller: Caller, conflicts: Sequence[FoundConflict]) -> None:
        """Note entries that newer ones contradict, at most 100; those that are gone are ignored."""


class Curation(Protocol):
    """Curation as the assembler asks it; raises as `Retrieval` does."""

    async def resolve(
        self, caller: Caller, project_id: str, tokenizer: str, deadline: Deadline
    ) -> CurationAnswer:
        """What loads in a scope, with bodies. Raises ProjectNotFound."""

    async def open_session(
        self, caller: Caller, project_id: str, *, preview: bool, deadline: Deadline
    ) -> SessionOpening:
        """Open a session of a scope. Raises ProjectNotFound."""

    async def brief(self, caller: Caller, project_id: str, deadline: Deadline) -> Brief:
        """The caller's projects, and the categories of a scope. Raises ProjectNotFound."""
