"""How the lists of both indexes become candidates."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.retrieval.record import unit

from hilvan_retrieval.core.candidate import (
    MOST_PAIRS,
    Found,
    ListReport,
    merge,
    reports,
    similar_pairs,
)
from hilvan_retrieval.model.embedding import Calibration, Vector
from hilvan_retrieval.model.entry import Layer, Uid
from hilvan_retrieval.model.index import Hit, Source

VECTOR, KEYWORD = Source.VECTOR, Source.KEYWORD
MEMORY, EPISODE = Layer.MEMORY, Layer.EPISODE
PLAIN = Calibration(((0.0, 0.0), (1.0, 1.0)))
STEEP = Calibration(((0.7, 0.0), (0.9, 0.8), (1.0, 1.0)))


def hits(*scores: tuple[str, float]) -> list[Hit]:
    """Make one list."""
    return [Hit(Uid(uid), score) for uid, score in scores]


def test_a_keyword_hit_needs_no_vector_hit() -> None:
    """What only the keyword index finds is a candidate whatever the vector index says (case 1)."""
    found = merge({(VECTOR, MEMORY): hits(("m2", 0.31)), (KEYWORD, MEMORY): hits(("m1", 9.5))})
    assert found == {
        "m1": Found(bm25=9.5, keyword_rank=1),
        "m2": Found(cosine=0.31, vector_rank=1),
    }


def test_what_both_found_is_one_candidate() -> None:
    """With both scores and both ranks."""
    lists = {
        (VECTOR, MEMORY): hits(("m1", 0.9), ("m2", 0.8)),
        (KEYWORD, MEMORY): hits(("m3", 7.0), ("m2", 6.0)),
    }
    assert merge(lists)[Uid("m2")] == Found(0.8, 2, 6.0, 2)
    assert merge(lists).keys() == {"m1", "m2", "m3"}


def test_ranks_are_of_the_list_of_the_layer() -> None:
    """Each layer's list counts from 1."""
    lists = {
        (VECTOR, MEMORY): hits(("m1", 0.9), ("m2", 0.8)),
        (VECTOR, EPISODE): hits(("e1", 0.1)),
    }
    assert [merge(lists)[Uid(uid)].vector_rank for uid in ("m1", "m2", "e1")] == [1, 2, 1]


def test_nothing_found_is_no_candidate() -> None:
    """Without lists, or with empty ones."""
    assert merge({}) == {}
    assert merge({(VECTOR, MEMORY): []}) == {}


def test_the_best_score_is_of_the_source_that_was_asked() -> None:
    """The cosine where there is one, else BM25, else 0."""
    assert Found(cosine=0.2, bm25=7.0).best == 0.2
    assert Found(bm25=7.0).best == 7.0
    assert Found(cosine=-0.5).best == -0.5
    assert Found().best == 0.0


def test_each_list_is_reported() -> None:
    """A list shorter than the limit is exhausted; the last score bounds what a full one left."""
    lists = {
        (VECTOR, MEMORY): hits(("m1", 0.9), ("m2", 0.8)),
        (KEYWORD, EPISODE): hits(("e1", 3.0)),
        (KEYWORD, MEMORY): [],
    }
    assert reports(lists, 2) == [
        ListReport(MEMORY, VECTOR, 2, exhausted=False, last_score=0.8),
        ListReport(EPISODE, KEYWORD, 1, exhausted=True, last_score=3.0),
        ListReport(MEMORY, KEYWORD, 0, exhausted=True, last_score=0.0),
    ]


COMPONENTS = st.floats(-1, 1, width=16)
VECTORS = st.lists(
    st.none()
    | st.tuples(COMPONENTS, COMPONENTS, COMPONENTS)
    .filter(lambda each: max(map(abs, each)) > 0.1)
    .map(lambda each: unit(*each)),
    max_size=12,
)


@given(VECTORS, st.sampled_from([0.0, 0.5, 0.75, 0.92]), st.sampled_from([PLAIN, STEEP]))
def test_pairs_are_those_of_a_plain_loop(
    vectors: list[Vector | None], floor: float, calibration: Calibration
) -> None:
    """Every pair at least as similar as the floor, once, by rising indexes, calibrated."""
    expected = {
        (left, right): calibration.of(float(first @ second))
        for left, first in enumerate(vectors)
        for right, second in enumerate(vectors)
        if left < right and first is not None and second is not None
    }
    pairs = similar_pairs(vectors, calibration, floor)
    indexes = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    found = dict(zip(indexes, pairs.similarity.tolist(), strict=True))
    assert list(found) == sorted(found)
    for pair, similarity in expected.items():
        # At the floor itself the order of the additions decides.
        assert pair in found or similarity <= floor + 1e-5
        assert pair not in found or similarity >= floor - 1e-5
    assert np.allclose(list(found.values()), [expected[pair] for pair in found], rtol=0, atol=1e-5)


def test_without_two_vectors_there_is_no_pair() -> None:
    """None, one, or only one that is known."""
    for vectors in ([], [unit(1, 0)], [unit(1, 0), None]):
        pairs = similar_pairs(vectors, PLAIN, 0.0)
        assert (len(pairs.left), len(pairs.right), len(pairs.similarity)) == (0, 0, 0)


def test_of_too_many_pairs_the_most_similar_stay() -> None:
    """Of more pairs than an answer holds, none that is left out is more similar than one in it."""
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((60, 8)).astype(np.float32) + 2
    vectors = list(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    pairs = similar_pairs(vectors, PLAIN, 0.01)
    assert len(pairs.left) == MOST_PAIRS
    every = sorted((float(a @ b) for i, a in enumerate(vectors) for b in vectors[i + 1 :]))
    assert np.allclose(sorted(pairs.similarity.tolist()), every[-MOST_PAIRS:], atol=1e-5)
    indexes = list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    assert indexes == sorted(set(indexes))
