"""Fusion: the laws that hold for any two lists, and the shares of a sequence."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.assembler.values import changed, entry, retrieved

from hilvan_assembler.core.fusion import UNRELATED, relevances
from hilvan_assembler.core.sequence import supported
from hilvan_assembler.model.candidate import Candidate, ListReport, Retrieved
from hilvan_assembler.model.entry import Origin
from hilvan_assembler.model.kind import FusionMethod, Layer, Source
from hilvan_assembler.model.options import Fusion

EVEN = Fusion(vector_weight=0.5, keyword_weight=0.5)
RANKS = Fusion(FusionMethod.RECIPROCAL_RANK, 0.5, 0.25, rank_constant=10)

scores = st.one_of(st.none(), st.floats(0, 1))
words = st.one_of(st.none(), st.floats(0.001, 40))
fusions = st.builds(
    Fusion,
    method=st.sampled_from(FusionMethod),
    vector_weight=st.floats(0.01, 1),
    keyword_weight=st.floats(0.01, 1),
    rank_constant=st.integers(1, 1000),
)


@st.composite
def answers(draw: st.DrawFn) -> Retrieved:
    """An answer with some candidates of two layers, each found by at least one source."""
    found = draw(
        st.lists(st.tuples(scores, words).filter(lambda pair: pair != (None, None)), min_size=1)
    )
    layers = [draw(st.sampled_from([Layer.MEMORY, Layer.EPISODE])) for _ in found]
    full = draw(st.sets(st.sampled_from(Source)))
    rows = [
        entry(f"m{n}", similarity=near, bm25=said, layer=layer)
        for n, ((near, said), layer) in enumerate(zip(found, layers, strict=True))
    ]
    return retrieved(*(_ranked(each, rows) for each in rows), full=tuple(full))


def _ranked(each: Candidate, rows: list[Candidate]) -> Candidate:
    """The candidate with its ranks among those of its layer."""
    peers = [other for other in rows if other.layer is each.layer]

    def rank(value: float | None, all_values: list[float | None]) -> int | None:
        if value is None:
            return None
        return 1 + sum(other is not None and other > value for other in all_values)

    return replace(
        each,
        vector_rank=rank(each.similarity, [other.similarity for other in peers]),
        keyword_rank=rank(each.bm25, [other.bm25 for other in peers]),
    )


def relevance(answer: Retrieved, fusion: Fusion = EVEN) -> list[float]:
    """The relevance of an answer's candidates."""
    return relevances(answer.candidates, answer.lists, fusion)


@given(answers(), fusions)
def test_relevance_lies_between_0_and_1(answer: Retrieved, fusion: Fusion) -> None:
    """Whatever the scores, the weights and the method, relevance stays in 0..1."""
    assert all(0 <= value <= 1 for value in relevance(answer, fusion))


@given(answers(), st.sampled_from(Source), st.sampled_from(FusionMethod))
def test_a_weight_of_0_is_a_source_that_was_not_asked(
    answer: Retrieved, silent: Source, method: FusionMethod
) -> None:
    """Scores of a source with weight 0 change nothing for those that the other one found."""
    fields = ("similarity", "vector_rank"), ("bm25", "keyword_rank")
    score, rank = fields[list(Source).index(silent)]
    other = fields[1 - list(Source).index(silent)][0]
    found = [each for each in answer.candidates if getattr(each, other) is not None]
    deaf = [changed(each, {score: None, rank: None}) for each in found]
    reports = [each for each in answer.lists if each.source is not silent]
    vector, keyword = (0.0 if each is silent else 0.7 for each in Source)
    fusion = Fusion(method, vector, keyword)
    assert relevances(found, answer.lists, fusion) == relevances(deaf, reports, fusion)


