"""What a consolidation does to entries, and how it is taken back."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.retrieval.record import BOB, NOW, T0, entry

from hilvan_retrieval.core import consolidation as core
from hilvan_retrieval.core.consolidation import MOST_TAGS, Rules
from hilvan_retrieval.model.consolidation import Action, Proposal, Step
from hilvan_retrieval.model.contradiction import FoundContradiction, RecordedContradiction
from hilvan_retrieval.model.entry import Entry, Layer

RULES = Rules()
DAY = timedelta(days=1)
LATER = T0 + 30 * DAY


def by_id(*entries: Entry) -> Mapping[str, Entry]:
    """Make a record."""
    return {each.id: each for each in entries}


def about(action: Action, one: Entry, other: Entry) -> Proposal:
    """Propose something about a pair as it is."""
    hashes = one.content_hash, other.content_hash
    return Proposal(action, one.id, other.id, "why", *hashes)


def merged(one: Entry, other: Entry) -> list[Step]:
    """Merge a pair."""
    return core.take_steps([about(Action.MERGED, one, other)], by_id(one, other), RULES, NOW)


def expired(one: Entry, now: datetime = NOW) -> list[Step]:
    """Let an entry expire, if it is to."""
    return core.take_steps([core.expiry(one)], by_id(one), RULES, now)


def decayed(one: Entry, now: datetime = NOW, rules: Rules = RULES) -> Entry | None:
    """Lower an entry's confidence, if it is to be."""
    steps = core.take_steps([core.decay(one, rules, now)], by_id(one), rules, now)
    return steps[0].after[0] if steps else None


TWIN = entry(
    "twin",
    confidence=0.5,
    importance=0.9,
    access_count=3,
    reinforcement_count=2,
    last_access_time=LATER,
    tags=("a", "b"),
)
LEADER = entry(
    "leader",
    create_time=LATER,
    update_time=LATER,
    importance=0.2,
    access_count=4,
    reinforcement_count=1,
    tags=("b", "c"),
)


def test_a_merge_replaces_the_twin_and_strengthens_the_leader() -> None:
    """Everything that was counted of the twin counts for the leader; its text and time stay."""
    (step,) = merged(TWIN, LEADER)
    assert step.before == (TWIN, LEADER)
    assert step.after == (
        replace(TWIN, superseded_by="leader", supersede_time=LATER, decay_time=NOW),
        replace(
            LEADER,
            confidence=0.6,
            importance=0.9,
            access_count=7,
            reinforcement_count=4,
            last_access_time=LATER,
            tags=("b", "c", "a"),
            decay_time=NOW,
        ),
    )
    assert (step.action, step.entry_id, step.other_id, step.reason) == (
        Action.MERGED,
        "twin",
        "leader",
        "why",
    )


def test_a_merge_keeps_what_nobody_stated_unstated() -> None:
    """No importance and no access on either side stay none; tags stay as many as are allowed."""
    many = tuple(f"t{i}" for i in range(MOST_TAGS))
    (step,) = merged(entry("twin", tags=("more",)), entry("leader", tags=many))
    leader = step.after[1]
    assert (leader.importance, leader.last_access_time, leader.tags) == (None, None, many)


def test_the_higher_confidence_is_reinforced() -> None:
    """A surer twin lends its confidence."""
    for twin, leader in ((0.9, 0.3), (0.3, 0.9), (0.9, None), (None, 0.9)):
        (step,) = merged(entry("twin", confidence=twin), entry("leader", confidence=leader))
        assert step.after[1].confidence == pytest.approx(0.92)


