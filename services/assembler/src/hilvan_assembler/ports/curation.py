"""Curation as the assembler asks it. Each sentence here is a test of the contract suite."""

from typing import Protocol

from hilvan_assembler.model.curation import CurationAnswer
from hilvan_assembler.model.session import Brief, SessionOpening
from hilvan_assembler.model.turn import Caller
from hilvan_kit.deadlines import Deadline


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