@given(answers(), st.floats(0.01, 100))
def test_convex_fusion_does_not_see_the_scale_of_bm25(answer: Retrieved, factor: float) -> None:
    """Multiplying every BM25 score by one number changes no relevance."""
    scaled = [
        replace(each, bm25=None if each.bm25 is None else each.bm25 * factor)
        for each in answer.candidates
    ]
    assert relevances(scaled, answer.lists, EVEN) == pytest.approx(relevance(answer), abs=1e-9)


@given(answers(), st.data(), st.sampled_from(["similarity", "bm25"]))
def test_a_better_score_never_lowers_its_own_relevance(
    answer: Retrieved, data: st.DataObject, name: str
) -> None:
    """Relevance is monotone in each score."""
    index = data.draw(st.integers(0, len(answer.candidates) - 1))
    known = getattr(answer.candidates[index], name)
    if known is None:
        return
    better = data.draw(st.floats(known, 1 if name == "similarity" else 100))
    rows = list(answer.candidates)
    rows[index] = changed(rows[index], {name: better})
    assert relevances(rows, answer.lists, EVEN)[index] >= relevance(answer)[index] - 1e-12


@given(answers(), st.randoms(use_true_random=False))
def test_the_order_of_candidates_does_not_matter(answer: Retrieved, random: object) -> None:
    """A shuffled answer gives each candidate the same relevance."""
    rows = list(answer.candidates)
    random.shuffle(rows)  # type: ignore[attr-defined]  # hypothesis has no public name for it
    shuffled = relevances(rows, answer.lists, EVEN)
    expected = dict(zip(answer.candidates, relevance(answer), strict=True))
    assert dict(zip(rows, shuffled, strict=True)) == expected


def test_an_entry_outside_a_full_list_gets_the_lists_last_score() -> None:
    """It scores at most what the last one did, and is not punished with less."""
    answer = retrieved(
        entry("words", bm25=10.0, similarity=None),
        entry("first", similarity=0.9, bm25=5.0),
        entry("last", similarity=0.6, bm25=2.0),
        full=[Source.VECTOR],
    )
    last = (0.6 - UNRELATED) / (0.9 - UNRELATED)
    assert relevance(answer)[0] == pytest.approx(0.5 * 1.0 + 0.5 * last)


def test_a_missing_vector_says_nothing() -> None:
    """Outside a vector list that ended, the keyword source decides alone."""
    answer = retrieved(
        entry("words", bm25=5.0, similarity=None), entry("both", similarity=0.9, bm25=10.0)
    )
    assert relevance(answer)[0] == pytest.approx(0.5)


def test_no_common_word_is_a_truthful_zero_where_others_have_some() -> None:
    """Outside a keyword list that ended, no word matches, and others' matches count for them."""
    answer = retrieved(
        entry("near", similarity=0.9), entry("both", similarity=0.7, bm25=3.0), full=()
    )
    near, both = relevance(answer)
    assert near == pytest.approx(0.5)
    assert both > near


@pytest.mark.parametrize("method", FusionMethod)
def test_a_source_that_found_nothing_punishes_nobody(method: FusionMethod) -> None:
    """Without any keyword hit relevance is what the vector source alone gives."""
    rows = [entry("a", similarity=0.9, vector_rank=1), entry("b", similarity=0.6, vector_rank=2)]
    both, alone = retrieved(*rows), retrieved(*rows, asked=[Source.VECTOR])
    fusion = replace(EVEN, method=method)
    assert relevance(both, fusion) == relevance(alone, fusion)


def test_nothing_found_is_no_relevance() -> None:
    """Without a source that found something every relevance is 0."""
    assert relevances([entry("a")], [], EVEN) == [0.0]


def test_an_empty_full_list_has_no_last_score() -> None:
    """A list that should go on but holds no scored candidate says zero, not an error."""
    row = entry("a", similarity=0.9)
    lists = [
        ListReport(Layer.MEMORY, Source.VECTOR, 1, exhausted=True, last_score=0.9),
        ListReport(Layer.MEMORY, Source.KEYWORD, 1, exhausted=False, last_score=1.0),
    ]
    assert relevances([row], lists, EVEN) == [0.5]


