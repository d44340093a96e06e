"""Pruning: what was replaced, what says the same, and what no longer holds."""

from typing import Any

import pytest
from support.assembler.pruning import pruned, settled
from support.assembler.values import disputes, entry

from hilvan_assembler.adapters.contradiction import evidence_judge
from hilvan_assembler.core.neighbour import CONTRADICTION_FROM, DUPLICATE_ABOVE, EXPLICIT_FROM
from hilvan_assembler.core.words import stated_words
from hilvan_assembler.model.kind import Layer, Reason
from hilvan_assembler.model.ranking import Verdict


def test_the_edges_of_the_band_stay_where_they_were_measured() -> None:
    """Contradictions are looked for from 0.75, duplicates lie above 0.92."""
    assert (CONTRADICTION_FROM, DUPLICATE_ABOVE) == (0.75, 0.92)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("User is allergic to peanuts.", "user is  ALLERGIC to peanuts", True),
        ("Ｕｓｅｒ likes tea!", "User likes tea", True),
        ("«Reunión» (el lunes)", "reunión el lunes", True),
        ("Tea — no milk", "tea no milk", True),
        ("Ana codes in C++", "Ana codes in C#", False),
        ("The minimum is -5 °C", "The minimum is 5 °C", False),
        ("The dose is .5 mg", "The dose is 5 mg", False),
        ("It costs $5", "It costs €5", False),
        ("Ana likes tea", "Ana likes tea?", False),
        ("Deploy ✅", "Deploy ❌", False),
        ("word " * 300, "Word " * 300, False),
        ("word " * 300, "word " * 300, True),
    ],
)
def test_words_are_the_same_where_only_marks_case_or_spacing_differ(
    one: str, other: str, *, same: bool
) -> None:
    """Case, width, spacing, quotes and full stops don't matter; signs and question marks do."""
    assert (stated_words(entry("a", one)) == stated_words(entry("b", other))) is same


def test_words_include_steps_and_outcome() -> None:
    """Two procedures of one title with other steps don't say the same."""
    rows = [
        entry("a", "How to deploy", layer=Layer.PROCEDURE, steps=("build", "push")),
        entry("b", "How to deploy", layer=Layer.PROCEDURE, steps=("ask Tom",)),
        entry("c", "We met", layer=Layer.EPISODE, outcome="agreed"),
        entry("d", "We met", layer=Layer.EPISODE, outcome="no decision"),
    ]
    assert pruned(rows)[0] == {}


def test_of_equal_words_the_most_relevant_stays_and_lists_the_others() -> None:
    """The best of a group stays; the others say whose duplicates they are."""
    rows = [entry("a", "Tea."), entry("b", "tea"), entry("c", "TEA!"), entry("d", "coffee")]
    out, groups = pruned(rows, relevance=[0.2, 0.9, 0.5, 0.1])
    assert out == {"a": (Reason.DUPLICATE_OF, "b"), "c": (Reason.DUPLICATE_OF, "b")}
    assert groups == {"b": ["b", "c", "a"], "d": ["d"]}


def test_equal_words_of_another_layer_stay() -> None:
    """An episode and a memory of the same words are two things."""
    assert pruned([entry("a", "Tea"), entry("b", "Tea", layer=Layer.EPISODE)])[0] == {}


@pytest.mark.parametrize(("similarity", "merged"), [(0.92, False), (0.9201, True)])
def test_only_above_the_band_is_a_duplicate(similarity: float, *, merged: bool) -> None:
    """0.92 itself is still in the band."""
    out, _ = pruned([entry("a"), entry("b")], {("a", "b"): similarity})
    assert bool(out) is merged


def test_a_duplicate_joins_its_most_similar_survivor() -> None:
    """Of two survivors the nearer one, and of two as near the more relevant one."""
    rows = [entry("a"), entry("b"), entry("c"), entry("x"), entry("y")]
    pairs = {("a", "x"): 0.93, ("b", "x"): 0.95, ("b", "y"): 0.94, ("c", "y"): 0.94}
    out, _ = pruned(rows, pairs, relevance=[0.9, 0.6, 0.8, 0.1, 0.1])
    assert out == {"x": (Reason.DUPLICATE_OF, "b"), "y": (Reason.DUPLICATE_OF, "c")}


def test_duplicates_of_a_duplicate_stay() -> None:
    """Similarity is not passed on: only what is close to a survivor itself joins it."""
    rows = [entry("a"), entry("b"), entry("c")]
    out, _ = pruned(rows, {("a", "b"): 0.95, ("b", "c"): 0.95}, relevance=[0.9, 0.5, 0.1])
    assert out == {"b": (Reason.DUPLICATE_OF, "a")}


