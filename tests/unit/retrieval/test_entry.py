"""What writes do to the record: upsert, update, remove, supersede and remember."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.retrieval.record import BOB, NOW, T0, entry, unit

from hilvan_retrieval.core.entry import (
    REINFORCED_AT,
    Nearest,
    nearest,
    reinforced,
    remember,
    remove,
    supersede,
    update,
    upsert,
)
from hilvan_retrieval.errors import Conflict, InvalidInput, NotFound
from hilvan_retrieval.model.entry import Answer, Change, Entry, Layer

LATER = T0 + timedelta(days=30)
VECTOR = unit(1, 0)


def by_id(*entries: Entry) -> Mapping[str, Entry]:
    """Make a record."""
    return {each.id: each for each in entries}


def test_an_upsert_stores_the_entry() -> None:
    """It is put and answered as it is, over an older one as well."""
    new = entry(text="new")
    for current in ({}, by_id(entry(text="old"))):
        assert upsert(new, current) == Change(Answer("stored", new), puts=(new,))


@pytest.mark.parametrize("place", [{"layer": Layer.EPISODE}, {"owner": BOB}])
def test_layer_and_owner_never_change(place: dict[str, Any]) -> None:
    """Neither by an upsert nor by a statement to remember; the field is named."""
    current = by_id(entry())
    moved = entry(**place)
    decisions: tuple[Callable[[], Change], ...] = (
        lambda: upsert(moved, current),
        lambda: remember(moved, None, NOW, current, VECTOR),
    )
    for decide in decisions:
        with pytest.raises(InvalidInput) as refused:
            decide()
        (violation,) = refused.value.violations
        assert violation.field == f"entry.{next(iter(place))}"


def test_a_link_is_dated_by_its_replacement() -> None:
    """From when that one holds, or else was first stated."""
    old = entry("old", superseded_by="new")
    stated = entry("new", create_time=LATER)
    assert upsert(old, by_id(stated)).puts[0].supersede_time == LATER
    holding = replace(stated, valid_from=NOW)
    assert upsert(old, by_id(holding)).puts[0].supersede_time == NOW


def test_a_link_to_nothing_known_is_dated_by_the_entry_itself() -> None:
    """The replacement may come later; until then the last statement's time stands for it."""
    old = entry("old", superseded_by="unknown", update_time=LATER)
    assert upsert(old, {}).puts[0].supersede_time == LATER


def test_an_entry_without_a_link_has_no_time_of_one() -> None:
    """Whatever it was given."""
    assert upsert(entry(supersede_time=LATER), {}).puts[0].supersede_time is None


def test_a_replacement_that_comes_later_dates_the_links_to_it() -> None:
    """By upsert, by remember and by an update of its start, wherever the time is another one."""
    linked = entry("old", superseded_by="new", supersede_time=T0)
    dated = entry("done", superseded_by="new", supersede_time=LATER)
    new = entry("new", create_time=LATER)
    expected = replace(linked, supersede_time=LATER)
    assert upsert(new, by_id(linked, dated)).puts == (new, expected)
    assert remember(new, None, NOW, by_id(linked, dated), VECTOR).puts == (new, expected)
    changed = update("new", {"valid_from": NOW}, "", NOW, by_id(linked, new)).puts
    assert changed[1] == replace(linked, supersede_time=NOW)


def test_a_link_of_another_owners_entry_is_left_alone() -> None:
    """Its time is no business of who writes an entry of that id."""
    theirs = entry("theirs", owner=BOB, superseded_by="m1", supersede_time=T0)
    new = entry(create_time=LATER)
    assert upsert(new, by_id(theirs)).puts == (new,)


def test_loops_are_refused() -> None:
    """A link to itself, and one that leads back over any number of others."""
    chain = [entry(f"m{i}", superseded_by=f"m{i + 1}") for i in range(5)]
    for target in ("m1", "m3", "m5"):
        looping = entry("m5", superseded_by=target)
        with pytest.raises(InvalidInput, match="must not lead back"):
            upsert(looping, by_id(*chain, looping))
        with pytest.raises(InvalidInput, match="must not lead back"):
            supersede("m5", target, "", by_id(*chain, entry("m5")))


def test_a_loop_among_others_ends() -> None:
    """A loop that the entry is not part of is not its fault."""
    loop = by_id(entry("a", superseded_by="b"), entry("b", superseded_by="a"))
    assert upsert(entry(superseded_by="a"), loop).puts[0].supersede_time == T0


def test_a_link_stays_with_the_owner() -> None:
    """Another owner's entry can't replace this one."""
    with pytest.raises(InvalidInput, match="same owner"):
        upsert(entry(superseded_by="m2"), by_id(entry("m2", owner=BOB)))


def test_an_update_changes_what_it_names() -> None:
    """A change of content is a statement of now, any other leaves the time alone."""
    old = entry(version=3)
    changed = update("m1", {"text": "new"}, "3", NOW, by_id(old))
    assert changed.puts == (replace(old, text="new", update_time=NOW),)
    assert changed.answer == Answer("stored", changed.puts[0])
    others: tuple[dict[str, Any], ...] = ({"importance": 0.5}, {"text": old.text})
    for values in others:
        (put,) = update("m1", values, "", NOW, by_id(old)).puts
        assert put == replace(old, **values)