def test_all_unrelated_is_no_relevance() -> None:
    """The best of a bad lot is not scaled up to 1."""
    answer = retrieved(entry("a", similarity=UNRELATED / 2), entry("b", similarity=0.0))
    assert relevance(answer) == [0.0, 0.0]


def test_an_entry_that_no_weighted_source_knows_has_no_relevance() -> None:
    """A candidate without a vector stays at 0 where words are not asked."""
    answer = retrieved(entry("a", bm25=3.0), entry("b", similarity=0.9))
    assert relevance(answer, replace(EVEN, keyword_weight=0)) == [0.0, 1.0]


def test_reciprocal_rank_is_the_published_sum_scaled_to_1() -> None:
    """RRF is the sum over lists of w / (k + rank), rank from 1, over its greatest value."""
    answer = retrieved(
        entry("top", similarity=0.9, vector_rank=1, bm25=9.0, keyword_rank=1),
        entry("mid", similarity=0.8, vector_rank=3, bm25=8.0, keyword_rank=2),
        entry("near", similarity=0.7, vector_rank=2),
    )
    most = 0.5 / 11 + 0.25 / 11
    expected = [1.0, (0.5 / 13 + 0.25 / 12) / most, (0.5 / 12) / most]
    assert relevance(answer, RANKS) == pytest.approx(expected)


def test_outside_a_full_list_the_rank_is_the_next_one() -> None:
    """Rank fusion gives an entry outside a full list of two the rank 3."""
    answer = retrieved(
        entry("a", similarity=0.9, vector_rank=1, bm25=9.0, keyword_rank=1),
        entry("b", bm25=8.0, keyword_rank=2, similarity=0.5, vector_rank=2),
        entry("c", bm25=7.0, keyword_rank=3, similarity=None),
        full=[Source.VECTOR],
    )
    most = 0.5 / 11 + 0.25 / 11
    assert relevance(answer, RANKS)[2] == pytest.approx((0.5 / 13 + 0.25 / 13) / most)


def turn(entry_id: str, position: int | None, thread: str = "t") -> Candidate:
    """A turn of a conversation."""
    return entry(entry_id, origin=Origin(thread=thread, position=position))


def test_neighbours_in_a_thread_lend_relevance() -> None:
    """A neighbour's hit and the thread's best hits lift an entry, by their distance."""
    rows = [turn("a", 1), turn("b", 2), turn("c", 3), turn("far", 90)]
    a, b, c, far = supported(rows, [0.2, 0.8, 0.2, 0.2])
    assert a == c
    assert 0.2 < far < a < b
    assert b > 0.8


def test_what_stands_in_no_sequence_stays_as_it_is() -> None:
    """Without a thread, a place in it, or anything else of it, nothing is lent."""
    rows = [entry("a"), turn("b", None), turn("alone", 1, "other"), turn("zero", 1)]
    values = [0.3, 0.4, 0.5, 0.0]
    assert supported(rows, values) == pytest.approx(values)


def test_the_best_of_several_entries_of_one_turn_speaks_for_it() -> None:
    """Whichever comes first, the better of two entries at one place counts."""
    rows = [turn("strong", 1), turn("weak", 1), turn("next", 2)]
    values = [0.9, 0.1, 0.2]
    forwards = supported(rows, values)
    backwards = supported(rows[::-1], values[::-1])[::-1]
    assert forwards == backwards


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 6), st.sampled_from("xy"))))
def test_a_sequence_never_takes_away_and_never_exceeds_1(
    turns: list[tuple[float, int, str]],
) -> None:
    """Support lies between the relevance and 1."""
    rows = [turn(f"m{n}", place, thread) for n, (_, place, thread) in enumerate(turns)]
    values = [value for value, _, _ in turns]
    lifted = supported(rows, values)
    assert all(value - 1e-12 <= each <= 1 for value, each in zip(values, lifted, strict=True))
