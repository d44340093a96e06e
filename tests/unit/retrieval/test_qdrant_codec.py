"""How retrieval's values become Qdrant's messages."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.retrieval.index_documents import document, only

from hilvan_retrieval.adapters.vector.qdrant import schema
from hilvan_retrieval.adapters.vector.qdrant.codec import VECTOR, Codec, conditions, ranked, term
from hilvan_retrieval.adapters.vector.qdrant.stubs import qdrant
from hilvan_retrieval.model.index import VectorQuery

NUMBERS = st.floats(-1, 1, width=32)
UID = "0f0a6a1e-6f0e-5b9e-9f0c-8a7d1c3b2e55"


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_different_parts_never_give_one_term(left: list[str], right: list[str]) -> None:
    """Joined parts are equal only when every part is."""
    assert (term(*left) == term(*right)) == (left == right)


@given(st.lists(NUMBERS, min_size=1, max_size=300))
def test_a_vector_arrives_as_it_was(numbers: list[float]) -> None:
    """The raw bytes of a vector parse to the same floats, in points and in queries, of any size."""
    vector = np.array(numbers, dtype=np.float32)
    codec = Codec("c", len(numbers), exact=True)
    point = codec.point(document("m1", vector=vector))
    query = codec.query(VectorQuery(only(), vector, 5), 13)
    assert list(point.vectors.vectors.vectors) == [VECTOR]
    assert point.vectors.vectors.vectors[VECTOR].dense.data[:] == numbers
    assert query.query.nearest.dense.data[:] == numbers
    assert (query.using, query.limit) == (VECTOR, 13)


def test_a_vector_of_doubles_is_sent_as_floats() -> None:
    """Other number types than float32 are converted, not reinterpreted."""
    vector = np.array([0.5, 0.25])
    point = Codec("c", 2, exact=True).point(document("m1", vector=vector))
    assert point.vectors.vectors.vectors[VECTOR].dense.data[:] == [0.5, 0.25]


def test_answers_carry_neither_payload_nor_vectors() -> None:
    """A query wants ids and scores only."""
    query = Codec("c", 1, exact=True).query(VectorQuery(only(), np.ones(1, np.float32), 5), 5)
    assert query.with_payload == qdrant.WithPayloadSelector(enable=False)
    assert query.with_vectors == qdrant.WithVectorsSelector(enable=False)


def test_every_filter_names_tenant_layer_and_owner() -> None:
    """The first condition joins the three, so that no query can go without them."""
    wanted = conditions(only("user:b", "user:a", tenant="t", as_of_ms=None))
    assert len(wanted.must) == 1
    assert wanted.must[0].field.key == "scope"
    assert wanted.must[0].field.match.keywords.strings == [
        term("t", "memory", "user:a"),
        term("t", "memory", "user:b"),
    ]
    assert not wanted.must_not


def test_every_filtered_field_has_an_index() -> None:
    """No condition asks for a payload field without an index; only the revision is without one."""
    wanted = conditions(only(muted=[("user:a", "c")], categories=["c"], tags=["t"]))
    asked = {c.field.key for c in (*wanted.must, *wanted.must_not)}
    stored = Codec("c", 1, exact=True).point(
        document("m1", category="c", tags=["t"], vector=np.ones(1, np.float32))
    )
    assert asked == {"scope", "live_from", "live_until", "category", "tags", "topic"}
    indexed = set(schema.payload_indexes())
    assert indexed == asked | {"tenant", "bucket"}
    assert set(stored.payload) == indexed | {"revision"}


def test_rows_come_nearest_first_then_by_uid_and_inside_the_range() -> None:
    """Scored points are ordered by falling cosine, then uid; a cosine above 1 counts as 1."""
    scores = [("b", 0.5), ("d", 1.0000001), ("a", 0.5), ("c", 1.0), ("e", -1.0000001)]
    points = [qdrant.ScoredPoint(id=qdrant.PointId(uuid=u), score=s) for u, s in scores]
    assert ranked(points) == [(-1, "c"), (-1, "d"), (-0.5, "a"), (-0.5, "b"), (1, "e")]


def test_a_large_server_gets_a_graph_and_int8_vectors_that_are_rescored() -> None:
    """Without exact search the collection is quantised, and searches rescore."""
    creation = schema.creation("c", 4, exact=False)
    query = Codec("c", 1, exact=False).query(VectorQuery(only(), np.ones(1, np.float32), 5), 5)
    assert not creation.HasField("hnsw_config")
    assert creation.quantization_config.scalar.type == qdrant.QuantizationType.Int8
    assert (query.params.hnsw_ef, query.params.exact) == (128, False)
    assert query.params.quantization == qdrant.QuantizationSearchParams(
        rescore=True, oversampling=2.0
    )


def test_an_exactly_searched_collection_has_no_graph() -> None:
    """With exact search nothing is built that the search would not use."""
    creation = schema.creation("c", 4, exact=True)
    query = Codec("c", 1, exact=True).query(VectorQuery(only(), np.ones(1, np.float32), 5), 5)
    assert creation.hnsw_config.HasField("m")
    assert creation.hnsw_config.m == 0
    assert not creation.HasField("quantization_config")
    assert query.params == qdrant.SearchParams(exact=True)