def test_a_changed_time_above_the_band_is_a_contradiction() -> None:
    """Nearly equal texts that differ in a time conflict; the newer stays."""
    rows = [
        entry("old", "The standup is at 9:30", days=9),
        entry("new", "The standup is at 10:00", days=1),
    ]
    out, _ = pruned(rows, {("old", "new"): 0.97}, evidence_judge, relevance=[0.9, 0.1])
    assert out == {"old": (Reason.CONTRADICTED_BY, "new")}


def test_conflicting_paraphrases_do_not_vanish_into_a_third() -> None:
    """Two that conflict never join one group: the newer stays beside what it was close to."""
    rows = [entry("vague", days=5), entry("nine", "nine", days=9), entry("ten", "ten", days=1)]
    pairs = {("vague", "nine"): 0.95, ("vague", "ten"): 0.95, ("nine", "ten"): 0.94}
    out, groups = pruned(rows, pairs, disputes(("nine", "ten")), relevance=[0.9, 0.5, 0.4])
    assert out["nine"] == (Reason.DUPLICATE_OF, "vague")
    assert groups == {"ten": ["ten"]}
    assert out["vague"] == (Reason.CONTRADICTED_BY, "ten")


def test_a_group_is_as_new_as_its_newest_member() -> None:
    """What was stated again later is not outdated by what lies in between."""
    rows = [
        entry("first", "At nine", days=90),
        entry("between", "At ten", days=30),
        entry("again", "at nine!", days=1),
    ]
    pairs = {("first", "between"): 0.8, ("between", "again"): 0.8}
    judge = disputes(("At nine", "At ten"))
    out, _ = pruned(rows, pairs, judge, relevance=[0.9, 0.5, 0.1])
    assert out == {
        "again": (Reason.DUPLICATE_OF, "first"),
        "between": (Reason.CONTRADICTED_BY, "first"),
    }


def test_a_conflict_counts_for_the_survivor_of_the_newer_side() -> None:
    """What a merged newer entry contradicts is out, and names the survivor."""
    rows = [
        entry("old", "nine", days=9),
        entry("new", "ten", days=1),
        entry("best", "Ten.", days=2),
    ]
    out, _ = pruned(rows, {("old", "new"): 0.8}, disputes(("nine", "ten")), [0.1, 0.2, 0.9])
    assert out["old"] == (Reason.CONTRADICTED_BY, "best")


@pytest.mark.parametrize("other", [{"owner": "project:p"}, {"layer": Layer.EPISODE}])
def test_only_the_same_owner_and_layer_contradict(other: dict[str, Any]) -> None:
    """Another owner's statement or another layer's neither wins nor loses."""
    rows = [entry("old", "nine", days=9), entry("new", "ten", days=1, **other)]
    assert pruned(rows, {("old", "new"): 0.8}, disputes(("nine", "ten")))[0] == {}
    assert pruned(rows, {("old", "new"): 0.95}, disputes(("nine", "ten")))[0] == {}


def test_below_the_band_nothing_is_judged() -> None:
    """A pair under 0.75 is not looked at."""
    rows = [entry("old", "nine", days=9), entry("new", "ten", days=1)]
    assert pruned(rows, {("old", "new"): 0.749}, disputes(("nine", "ten")))[0] == {}


def test_nothing_below_the_wider_band_is_judged_even_if_it_announces_a_change() -> None:
    """A change that is announced is looked for further down, and not without end."""
    rows = [entry("old", "Ana lives in Rome", days=9), entry("new", "Ana moved to Berlin", days=1)]
    judge = disputes((rows[0].text, rows[1].text))
    assert pruned(rows, {("old", "new"): EXPLICIT_FROM - 0.01}, judge)[0] == {}
    assert set(pruned(rows, {("old", "new"): EXPLICIT_FROM}, judge)[0]) == {"old"}


@pytest.mark.parametrize(
    ("fields", "relevance", "winner"),
    [
        (({"days": 2}, {"days": 1}), [0.9, 0.1], "b"),
        (({"confidence": 0.9}, {"confidence": 0.4}), [0.1, 0.9], "a"),
        (({"confidence": 0.6}, {"confidence": None}), [0.1, 0.9], "a"),
        (({"confidence": 0.0}, {"confidence": None}), [0.9, 0.1], "b"),
        (({}, {}), [0.1, 0.9], "b"),
        (({}, {}), [0.5, 0.5], "a"),
    ],
)
def test_who_stays_is_newest_then_surest_then_most_relevant_then_first(
    fields: tuple[dict[str, Any], dict[str, Any]], relevance: list[float], winner: str
) -> None:
    """One side of a conflict always stays, by the documented rule."""
    rows = [entry(name, name, **each) for name, each in zip("ab", fields, strict=True)]
    out, groups = pruned(rows, {("a", "b"): 0.8}, disputes(("a", "b")), relevance)
    assert list(groups) == [winner]
    assert list(out.values()) == [(Reason.CONTRADICTED_BY, winner)]