def test_several_twins_join_one_leader() -> None:
    """Each step begins where the one before it ended."""
    twins = [entry("t1"), entry("t2")]
    proposals = [about(Action.MERGED, each, LEADER) for each in twins]
    first, second = core.take_steps(proposals, by_id(*twins, LEADER), RULES, NOW)
    assert second.before[1] == first.after[1]
    assert second.after[1].reinforcement_count == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"owner": BOB}),
        ({"layer": Layer.EPISODE}, {}),
        ({"layer": Layer.NOTE}, {"layer": Layer.NOTE}),
        ({"superseded_by": "x", "supersede_time": NOW + DAY}, {}),
        ({}, {"superseded_by": "x", "supersede_time": NOW + DAY}),
        ({"valid_until": NOW}, {}),
        ({}, {"valid_from": NOW + DAY}),
    ],
)
def test_a_pair_that_does_not_fit_is_not_merged(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Of two owners or layers, passages of notes, and what is or will be replaced or over."""
    assert merged(entry("twin", **one), entry("leader", **other)) == []


@pytest.mark.parametrize("action", [Action.MERGED, Action.RETIRED])
def test_a_pair_that_has_changed_is_left_alone(action: Action) -> None:
    """Another text since, or one that is gone, or one and the same."""
    old, new = entry("old", "a"), entry("new", "b")
    proposal = about(action, old, new)
    for current in (
        by_id(replace(old, text="c"), new),
        by_id(old, replace(new, text="c")),
        by_id(old),
        by_id(new),
    ):
        assert core.take_steps([proposal], current, RULES, NOW) == []
    assert core.take_steps([about(action, old, old)], by_id(old), RULES, NOW) == []


def test_a_conflict_retires_the_older_entry() -> None:
    """From when the newer one holds; the newer one is not touched. The evidence is the reason."""
    old, new = entry("old", "a"), entry("new", "b", create_time=LATER)
    conflict = RecordedContradiction(
        FoundContradiction("old", "new", "polarity"), old.content_hash, new.content_hash
    )
    (step,) = core.take_steps([core.retirement(conflict)], by_id(old, new), RULES, NOW)
    retired = replace(old, superseded_by="new", supersede_time=LATER, decay_time=NOW)
    assert step == Step(Action.RETIRED, "old", "new", "polarity", (old,), (retired,))


def test_never_are_both_sides_lost() -> None:
    """Of two conflicts that point at each other, the first one counts; no loop comes of it."""
    old, new = entry("old", "a"), entry("new", "b")
    both = [about(Action.RETIRED, old, new), about(Action.RETIRED, new, old)]
    (step,) = core.take_steps(both, by_id(old, new), RULES, NOW)
    assert step.entry_id == "old"


def test_an_entry_leaves_when_its_end_is_long_ago() -> None:
    """After the retention and not at it; what has no end stays, and so do notes."""
    ended = entry(valid_until=T0 + DAY)
    (step,) = expired(ended)
    assert (step.before, step.after, step.reason) == ((ended,), (), "ended 2025-01-02")
    at = T0 + DAY + RULES.retention
    assert expired(ended, at) == []
    assert len(expired(ended, at + timedelta(microseconds=1))) == 1
    assert expired(entry()) == []
    assert expired(replace(ended, layer=Layer.NOTE)) == []
    assert core.take_steps([core.expiry(ended)], {}, RULES, NOW) == []


def test_an_entry_that_was_touched_after_its_end_stays_longer() -> None:
    """A link may end an entry in the past: the retention runs from when that was stated."""
    replaced = entry(superseded_by="x", supersede_time=T0)
    assert len(expired(replaced)) == 1
    assert expired(replace(replaced, decay_time=NOW - DAY)) == []
    assert expired(replace(replaced, update_time=NOW - DAY)) == []


def test_confidence_halves_in_the_half_life() -> None:
    """It counts from the last of what confirmed it, and from the last time it was lowered."""
    sure = entry(confidence=0.8)
    at = T0 + RULES.half_life
    assert decayed(sure, at) == replace(sure, confidence=0.4, decay_time=at)
    for name in ("update_time", "last_access_time", "decay_time"):
        confirmed: dict[str, Any] = {name: LATER}
        recent = decayed(replace(sure, **confirmed), LATER + RULES.half_life)
        assert recent is not None
        assert recent.confidence == pytest.approx(0.4)
    twice = decayed(decayed(sure, T0 + 60 * DAY) or sure, at)
    assert twice is not None
    assert twice.confidence == pytest.approx(0.4)


def test_what_was_confirmed_lately_keeps_its_confidence() -> None:
    """It is lowered from thirty days on, and not before."""
    at = T0 + RULES.unconfirmed
    assert decayed(entry(confidence=0.8), at - timedelta(microseconds=1)) is None
    assert decayed(entry(confidence=0.8), at) is not None


def test_confidence_never_falls_below_the_floor() -> None:
    """What is there, or below, stays as it is."""
    low = decayed(entry(confidence=0.11))
    assert low is not None
    assert low.confidence == 0.1
    assert decayed(entry(confidence=0.1)) is None
    assert decayed(entry(confidence=0.05)) is None


@pytest.mark.parametrize(
    "values",
    [
        {"confidence": None},
        {"layer": Layer.EPISODE},
        {"layer": Layer.NOTE},
        {"valid_until": NOW},
        {"superseded_by": "x", "supersede_time": T0},
    ],
)
def test_what_states_no_confidence_or_does_not_count_is_not_lowered(values: dict[str, Any]) -> None:
    """A missing signal is neutral and stays missing."""
    assert decayed(entry(**({"confidence": 0.8} | values))) is None


def test_a_proposal_about_nothing_is_no_step() -> None:
    """The entry may be gone meanwhile."""
    gone = Proposal(Action.DECAYED, "gone")
    assert core.take_steps([gone], {}, RULES, NOW) == []


def test_a_reason_tells_what_happens_to_the_confidence() -> None:
    """In figures for people; where nothing happens there is none."""
    proposal = core.decay(entry(confidence=0.8), RULES, T0 + RULES.half_life)
    assert proposal.reason == "confidence 0.80 to 0.40, unconfirmed for 180 days"
    assert core.decay(entry(), RULES, NOW).reason == ""


def steps_of_all_kinds() -> list[Step]:
    """Take a step of each kind."""
    old, new = entry("old", "a"), entry("new", "b")
    (retired,) = core.take_steps([about(Action.RETIRED, old, new)], by_id(old, new), RULES, NOW)
    sure = entry("sure", confidence=0.8)
    decays = core.take_steps([core.decay(sure, RULES, NOW)], by_id(sure), RULES, NOW)
    return [*merged(TWIN, LEADER), retired, *expired(entry("m", valid_until=T0)), *decays]


@pytest.mark.parametrize("step", steps_of_all_kinds(), ids=lambda step: step.action.value)
def test_a_step_is_taken_back_exactly(step: Step) -> None:
    """Whatever the versions are by now."""
    current = by_id(*(replace(each, version=9) for each in step.after))
    assert core.restored(step, current) == list(step.before)


@pytest.mark.parametrize("step", steps_of_all_kinds(), ids=lambda step: step.action.value)
def test_a_step_whose_entries_changed_since_stays(step: Step) -> None:
    """Changed, gone, or there again: a later write is not undone."""
    current = by_id(*step.after)
    for each in step.before:
        changed = replace(current.get(each.id, each), title="other")
        assert core.restored(step, {**current, each.id: changed}) is None
    for each in step.after:
        left = {name: other for name, other in current.items() if name != each.id}
        assert core.restored(step, left) is None


def test_accesses_since_are_kept_when_a_step_is_taken_back() -> None:
    """They are no change of the entry, and nobody else counted them."""
    (step,) = merged(TWIN, LEADER)
    twin, leader = step.after
    used = replace(leader, access_count=leader.access_count + 5, last_access_time=NOW)
    assert core.restored(step, by_id(twin, used)) == [
        TWIN,
        replace(LEADER, access_count=9, last_access_time=NOW),
    ]


ENTRIES = st.builds(
    lambda number, **values: entry(f"m{number}", **values),
    st.integers(0, 4),
    text=st.sampled_from(["a", "b"]),
    layer=st.sampled_from([Layer.MEMORY, Layer.NOTE]),
    confidence=st.sampled_from([None, 0.1, 0.8]),
    valid_until=st.sampled_from([None, T0 + DAY]),
    superseded_by=st.sampled_from(["", "", "m0"]),
)


@given(
    st.lists(ENTRIES, max_size=5, unique_by=lambda each: each.id),
    st.lists(st.tuples(st.sampled_from(Action), st.integers(0, 4), st.integers(0, 4)), max_size=10),
)
def test_any_steps_end_well_and_can_be_taken_back(
    entries: list[Entry], drawn: list[tuple[Action, int, int]]
) -> None:
    """Somebody stays of every pair, no links lead back, and undoing restores every entry."""
    known = dict(by_id(*entries))
    proposals = [
        about(action, known[f"m{one}"], known[f"m{other}"])
        for action, one, other in drawn
        if f"m{one}" in known and f"m{other}" in known
    ]
    steps = core.take_steps(proposals, known, RULES, NOW)
    links = {s.entry_id: s.other_id for s in steps if s.action in (Action.MERGED, Action.RETIRED)}
    for start in links:
        hops, here = 0, start
        while here in links:
            hops, here = hops + 1, links[here]
            assert hops <= len(links)
    after = dict(known)
    for step in steps:
        for each in step.before:
            del after[each.id]
        after |= by_id(*step.after)
    for step in reversed(steps):
        after |= by_id(*(core.restored(step, after) or ()))
    assert after == known
