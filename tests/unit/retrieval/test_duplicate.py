"""Which entries say the same, so that a consolidation may merge them."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paths import DATA
from support.retrieval.record import T0, entry, unit

from hilvan_retrieval.core.duplicate import (
    BLOCK,
    COMPARED_CHARACTERS,
    NEAREST_LEADERS,
    sketch,
    twins,
)
from hilvan_retrieval.model.consolidation import Action, Proposal
from hilvan_retrieval.model.embedding import Calibration, Vector
from hilvan_retrieval.model.entry import Entry, Layer

AS_IT_IS = Calibration(((0.0, 0.0), (1.0, 1.0)))
DAY = timedelta(days=1)


def merges(
    *entries: Entry, vectors: Mapping[str, Vector] | None = None, calibration: Any = AS_IT_IS
) -> dict[str, str]:
    """Tell who gives way to whom; without vectors all entries have the same one."""
    return {each.entry_id: each.other_id for each in found(entries, vectors, calibration)}


def found(
    entries: Any, vectors: Mapping[str, Vector] | None = None, calibration: Any = AS_IT_IS
) -> list[Proposal]:
    """Tell the proposals."""
    known = {each.id: unit(1, 0) for each in entries} if vectors is None else dict(vectors)
    sketches = [sketch(each) for each in entries]
    return [each for block in twins(sketches, known, calibration) for each in block]


def pair(old: str, new: str, **values: Any) -> tuple[Entry, Entry]:
    """Make two memories, stated a day apart."""
    return entry("old", old, **values), entry("new", new, update_time=T0 + DAY, **values)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Luis likes football", "Luis likes football a lot"),
        ("The user is vegetarian", "The user is a vegetarian"),
        ("El despliegue es automático", "El despliegue es automático desde siempre"),
        ("user is allergic to peanuts", "User is allergic to peanuts!"),
        ("Ana visits Luis on 3 May", "Ana visits Luis on 3 May, always"),
    ],
)
def test_the_older_statement_gives_way_to_one_that_says_all_of_it(old: str, new: str) -> None:
    """The wording that was used last stays."""
    assert merges(*pair(old, new)) == {"old": "new"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Error 882 has mild severity", "Error 882 has critical severity"),
        ("El modo oscuro está activado", "El modo oscuro está desactivado"),
        ("Ana vive en Madrid", "Ana vivía en Madrid"),
        ("Ana lives in Madrid", "Ana lived in Madrid"),
        ("The SLA is 99.9%", "The SLA is 99.95%"),
        ("The SLA is 99%", "The SLA is 99% in 2025"),
        ("The user eats meat", "The user does not eat meat"),
        ("The user may eat meat", "The user may not eat meat"),
        ("La usuaria come carne", "La usuaria ya no come carne"),
        ("La usuaria come carne", "La usuaria nunca come carne"),
        ("It doesn't work at home", "It does work at home"),
        ("The user works in Madrid", "The user works in Madrid, says Luis"),
        ("Ana likes tea", "Luis likes tea"),
        ("Likes tea", "Ana likes tea"),
        ("Ana tells Luis a lie", "Luis tells Ana a lie"),
        ("moved from 12 to 40", "moved from 40 to 12"),
        ("Luis likes football a lot", "Luis likes football"),
    ],
)
def test_what_differs_is_never_merged(old: str, new: str) -> None:
    """However similar the model finds two texts: words, numbers, negations and names decide."""
    assert merges(*pair(old, new)) == {}


def test_no_known_contradiction_is_merged() -> None:
    """None of the contradictions of the data set passes, either way, at any similarity."""
    lines = (DATA / "contradictions.jsonl").read_text().splitlines()
    cases = [case for case in map(json.loads, lines) if case["conflict"]]
    passed = [
        case["older"]
        for case in cases
        for texts in ((case["older"], case["newer"]), (case["newer"], case["older"]))
        if merges(*pair(*texts))
    ]
    assert len(cases) > 700
    assert passed == ["User saves for a trip to Iceland"]  # and a cosine of 0.76 keeps that


def test_similar_is_from_the_calibrated_threshold_up() -> None:
    """Below 0.92 of the calibrated scale nothing is merged, whatever the raw cosine."""
    texts = pair("Luis likes football", "Luis likes football a lot")
    for cosine, wanted in ((0.919, {}), (0.921, {"old": "new"})):
        vectors = {"old": unit(1, 0), "new": unit(cosine, float(np.sqrt(1 - cosine**2)))}
        assert merges(*texts, vectors=vectors) == wanted
    raised = Calibration(((0.0, 0.0), (0.921, 0.5), (1.0, 1.0)))
    assert merges(*texts, vectors=vectors, calibration=raised) == {}


def test_the_same_words_need_no_vector() -> None:
    """Copies are found before they are embedded; anything else is not."""
    assert merges(*pair("Luis likes tea", "luis LIKES tea."), vectors={}) == {"old": "new"}
    assert merges(*pair("Luis likes tea", "Luis likes tea a lot"), vectors={}) == {}
    assert merges(*pair("!", "…")) == {}


def test_long_texts_are_compared_as_a_whole() -> None:
    """A word more in a long text is a difference that no model sees."""
    long = "word " * (COMPARED_CHARACTERS // 5)
    assert merges(*pair(long, long.upper())) == {"old": "new"}
    assert merges(*pair(long, long + "more")) == {}


@pytest.mark.parametrize(
    "other",
    [
        {"category": "stack"},
        {"valid_from": T0},
        {"valid_until": T0 + 900 * DAY},
    ],
)
def test_category_and_validity_are_part_of_what_is_said(other: dict[str, Any]) -> None:
    """Mutes go by the category, and an entry that ends says less than one that does not."""
    old, _ = pair("Luis likes tea", "")
    assert merges(old, entry("new", "Luis likes tea", **other)) == {}


def test_episodes_are_the_same_only_on_the_same_day_in_the_same_words() -> None:
    """The standup of another day is another standup."""
    old, new = pair("The standup was held", "The standup was held", layer=Layer.EPISODE)
    assert merges(old, new) == {"old": "new"}
    later = entry("new", "The standup was held", layer=Layer.EPISODE, create_time=T0 + DAY)
    assert merges(old, later) == {}
    assert merges(*pair("It was held", "It was held again", layer=Layer.EPISODE)) == {}


def test_nothing_is_merged_over_a_third() -> None:
    """In a chain a~b~c the middle joins the newest, and the far end stays."""
    chain = [
        entry(name, f"Luis likes tea{more}", update_time=T0 + days * DAY)
        for days, (name, more) in enumerate({"a": "", "b": " so", "c": " so much"}.items())
    ]
    angles = {"a": 0.0, "b": 0.35, "c": 0.7}
    vectors = {name: unit(float(np.cos(by)), float(np.sin(by))) for name, by in angles.items()}
    assert merges(*chain, vectors=vectors) == {"b": "c"}


def test_the_most_similar_leader_is_joined() -> None:
    """Of two that a statement could join, however new they are."""
    old, new = pair("Luis likes tea", "Luis likes tea so much")
    newest = entry("newest", "Luis likes tea madly", update_time=T0 + 2 * DAY)
    vectors = {"old": unit(1, 0.1), "new": unit(1, 0.05), "newest": unit(1, -0.1)}
    assert merges(old, new, newest, vectors=vectors) == {"old": "new"}


def test_of_equal_times_the_one_that_says_more_stays() -> None:
    """Then the first by id."""
    assert merges(entry("a", "Luis likes tea"), entry("b", "Luis likes tea so")) == {"a": "b"}
    assert merges(entry("b", "Luis likes tea"), entry("a", "Luis likes tea")) == {"b": "a"}


def test_proposals_tell_why_and_of_which_contents() -> None:
    """The reason is for people, the hashes are for the record."""
    old, new = pair("Luis likes tea", "Luis likes tea so much")
    (proposal,) = found((old, new))
    hashes = old.content_hash, new.content_hash
    assert proposal == Proposal(Action.MERGED, "old", "new", "similarity 1.000", *hashes)
    (copy,) = found(pair("Luis likes tea", "Luis likes tea"))
    assert copy.reason == "the same words"


def test_leaders_are_found_over_the_edge_of_a_block() -> None:
    """A twin in a later block meets the leaders of earlier ones."""
    others = [
        entry(f"x{i}", f"Fact number {i}", update_time=T0 + DAY * (1 + i / 1000))
        for i in range(BLOCK)
    ]
    first = entry("first", "Luis likes tea a lot", update_time=T0 + 9 * DAY)
    assert merges(entry("last", "Luis likes tea"), *others, first) == {"last": "first"}


def test_work_on_what_is_all_alike_is_bounded() -> None:
    """Only the most similar leaders are compared word by word."""
    leaders = [
        entry(f"x{i}", f"Luis likes {'very ' * (i == 0)}{chr(97 + i) * 3}", update_time=T0 + DAY)
        for i in range(NEAREST_LEADERS + 1)
    ]
    old = entry("old", "Luis likes very aaa")
    near = {each.id: unit(1, 0.001 * i) for i, each in enumerate(reversed(leaders))}
    assert (
        merges(entry("old", "Luis likes aaa"), *leaders, vectors=near | {"old": unit(1, 0)}) == {}
    )
    assert merges(old, *leaders, vectors=near | {"old": unit(1, 0.016)}) == {"old": "x0"}


TEXTS = st.sampled_from(
    ["Luis likes tea", "Luis likes tea so", "luis likes tea", "Luis likes tea so much", "So it is"]
)


@given(
    st.lists(st.tuples(TEXTS, st.integers(0, 3), st.floats(0, 1.5)), max_size=12),
)
def test_leaders_are_never_twins_of_each_other(drawn: list[tuple[str, int, float]]) -> None:
    """After all twins gave way, nobody else does: a second pass proposes nothing."""
    entries = [
        entry(f"m{i}", text, update_time=T0 + days * DAY) for i, (text, days, _) in enumerate(drawn)
    ]
    vectors = {
        f"m{i}": unit(float(np.cos(by)), float(np.sin(by))) for i, (_, _, by) in enumerate(drawn)
    }
    gone = merges(*entries, vectors=vectors)
    assert not gone.keys() & set(gone.values())
    left = [each for each in entries if each.id not in gone]
    assert merges(*left, vectors=vectors) == {}
