"""What is refused, and what is only told, of a server and of a collection that is there."""

import pytest

from hilvan_retrieval.adapters.vector.qdrant import faults, schema
from hilvan_retrieval.adapters.vector.qdrant.codec import VECTOR
from hilvan_retrieval.adapters.vector.qdrant.stubs import qdrant


def existing(
    size: int = 4, metric: "qdrant.Distance.ValueType" = qdrant.Distance.Cosine
) -> qdrant.CollectionInfo:
    """Describe a collection as Hilvan makes it on a server."""
    created = schema.creation("c", size, exact=False)
    info = qdrant.CollectionInfo(points_count=1)
    info.config.params.vectors_config.CopyFrom(created.vectors_config)
    info.config.quantization_config.CopyFrom(created.quantization_config)
    vector_of(info).distance = metric
    for field, params in schema.payload_indexes().items():
        keyword = params.HasField("keyword_index_params")
        kind = qdrant.PayloadSchemaType.Keyword if keyword else qdrant.PayloadSchemaType.Integer
        info.payload_schema[field].data_type = kind
    return info


def vector_of(info: qdrant.CollectionInfo) -> qdrant.VectorParams:
    """Give the description of the one vector."""
    return info.config.params.vectors_config.params_map.map[VECTOR]


def version(number: str, title: str = "qdrant - vector search engine") -> qdrant.HealthCheckReply:
    """Say who answers."""
    return qdrant.HealthCheckReply(title=title, version=number)


@pytest.mark.parametrize("number", ["1.17.1", "1.17.10", "1.18.0", "2.0.0", "1.17.1-dev"])
def test_a_server_of_today_will_do(number: str) -> None:
    """The oldest version and every later one is accepted."""
    assert faults.of_version(version(number)) == ""


@pytest.mark.parametrize("number", ["1.17.0", "1.9.7", "0.11.0", "", "latest"])
def test_an_older_server_is_refused(number: str) -> None:
    """A version that is older, or can't be read, is named together with the oldest one."""
    assert "1.17.1" in faults.of_version(version(number))
    assert number in faults.of_version(version(number))


def test_the_local_engine_has_numbers_of_its_own() -> None:
    """Its version is the package's, and no fault."""
    assert faults.of_version(version("0.9.0", faults.LOCAL_ENGINE)) == ""


@pytest.mark.parametrize("exact", [True, False])
def test_our_own_collection_has_no_fault(exact: bool) -> None:  # noqa: FBT001 - a parameter
    """What `creation` makes passes the checks, and is not slow."""
    assert faults.of_collection(existing(), 4, exact=exact) == ""
    assert list(faults.slow_settings(existing(), exact=exact)) == []


def test_vectors_that_compare_otherwise_are_named() -> None:
    """A wrong metric, size, number kind, number of vectors and an absent vector are told apart."""
    several, bytewise = existing(), existing()
    vector_of(several).multivector_config.SetInParent()
    vector_of(bytewise).datatype = qdrant.Datatype.Uint8
    for info, named in (
        (existing(metric=qdrant.Distance.Euclid), "metric is Euclid"),
        (existing(metric=qdrant.Distance.Dot), "metric is Dot"),
        (existing(size=5), "5 dimensions"),
        (qdrant.CollectionInfo(), "no vector named 'dense'"),
        (several, "several vectors a point"),
        (bytewise, "kept as Uint8"),
    ):
        fault = faults.of_collection(info, 4, exact=True)
        assert named in fault
        assert "hilvan reindex" in fault


@pytest.mark.parametrize("kind", ["product", "binary", "turboquant"])
def test_a_quantization_that_loses_hits_is_refused_where_it_is_used(kind: str) -> None:
    """Anything but int8 is named, of the collection or of the vector; exact search ignores it."""
    ours, own = existing(), existing()
    getattr(ours.config.quantization_config, kind).SetInParent()
    getattr(vector_of(own).quantization_config, kind).SetInParent()
    for info in (ours, own):
        assert kind in faults.of_collection(info, 4, exact=False)
        assert faults.of_collection(info, 4, exact=True) == ""


def test_no_quantization_is_no_fault() -> None:
    """Full vectors alone give the same hits."""
    info = existing()
    info.config.ClearField("quantization_config")
    assert faults.of_collection(info, 4, exact=False) == ""


@pytest.mark.parametrize("field", schema.payload_indexes())
def test_each_absent_or_wrong_index_is_named(field: str) -> None:
    """A payload field without index, or with another type's, is a fault once there are points."""
    absent, wrong = existing(), existing()
    del absent.payload_schema[field]
    wrong.payload_schema[field].data_type = qdrant.PayloadSchemaType.Text
    for info in (absent, wrong):
        assert faults.missing_indexes(info) == [field]
        assert f"payload index of {field}" in faults.of_collection(info, 4, exact=True)
        info.points_count = 0
        assert faults.of_collection(info, 4, exact=True) == ""


def test_a_strict_mode_that_forbids_our_searches_is_named() -> None:
    """Only when it is on, and only for searches that are exact."""
    info = existing()
    info.config.strict_mode_config.search_allow_exact = False
    assert faults.of_collection(info, 4, exact=True) == ""
    info.config.strict_mode_config.enabled = True
    assert "strict mode" in faults.of_collection(info, 4, exact=True)
    assert faults.of_collection(info, 4, exact=False) == ""


def test_settings_that_are_only_slow_are_told() -> None:
    """No graph, a graph or vectors on the disk, and an int8 copy that is not kept in memory."""
    no_graph, disk_graph, disk_vectors, loose = existing(), existing(), existing(), existing()
    no_graph.config.hnsw_config.m = 0
    disk_graph.config.hnsw_config.on_disk = True
    disk_vectors.config.ClearField("quantization_config")
    vector_of(disk_vectors).on_disk = True
    loose.config.quantization_config.scalar.always_ram = False
    for info, named in (
        (no_graph, "m is 0"),
        (disk_graph, "hnsw_config.on_disk"),
        (disk_vectors, "without an int8 copy"),
        (loose, "always_ram is off"),
    ):
        assert faults.of_collection(info, 4, exact=False) == ""
        [told] = faults.slow_settings(info, exact=False)
        assert named in told
        assert list(faults.slow_settings(info, exact=True)) == []
