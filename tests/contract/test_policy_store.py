"""What every policy store promises: the sentences of `hilvan_retrieval.ports.PolicyStore`."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
from support.retrieval.record import ANA, DESK, HOME, RECORDS, Record

from hilvan_retrieval.model.policy import CategoryMute, EntryMute, SpacePolicy, TenantPolicy
from hilvan_retrieval.ports.policy import PolicyStore

UNTIL = datetime(2025, 7, 1, 12, 30, 0, 123456, UTC)
MUTES = (CategoryMute(ANA, "gossip"), CategoryMute(DESK, "stack", UNTIL))


def space(space_id: str, *mutes: CategoryMute) -> SpacePolicy:
    """Make a policy with something in every field."""
    return SpacePolicy(
        space_id, frozenset({"bob", "cal"}), frozenset({"ana"}), frozenset({DESK.id, "p2"}), mutes
    )


@pytest_asyncio.fixture(params=list(RECORDS))
async def record(request: pytest.FixtureRequest) -> AsyncIterator[Record]:
    """Opens a new record of each kind."""
    async with RECORDS[request.param]() as opened:
        yield opened


@pytest.fixture
def policies(record: Record) -> PolicyStore:
    """Gives the port under test."""
    return record.policies


async def test_nobody_has_a_policy_at_first(policies: PolicyStore) -> None:
    """A new store knows no tenant."""
    assert await policies.policies() == {}


async def test_a_space_policy_is_kept_whole(policies: PolicyStore) -> None:
    """Members, projects and mutes come back as they went in, to the microsecond."""
    await policies.put_space_policy("acme", space("home", *MUTES))
    assert await policies.policies() == {"acme": TenantPolicy((space("home", *MUTES),))}


async def test_putting_replaces_what_was_known_of_the_space(policies: PolicyStore) -> None:
    """The other spaces and the same space of another tenant stay as they are."""
    for tenant in ("acme", "rival"):
        await policies.put_space_policy(tenant, space("home", *MUTES))
        await policies.put_space_policy(tenant, space("b"))
    emptied = SpacePolicy("home", frozenset(), frozenset(), frozenset(), ())
    await policies.put_space_policy("acme", emptied)
    assert await policies.policies() == {
        "acme": TenantPolicy((space("b"), emptied)),
        "rival": TenantPolicy((space("b"), space("home", *MUTES))),
    }


async def test_a_deleted_space_is_forgotten(policies: PolicyStore) -> None:
    """Only that space of that tenant goes; an unknown one is ignored."""
    await policies.put_space_policy("acme", space(HOME.id))
    await policies.put_space_policy("acme", space("b"))
    await policies.put_space_policy("rival", space(HOME.id))
    await policies.delete_space_policy("acme", HOME.id)
    await policies.delete_space_policy("acme", "unknown")
    assert await policies.policies() == {
        "acme": TenantPolicy((space("b"),)),
        "rival": TenantPolicy((space(HOME.id),)),
    }


async def test_a_users_mutes_are_kept(policies: PolicyStore) -> None:
    """With their ends, of an entry given twice the last one."""
    mutes = [EntryMute("m1"), EntryMute("m2", UNTIL), EntryMute("m1", UNTIL)]
    await policies.put_user_mutes("acme", "ana", mutes)
    assert await policies.policies() == {
        "acme": TenantPolicy((), {"ana": (EntryMute("m1", UNTIL), EntryMute("m2", UNTIL))})
    }


async def test_a_users_mutes_are_replaced(policies: PolicyStore) -> None:
    """What was known of the user goes, another user's and another tenant's mutes stay."""
    for tenant, user in (("acme", "ana"), ("acme", "bob"), ("rival", "ana")):
        await policies.put_user_mutes(tenant, user, [EntryMute("m1")])
    await policies.put_user_mutes("acme", "ana", [EntryMute("m9")])
    found = await policies.policies()
    assert found["acme"].entry_mutes == {"ana": (EntryMute("m9"),), "bob": (EntryMute("m1"),)}
    assert found["rival"].entry_mutes == {"ana": (EntryMute("m1"),)}
    await policies.put_user_mutes("acme", "ana", [])
    assert (await policies.policies())["acme"].entry_mutes == {"bob": (EntryMute("m1"),)}


async def test_the_latest_confirmation_of_a_tenant_counts(policies: PolicyStore) -> None:
    """With a policy or without one; an earlier one that comes late changes nothing."""
    await policies.put_space_policy("acme", space("home"))
    earlier, later = UNTIL - timedelta(seconds=1), UNTIL
    for time in (earlier, later, earlier):
        await policies.confirm("acme", time)
    await policies.confirm("rival", earlier)
    assert await policies.policies() == {
        "acme": TenantPolicy((space("home"),), confirm_time=later),
        "rival": TenantPolicy(confirm_time=earlier),
    }
