"""What the record promises of policies. Each sentence here is a test of the contract suite."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from hilvan_retrieval.model.policy import EntryMute, SpacePolicy, TenantPolicy


class PolicyStore(Protocol):
    """What curation said of who may read what, kept so that retrieval needs nobody to know it."""

    async def policies(self) -> dict[str, TenantPolicy]:
        """The policy of every tenant that has one."""

    async def put_space_policy(self, tenant: str, policy: SpacePolicy) -> None:
        """Keep a space's policy, replacing what was known of the space."""

    async def delete_space_policy(self, tenant: str, space_id: str) -> None:
        """Forget a space's policy; an unknown space is ignored."""

    async def put_user_mutes(self, tenant: str, user: str, mutes: Sequence[EntryMute]) -> None:
        """Keep the entries that a user has muted, replacing what was known of the user."""

    async def confirm(self, tenant: str, time: datetime) -> None:
        """Keep when the tenant's policy was last said to hold; an earlier time changes nothing."""
