"""Recall's bundle, and the snippets of search."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.assembler.values import (
    CHARACTERS,
    WORDS,
    Grudge,
    agrees,
    disputes,
    entry,
    options,
    retrieved,
)

from hilvan_assembler.core import render
from hilvan_assembler.core.decision import recall_decisions
from hilvan_assembler.core.ranking import Ranking, rank
from hilvan_assembler.core.recall import Bundle, BundleBudget, bundle, source_of
from hilvan_assembler.core.snippet import SNIPPET_CHARACTERS, snippet
from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.curation import Curated
from hilvan_assembler.model.entry import Origin
from hilvan_assembler.model.kind import Layer, Reason
from hilvan_assembler.model.ranking import Verdict
from hilvan_assembler.ports.contradiction import ContradictionJudge
from hilvan_assembler.ports.tokenizer import Tokenizer

ITEM = len(render.candidate_item(entry("m", "x"), options().zone))
"""Characters of a memory of one letter."""


def ranking(
    *rows: Candidate,
    pairs: dict[tuple[str, str], float] | None = None,
    judge: ContradictionJudge = agrees,
) -> Ranking:
    """The ranking of these candidates; earlier ones are more relevant."""
    return rank(retrieved(*rows, pairs=pairs), Curated(), options(), judge)


def row(entry_id: str, size: int = 1, place: int = 0, **fields: object) -> Candidate:
    """A memory of ``size`` letters; a greater place is less relevant."""
    return entry(entry_id, entry_id[0] * size, similarity=0.9 - place / 100, **fields)


def pack(found: Ranking, budget: int, share: int | None = None) -> Bundle:
    """A bundle, a token a character."""
    shares = BundleBudget(budget, budget if share is None else share)
    return bundle(found, options(), shares, CHARACTERS)


def ids(packed: Bundle) -> list[str]:
    """The bundle's entries."""
    return [one.id for one, _ in packed.passages]


def out(packed: Bundle) -> dict[str, Verdict]:
    """Why the others are out, by id."""
    return {
        each.piece.subject.id: each.verdict
        for each in packed.placements
        if each.verdict is not None
    }


def test_a_bundle_fills_in_rank_order_and_says_why_the_rest_is_out() -> None:
    """Too large, over budget, and the next that fits."""
    found = ranking(row("a", 500), row("b", 1, 1), row("c", 60, 2), row("d", 1, 3))
    packed = pack(found, 2 * ITEM + 40)
    assert ids(packed) == ["b", "d"]
    assert out(packed)["a"].reason is Reason.TOO_LARGE
    assert out(packed)["c"].reason is Reason.OVER_BUDGET
    assert packed.token_count == len(packed.text) == 2 * ITEM


def test_no_source_exceeds_its_share() -> None:
    """Passages of one note, or entries of one thread, leave room for others."""
    note = Origin(uri="note-1")
    found = ranking(
        row("a", layer=Layer.NOTE, origin=note),
        row("b", 1, 1, layer=Layer.NOTE, origin=note),
        row("c", 1, 2, origin=Origin(thread="t")),
        row("d", 1, 3, origin=Origin(thread="t")),
        row("e", 1, 4),
    )
    packed = pack(found, 10 * ITEM, ITEM + 5)
    assert ids(packed) == ["a", "c", "e"]
    assert out(packed)["b"].detail == "share of note-1"
    assert out(packed)["d"].detail == "share of t"


def test_a_source_is_a_note_a_thread_or_the_entry() -> None:
    """What counts as one source."""
    assert source_of(entry("m", origin=Origin(uri="u"))) == "m"
    assert source_of(entry("m", origin=Origin(thread="t", uri="u"))) == "t"
    assert source_of(entry("m", layer=Layer.NOTE, origin=Origin(thread="t", uri="u"))) == "u"


