"""Retrieval as the assembler asks it. Each sentence here is a test of the contract suite."""

from collections.abc import Sequence
from typing import Protocol

from hilvan_assembler.model.candidate import CandidateRequest, RetrievalAnswer
from hilvan_assembler.model.contradiction import FoundContradiction
from hilvan_assembler.model.entry import Entry
from hilvan_assembler.model.turn import Caller
from hilvan_kit.deadlines import Deadline


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

    async def project_entries(
        self, caller: Caller, project_id: str, deadline: Deadline
    ) -> Sequence[Entry]:
        """The project's entries, newest update first, at most 1,000."""

    async def record_accesses(self, caller: Caller, ids: Sequence[str]) -> None:
        """Count that entries were loaded into a prompt; at most 1,000."""

    async def record_contradictions(
        self, caller: Caller, contradictions: Sequence[FoundContradiction]
    ) -> None:
        """Note entries that newer ones contradict, at most 100; those that are gone are ignored."""