def test_an_interval_is_never_empty() -> None:
    """Its end is checked against the start that is stored already."""
    old = entry(valid_from=LATER)
    for end in (T0, LATER):
        with pytest.raises(InvalidInput) as refused:
            update("m1", {"valid_until": end}, "", NOW, by_id(old))
        assert refused.value.violations[0].field == "entry.valid_until_time"
    (put,) = update("m1", {"valid_until": NOW}, "", NOW, by_id(old)).puts
    assert put.valid_until == NOW


def test_an_unknown_entry_and_an_old_etag_are_refused() -> None:
    """NotFound names the id, Conflict the current etag; no etag is no condition."""
    current = by_id(entry(version=2), entry("m2"))
    calls: tuple[Callable[[str, str], Change], ...] = (
        lambda name, etag: update(name, {}, etag, NOW, current),
        lambda name, etag: remove(name, etag, current),
        lambda name, etag: supersede(name, "m2", etag, current),
    )
    for call in calls:
        with pytest.raises(NotFound) as missing:
            call("unknown", "")
        assert missing.value.entry_id == "unknown"
        with pytest.raises(Conflict) as stale:
            call("m1", "1")
        assert (stale.value.entry_id, stale.value.current_etag) == ("m1", "2")
        call("m1", "2")
        call("m1", "")


def test_a_removal_deletes() -> None:
    """The answer has no entry."""
    assert remove("m1", "", by_id(entry())) == Change(Answer("deleted"), deletes=("m1",))


def test_superseding_links_the_older_entry() -> None:
    """It is dated by the newer one, which must exist and is left alone."""
    old, new = entry("old"), entry("new", create_time=LATER)
    put = replace(old, superseded_by="new", supersede_time=LATER)
    change = supersede("old", "new", "", by_id(old, new))
    assert change == Change(Answer("stored", put), puts=(put,))
    with pytest.raises(NotFound, match="unknown"):
        supersede("old", "unknown", "", by_id(old))


def test_a_new_statement_is_stored_with_its_vector() -> None:
    """The answer tells how similar the nearest one was, or that there was none."""
    new = entry("new")
    alone = remember(new, None, NOW, {}, VECTOR)
    assert alone == Change(Answer("stored", new), puts=(new,), vectors={"new": VECTOR})
    old = entry()
    below = Nearest(old, REINFORCED_AT - 0.001)
    change = remember(new, below, NOW, by_id(old), VECTOR)
    assert change.answer == Answer("stored", new, below.similarity)


def test_the_same_statement_reinforces() -> None:
    """From the threshold on the stored one is put quietly, and nothing new is made."""
    old = entry(confidence=0.5)
    change = remember(entry("new"), Nearest(old, REINFORCED_AT), NOW, by_id(old), VECTOR)
    put = replace(old, reinforcement_count=1, confidence=0.6, update_time=NOW)
    assert change == Change(Answer("reinforced", put, REINFORCED_AT), puts=(put,), quiet=True)


@pytest.mark.parametrize(
    "now_so",
    [
        {},
        by_id(entry(text="changed")),
        by_id(entry(superseded_by="m2", supersede_time=T0)),
        by_id(entry(valid_until=T0)),
    ],
    ids=["deleted", "changed", "superseded", "ended"],
)
def test_what_has_changed_since_it_was_read_is_not_reinforced(now_so: Mapping[str, Entry]) -> None:
    """The statement is stored when the record no longer says it."""
    change = remember(entry("new"), Nearest(entry(), 1.0), NOW, now_so, VECTOR)
    assert change.answer.outcome == "stored"


@given(st.none() | st.floats(0, 1), st.integers(1, 50))
def test_reinforcement_rises_and_is_bounded(confidence: float | None, times: int) -> None:
    """Confidence never falls nor leaves 0..1, counts go up by one, times never go back."""
    each = entry(confidence=confidence)
    before = 0.5 if confidence is None else confidence
    for count in range(1, times + 1):
        each = reinforced(each, NOW if count % 2 else T0)
        assert each.confidence is not None
        assert before <= each.confidence <= 1
        assert each.reinforcement_count == count
        assert each.update_time == NOW
        before = each.confidence


def test_the_nearest_statement_is_the_most_similar_one() -> None:
    """Of none there is none; of equals the greater id."""
    others = [(entry("a", "one"), 0.5), (entry("c", "two"), 0.7), (entry("b", "three"), 0.7)]
    assert nearest(entry(text="four"), []) is None
    assert nearest(entry(text="four"), others) == Nearest(others[1][0], 0.7)


def test_the_same_words_are_the_same_statement() -> None:
    """Whatever the model says of them; a changed number is left to the model."""
    madrid, flight = entry("a", "i live in madrid!"), entry("b", "vuelo a las 10")
    similar = [(madrid, 0.8), (flight, 0.91)]
    assert nearest(entry(text="I live in Madrid"), similar) == Nearest(madrid, 1.0)
    assert nearest(entry(text="vuelo a las 9"), similar) == Nearest(flight, 0.91)


def test_steps_are_part_of_a_statement() -> None:
    """Two procedures of one text and other steps are not the same."""
    stored = entry("a", "Deploy", steps=("build", "push"))
    assert nearest(entry(text="deploy", steps=("push",)), [(stored, 0.5)]) == Nearest(stored, 0.5)
