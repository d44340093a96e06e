"""Retrieval as curation tells it things. Each sentence here is a test of the contract suite."""

from collections.abc import Sequence
from typing import Protocol

from hilvan_curation.model.passage import NoteEntry
from hilvan_curation.model.policy import SpacePolicy


class Retrieval(Protocol):
    """Retrieval as curation tells it things. Every method raises RetrievalUnavailable."""

    async def put_policy(self, tenant: str, policy: SpacePolicy) -> None:
        """Set a space's policy; it is in force when this returns."""

    async def delete_policy(self, tenant: str, space_id: str) -> None:
        """Forget a space's policy; an unknown space is ignored."""

    async def confirm_policies(self, tenant: str) -> None:
        """Say that all policies of the tenant are as they were told; also where none was."""

    async def note_entries(self, tenant: str, owners: Sequence[str]) -> dict[str, str]:
        """Fingerprints of the passages that these owners have in the store, by entry id."""

    async def put_notes(self, tenant: str, entries: Sequence[NoteEntry]) -> None:
        """Store passages; once more changes nothing."""

    async def delete_notes(self, tenant: str, ids: Sequence[str]) -> None:
        """Forget passages; unknown ones are ignored."""

    async def close(self) -> None:
        """Release the connection; may be called twice."""
