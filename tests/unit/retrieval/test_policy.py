"""Who may read and write what, and what is muted."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.retrieval.record import (
    ANA,
    AS_ADMIN,
    AS_ANA,
    AS_BOB,
    AS_CAL,
    AS_SERVICE,
    BOB,
    DESK,
    HOME,
    NOW,
    SPACE,
)

from hilvan_kit.auth import Principal, Role
from hilvan_retrieval.core.policy import (
    can_read,
    can_write,
    muted_categories,
    muted_entries,
    readable_owners,
)
from hilvan_retrieval.model.entry import Axis, Owner, entry_uid
from hilvan_retrieval.model.policy import CategoryMute, EntryMute, SpacePolicy, TenantPolicy

POLICY = TenantPolicy((SPACE,))
OTHER_PROJECT, OTHER_SPACE = Owner(Axis.PROJECT, "other"), Owner(Axis.SPACE, "other")
OWNERS = (ANA, BOB, DESK, HOME, OTHER_PROJECT, OTHER_SPACE)

IDS = st.sampled_from(["ana", "bob", "cal", "home", "desk"])
SETS = st.frozensets(IDS, max_size=3)
POLICIES = st.builds(
    TenantPolicy,
    st.lists(st.builds(SpacePolicy, IDS, SETS, SETS, SETS, st.just(())), max_size=3).map(tuple),
)
PRINCIPALS = st.builds(Principal, st.just("acme"), IDS, st.sampled_from(Role))
ANY_OWNER = st.builds(Owner, st.sampled_from(Axis), IDS)


@pytest.mark.parametrize(
    ("who", "reads", "writes"),
    [
        (AS_ANA, {ANA, DESK, HOME}, {ANA, DESK, HOME}),
        (AS_BOB, {BOB, DESK, HOME}, {BOB}),
        (AS_CAL, set(), set()),
        (AS_ADMIN, {DESK, HOME, OTHER_PROJECT, OTHER_SPACE}, None),
        (AS_SERVICE, set(OWNERS), None),
    ],
    ids=lambda value: getattr(value, "user", None),
)
def test_who_reads_and_writes(who: Principal, reads: set[Owner], writes: set[Owner] | None) -> None:
    """Members by membership, an admin all but other users, a service all; None: as it reads."""
    assert {each for each in OWNERS if can_read(POLICY, who, each)} == reads
    assert {each for each in OWNERS if can_write(POLICY, who, each)} == (
        reads if writes is None else writes
    )


def test_without_a_policy_only_the_own_entries_are_there() -> None:
    """A tenant that curation never spoke of has no projects."""
    assert can_read(TenantPolicy(), AS_ANA, ANA)
    assert not can_read(TenantPolicy(), AS_ANA, DESK)
    assert readable_owners(TenantPolicy(), AS_ANA) == {"user:ana"}


@pytest.mark.parametrize(
    ("who", "keys"),
    [
        (AS_ANA, {"user:ana", "space:home", "project:desk"}),
        (AS_BOB, {"user:bob", "space:home", "project:desk"}),
        (AS_CAL, {"user:cal"}),
        (AS_ADMIN, {"user:root", "space:home", "project:desk"}),
        (AS_SERVICE, {"user:curation", "space:home", "project:desk"}),
    ],
    ids=lambda value: getattr(value, "user", None),
)
def test_who_reaches_what_without_naming_it(who: Principal, keys: set[str]) -> None:
    """The own entries, and the spaces and projects that curation told of."""
    assert readable_owners(POLICY, who) == keys


@given(POLICIES, PRINCIPALS, ANY_OWNER)
def test_who_writes_also_reads(policy: TenantPolicy, who: Principal, owner: Owner) -> None:
    """There is no write without sight."""
    assert not can_write(policy, who, owner) or can_read(policy, who, owner)


@given(POLICIES, PRINCIPALS)
def test_what_is_reached_can_be_read(policy: TenantPolicy, who: Principal) -> None:
    """Every owner that is reached without being named is one that `can_read` allows."""
    assert all(can_read(policy, who, Owner.parse(key)) for key in readable_owners(policy, who))


@given(POLICIES, IDS, ANY_OWNER)
def test_a_member_reads_no_other_user(policy: TenantPolicy, user: str, owner: Owner) -> None:
    """Whatever curation says, a user's own entries are that user's alone."""
    who = Principal("acme", user, Role.MEMBER)
    if owner.axis is Axis.USER and owner.id != user:
        assert not can_read(policy, who, owner)
        assert not can_write(policy, who, owner)


@pytest.mark.parametrize(
    ("until", "is_muted"),
    [(None, True), (NOW + timedelta(microseconds=1), True), (NOW, False)],
)
def test_a_mute_ends_at_its_time(until: datetime | None, is_muted: bool) -> None:  # noqa: FBT001 - a column
    """The end is exclusive, without one a mute lasts; categories and entries alike."""
    space = SpacePolicy(
        "home", frozenset(), frozenset(), frozenset(), (CategoryMute(ANA, "gossip", until),)
    )
    policy = TenantPolicy((space,), {"ana": (EntryMute("m1", until),)})
    categories, entries = {(ANA.key, "gossip")}, {entry_uid("acme", "m1")}
    assert muted_categories(policy, NOW) == (categories if is_muted else set())
    assert muted_entries(policy, AS_ANA, NOW) == (entries if is_muted else set())


def test_a_muted_entry_is_muted_for_one_user() -> None:
    """Another user of the tenant still sees it."""
    policy = TenantPolicy((), {"ana": (EntryMute("m1"),)})
    assert muted_entries(policy, AS_BOB, NOW) == set()