def test_what_is_outdated_takes_no_room() -> None:
    """A contradicted entry is left out and the next one has its place."""
    found = ranking(
        entry("old", "nine", days=9, similarity=0.9),
        entry("new", "ten", days=1, similarity=0.8),
        pairs={("old", "new"): 0.8},
        judge=disputes(("nine", "ten")),
    )
    packed = pack(found, 1000)
    assert ids(packed) == ["new"]
    assert out(packed)["old"].reason is Reason.CONTRADICTED_BY


def test_a_tokenizer_that_joins_over_seams_never_overruns_a_bundle() -> None:
    """Where the whole costs more than its parts the last passages leave."""
    found = ranking(*(row(name, 1, place) for place, name in enumerate("abcd")))
    packed = bundle(found, options(), BundleBudget(4, 4), Grudge())
    assert len(packed.passages) == 2
    assert packed.token_count <= 4
    assert out(packed)["d"].reason is Reason.OVER_BUDGET


@given(
    st.lists(st.integers(1, 80), max_size=8),
    st.integers(0, 400),
    st.integers(0, 400),
    st.sampled_from([WORDS, CHARACTERS, Grudge()]),
)
def test_a_bundle_never_exceeds_its_budget(
    lengths: list[int], budget: int, share: int, tokenizer: Tokenizer
) -> None:
    """Whatever the budget and the share, the text's own count is within it."""
    found = ranking(*(row(f"{n}", size, n) for n, size in enumerate(lengths)))
    packed = bundle(found, options(), BundleBudget(budget, share), tokenizer)
    assert packed.token_count == tokenizer.count(packed.text) <= budget


def test_each_candidate_of_a_recall_has_one_decision() -> None:
    """In or out, with its tokens where it is in."""
    found = ranking(row("a"), row("b", 500, 1))
    told = {each.id: each for each in recall_decisions(found, pack(found, 100))}
    assert (told["a"].reason, told["a"].token_count) == (Reason.RENDERED, ITEM)
    assert (told["b"].reason, told["b"].token_count) == (Reason.TOO_LARGE, 0)


def test_a_short_text_is_its_own_snippet() -> None:
    """On one line."""
    assert snippet("one\n two\tthree", "x") == "one two three"


@pytest.mark.parametrize("query", ["REUNION", "la reunión", "reunio\u0301n"])
def test_a_snippet_shows_what_the_query_is_about(query: str) -> None:
    """Whatever the case and the accents, the hit is in it, and cuts are marked."""
    text = "palabra " * 60 + "la reunión del jueves " + "palabra " * 60
    found = snippet(text, query)
    assert "reunión" in found
    assert (found[0], found[-1]) == ("…", "…")


def test_a_snippet_without_a_hit_is_the_beginning() -> None:
    """No word in common: the text's first part, cut at a space."""
    found = snippet("palabra " * 90, "nada")
    assert found.startswith("palabra")
    assert found.endswith("palabra…")


def test_a_hit_at_the_end_shows_the_end() -> None:
    """Nothing is left out behind it, so nothing says so."""
    found = snippet("palabra " * 90 + "final", "final")
    assert found.endswith("palabra final")


@given(st.text(max_size=600), st.text(max_size=30))
def test_a_snippet_is_short_and_of_the_text(text: str, query: str) -> None:
    """At most its length and two ellipses, nothing that the text does not have."""
    found = snippet(text, query)
    assert len(found) <= SNIPPET_CHARACTERS + 2
    whole = " ".join(unicodedata.normalize("NFC", text).split())
    assert found.removeprefix("…").removesuffix("…").strip("… ") in whole


def test_a_text_without_spaces_is_cut_where_it_must_be() -> None:
    """One endless word still gives a snippet."""
    assert snippet("x" * 900, "x") == "x" * SNIPPET_CHARACTERS + "…"


def test_no_cut_parts_what_people_see_as_one_character() -> None:
    """A family of joined figures is shown whole or not at all, on either side."""
    family = "👨\u200d👩\u200d👧\u200d👦"
    found = snippet(family * 60 + "aguja" + family * 60, "aguja").strip("…")
    assert "aguja" in found
    assert not found.replace(family, "").replace("aguja", "")
