"""`PolicyStore` in SQL."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Table, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hilvan_retrieval.adapters.record import codec
from hilvan_retrieval.adapters.record.database import Database
from hilvan_retrieval.adapters.record.tables import policy_confirmations, space_policies, user_mutes
from hilvan_retrieval.model.policy import EntryMute, SpacePolicy, TenantPolicy


class SqlPolicyStore:
    """What curation said of who may read what. See `hilvan_retrieval.ports.PolicyStore`."""

    def __init__(self, database: Database) -> None:
        """Share the record's database."""
        self._database = database

    async def policies(self) -> dict[str, TenantPolicy]:
        """The policy of every tenant that has one."""
        spaces: dict[str, list[SpacePolicy]] = {}
        mutes: dict[str, dict[str, tuple[EntryMute, ...]]] = {}
        async with self._database.read() as connection:
            for row in await connection.execute(
                select(space_policies).order_by(space_policies.c.space_id)
            ):
                spaces.setdefault(row.tenant, []).append(codec.text_policy(row.policy))
            for row in await connection.execute(select(user_mutes)):
                mutes.setdefault(row.tenant, {})[row.user] = codec.text_mutes(row.mutes)
            confirmed = {
                row.tenant: codec.moment(row.confirm_us)
                for row in await connection.execute(select(policy_confirmations))
            }
        return {
            tenant: TenantPolicy(
                tuple(spaces.get(tenant, ())), mutes.get(tenant, {}), confirmed.get(tenant)
            )
            for tenant in spaces.keys() | mutes.keys() | confirmed.keys()
        }

    async def put_space_policy(self, tenant: str, policy: SpacePolicy) -> None:
        """Keep a space's policy."""
        key = {"tenant": tenant, "space_id": policy.space_id}
        await self._replace(space_policies, key, {"policy": codec.policy_text(policy)})

    async def delete_space_policy(self, tenant: str, space_id: str) -> None:
        """Forget a space's policy."""
        await self._replace(space_policies, {"tenant": tenant, "space_id": space_id}, None)

    async def put_user_mutes(self, tenant: str, user: str, mutes: Sequence[EntryMute]) -> None:
        """Keep the entries that a user has muted."""
        unique = {mute.entry_id: mute for mute in mutes}
        key = {"tenant": tenant, "user": user}
        await self._replace(
            user_mutes, key, {"mutes": codec.mutes_text(unique)} if unique else None
        )

    async def confirm(self, tenant: str, time: datetime) -> None:
        """Keep when the policy was last said to hold."""
        mine = policy_confirmations.c.tenant == tenant
        us = codec.micros(time)

        async def work(connection: AsyncConnection) -> None:
            known = await connection.scalar(select(policy_confirmations.c.confirm_us).where(mine))
            if known is None:
                row = {"tenant": tenant, "confirm_us": us}
                await connection.execute(insert(policy_confirmations).values(row))
            elif us is not None and us > known:
                statement = update(policy_confirmations).where(mine).values(confirm_us=us)
                await connection.execute(statement)

        await self._database.write(work, locks=(tenant,))

    async def _replace(
        self, table: Table, key: dict[str, str], values: dict[str, str] | None
    ) -> None:
        matches = [table.c[name] == value for name, value in key.items()]

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(delete(table).where(*matches))
            if values is not None:
                await connection.execute(insert(table).values(**key, **values))

        await self._database.write(work, locks=(key["tenant"],))