def test_the_evidence_is_told_older_side_first() -> None:
    """The verdict names the kind and both pieces of text."""
    rows = [entry("old", "nine", days=9), entry("new", "ten", days=1)]
    old, new = settled(rows, {("old", "new"): 0.8}, disputes(("nine", "ten")))
    assert old.verdict is not None
    assert old.verdict.detail == "changed_value: 'nine' against 'ten'"
    assert new.stands


def test_the_newest_of_all_rivals_is_named() -> None:
    """An entry that two newer ones contradict is out for the newest."""
    rows = [entry(name, name, days=days) for name, days in (("a", 9), ("b", 5), ("c", 1))]
    pairs = {("a", "b"): 0.8, ("a", "c"): 0.8}
    out, _ = pruned(rows, pairs, disputes(("a", "b"), ("a", "c")))
    assert out == {"a": (Reason.CONTRADICTED_BY, "c")}


def test_explicit_links_win_over_relevance_and_time() -> None:
    """What the record says was replaced is out, even when it is newer and more relevant."""
    rows = [entry("old", days=1, superseded_by="new"), entry("new", days=9)]
    assert pruned(rows, relevance=[0.9, 0.1])[0] == {"old": (Reason.SUPERSEDED_BY, "new")}


def test_a_chain_leaves_its_end() -> None:
    """Each link of a chain is out for the next one."""
    rows = [entry("a", superseded_by="b"), entry("b", superseded_by="c"), entry("c")]
    out, groups = pruned(rows)
    assert out == {"a": (Reason.SUPERSEDED_BY, "b"), "b": (Reason.SUPERSEDED_BY, "c")}
    assert list(groups) == ["c"]


def test_a_loop_ends_well_and_nothing_of_it_is_lost() -> None:
    """Links that lead back tell nothing; what leads into the loop from outside is out."""
    rows = [
        entry("a", superseded_by="b"),
        entry("b", superseded_by="a"),
        entry("self", superseded_by="self"),
        entry("outside", superseded_by="a"),
        entry("gone", superseded_by="not here"),
    ]
    assert pruned(rows)[0] == {"outside": (Reason.SUPERSEDED_BY, "a")}


def test_a_replaced_entry_stays_out_when_its_replacement_is_excluded() -> None:
    """A muted replacement does not bring back what it replaced; the other reason stays told."""
    rows = [entry("old", superseded_by="new"), entry("new"), entry("both", superseded_by="new")]
    excluded = {1: Verdict(Reason.MUTED), 2: Verdict(Reason.MUTED)}
    out, groups = pruned(rows, excluded=excluded)
    assert out["old"] == (Reason.SUPERSEDED_BY, "new")
    assert out["both"] == (Reason.MUTED, "")
    assert groups == {}


def test_copies_of_the_replaced_go_with_it() -> None:
    """Same words or nearly so, not stated after the replacement, of the same owner: out."""
    rows = [
        entry("old", "room 12", days=90, superseded_by="new"),
        entry("new", "room 40", days=30),
        entry("copy", "Room 12!", days=90, layer=Layer.EPISODE),
        entry("near", "the room is 12", days=60),
        entry("later", "room 12", days=1),
        entry("theirs", "room 12", days=90, owner="user:tom"),
        entry("other", "room 13", days=90),
    ]
    pairs = {("old", "near"): 0.95, ("old", "new"): 0.93, ("old", "other"): 0.94}
    out, _ = pruned(rows, pairs, disputes(("room 12", "room 13")))
    replaced = {name for name, found in out.items() if found == (Reason.SUPERSEDED_BY, "new")}
    assert replaced == {"old", "copy", "near"}


def test_a_replacement_is_no_copy_of_what_it_replaced() -> None:
    """Two links that swap the same two texts leave both replacements."""
    rows = [
        entry("a", "nine", superseded_by="b"),
        entry("b", "ten"),
        entry("c", "Ten.", superseded_by="d"),
        entry("d", "Nine."),
    ]
    assert set(pruned(rows)[1]) == {"b", "d"}
