"""From a request and a principal to filters, and what the filters admit."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

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
    T0,
    entry,
)

from hilvan_kit.auth import Principal, Role
from hilvan_retrieval.core.filter import (
    CandidateRequest,
    admits,
    filters,
    listed_owners,
    muted_among,
    owner_keys,
)
from hilvan_retrieval.core.policy import can_read
from hilvan_retrieval.model.entry import Axis, Entry, Layer, Owner, entry_uid
from hilvan_retrieval.model.index import Filter
from hilvan_retrieval.model.policy import CategoryMute, EntryMute, TenantPolicy

MUTES = (
    CategoryMute(ANA, "gossip"),
    CategoryMute(BOB, "gossip"),
    CategoryMute(DESK, "stack", NOW - timedelta(days=1)),
)
POLICY = TenantPolicy((replace(SPACE, mutes=MUTES),), {"ana": (EntryMute("m9"),)})


def wanted(**values: Any) -> CandidateRequest:
    """Make a request for memories, of everything that the caller reaches, as of now."""
    base: dict[str, Any] = {
        "query": "q",
        "layers": (Layer.MEMORY,),
        "owners": None,
        "limit": 10,
        "as_of": NOW,
    }
    return CandidateRequest(**(base | values))


def test_there_is_one_filter_a_layer_in_the_order_asked_for() -> None:
    """Each has the tenant, the owners and the moment of the request."""
    layers = (Layer.NOTE, Layer.MEMORY)
    found = filters(wanted(layers=layers), POLICY, AS_ANA, NOW)
    assert [each.layer for each in found] == list(layers)
    for each in found:
        assert each.tenant == "acme"
        assert each.owners == {ANA.key, HOME.key, DESK.key}
        assert each.as_of_ms == int(NOW.timestamp() * 1000)


def test_named_owners_that_the_caller_cannot_read_are_left_out() -> None:
    """What is left may be nothing, which matches nothing; a service names whom it likes."""
    named = frozenset({ANA, BOB, DESK})
    assert owner_keys(POLICY, AS_ANA, named) == {ANA.key, DESK.key}
    assert owner_keys(POLICY, AS_CAL, named) == set()
    assert owner_keys(POLICY, AS_ADMIN, named) == {DESK.key}
    assert owner_keys(POLICY, AS_SERVICE, named) == {ANA.key, BOB.key, DESK.key}


def test_only_a_service_lists_the_whole_tenant() -> None:
    """And only when it names no owner."""
    assert listed_owners(POLICY, AS_SERVICE, None) is None
    assert listed_owners(POLICY, AS_SERVICE, frozenset({BOB})) == frozenset({BOB.key})
    assert listed_owners(POLICY, AS_ANA, None) == frozenset({ANA.key, HOME.key, DESK.key})


def test_mutes_of_reached_owners_go_into_the_filter() -> None:
    """Those of others and those that have ended don't, and with `include_muted` none does."""
    (chosen,) = filters(wanted(), POLICY, AS_ANA, NOW)
    assert chosen.muted == {(ANA.key, "gossip")}
    assert chosen.excluded == {entry_uid("acme", "m9")}
    (everything,) = filters(wanted(include_muted=True), POLICY, AS_ANA, NOW)
    assert (everything.muted, everything.excluded) == (frozenset(), frozenset())


def test_a_mute_is_of_now_whatever_the_moment_of_the_question() -> None:
    """Asking for the past does not bring back what is muted today."""
    (chosen,) = filters(wanted(as_of=T0), POLICY, AS_ANA, NOW)
    assert chosen.muted == {(ANA.key, "gossip")}


def test_categories_and_tags_go_into_the_filter() -> None:
    """As the request has them."""
    request = wanted(categories=frozenset({"stack"}), tags=frozenset({"x"}))
    (chosen,) = filters(request, POLICY, AS_ANA, NOW)
    assert (chosen.categories, chosen.tags) == (frozenset({"stack"}), frozenset({"x"}))


def test_muted_entries_are_told() -> None:
    """By category for everybody, by itself for one user."""
    gossip, single, plain = entry(category="gossip"), entry("m9"), entry("m2")
    entries = [gossip, single, plain]
    assert muted_among(entries, POLICY, AS_ANA, NOW)[1:] == [True, False]
    assert muted_among(entries, POLICY, AS_BOB, NOW) == [True, False, False]


OWNERS = st.sampled_from([ANA, BOB, DESK, HOME, Owner(Axis.PROJECT, "other")])
NAMES = st.sampled_from(["", "stack", "gossip"])
TIMES = st.none() | st.sampled_from([T0, NOW - timedelta(milliseconds=1), NOW, NOW + timedelta(1)])
ENTRIES = st.builds(
    entry,
    st.sampled_from(["m1", "m9"]),
    layer=st.sampled_from(Layer),
    owner=OWNERS,
    category=NAMES,
    tags=st.lists(NAMES, max_size=2).map(tuple),
    valid_from=TIMES,
    valid_until=TIMES,
    supersede_time=TIMES,
)
NAME_SETS = st.frozensets(NAMES, max_size=2)
FILTERS = st.builds(
    Filter,
    st.sampled_from(["acme", "rival"]),
    st.frozensets(OWNERS.map(lambda owner: owner.key), max_size=3),
    st.sampled_from(Layer),
    st.none() | st.just(int(NOW.timestamp() * 1000)),
    st.frozensets(st.tuples(OWNERS.map(lambda owner: owner.key), NAMES), max_size=3),
    st.frozensets(st.just(entry_uid("acme", "m9"))),
    NAME_SETS,
    NAME_SETS,
)


OPEN = Filter("acme", frozenset({ANA.key}), Layer.MEMORY, as_of_ms=int(NOW.timestamp() * 1000))


@pytest.mark.parametrize(
    "condition",
    [
        {"tenant": "rival"},
        {"layer": Layer.NOTE},
        {"owners": frozenset({BOB.key})},
        {"owners": frozenset()},
        {"muted": frozenset({(ANA.key, "stack")})},
        {"excluded": frozenset({entry_uid("acme", "m1")})},
        {"categories": frozenset({"gossip"})},
        {"tags": frozenset({"y"})},
        {"as_of_ms": 0},
        {"as_of_ms": int(NOW.timestamp() * 1000) + 1},
    ],
    ids=str,
)
def test_each_condition_alone_keeps_an_entry_out(condition: dict[str, Any]) -> None:
    """The same entry is admitted without it."""
    each = entry(
        category="stack", tags=("x",), valid_from=T0, valid_until=NOW + timedelta(milliseconds=1)
    )
    assert admits(OPEN, "acme", each)
    assert not admits(replace(OPEN, **condition), "acme", each)


def milliseconds(time: datetime) -> int:
    """Tell a time as indexes keep it."""
    return int(time.timestamp() * 1000)


@given(FILTERS, ENTRIES)
def test_admitting_is_the_filter_read_word_by_word(chosen: Filter, each: Entry) -> None:
    """Each condition of `Filter` holds, and no other."""
    ends = [end for end in (each.valid_until, each.supersede_time) if end]
    holds = [
        chosen.tenant == "acme",
        each.layer == chosen.layer,
        each.owner.key in chosen.owners,
        (each.owner.key, each.category) not in chosen.muted,
        entry_uid("acme", each.id) not in chosen.excluded,
        not chosen.categories or each.category in chosen.categories,
        not chosen.tags or bool(chosen.tags & set(each.tags)),
        chosen.as_of_ms is None
        or (
            (each.valid_from is None or milliseconds(each.valid_from) <= chosen.as_of_ms)
            and all(chosen.as_of_ms < milliseconds(end) for end in ends)
        ),
    ]
    assert admits(chosen, "acme", each) == all(holds)


@given(
    ENTRIES,
    st.sampled_from(["ana", "bob", "cal"]),
    st.sampled_from(Role),
    st.none() | st.frozensets(OWNERS, max_size=4),
    st.booleans(),
)
def test_what_is_admitted_can_be_read(
    each: Entry,
    user: str,
    role: Role,
    owners: frozenset[Owner] | None,
    muted: bool,  # noqa: FBT001 - drawn
) -> None:
    """No request of any principal makes a filter that admits what `can_read` refuses."""
    who = Principal("acme", user, role)
    request = wanted(owners=owners, layers=tuple(Layer), include_muted=muted)
    for chosen in filters(request, POLICY, who, NOW):
        if admits(chosen, "acme", each):
            assert can_read(POLICY, who, each.owner)
        assert not admits(chosen, "rival", each)
