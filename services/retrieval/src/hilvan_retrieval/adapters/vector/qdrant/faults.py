"""What can be wrong with a Qdrant server or with a collection that is there already.

What would make answers wrong is a fault, and refused. What would only make them slow is told.
"""

from collections.abc import Iterator

from hilvan_retrieval.adapters.vector.qdrant.codec import VECTOR
from hilvan_retrieval.adapters.vector.qdrant.schema import payload_indexes
from hilvan_retrieval.adapters.vector.qdrant.stubs import qdrant

OLDEST = (1, 17, 1)
"""The oldest server: an older one ignores the parts of a message that it does not know."""

LOCAL_ENGINE = "qdrant-edge"
"""The title of the local engine process, whose version is that of its package."""

_FLOATS = (qdrant.Datatype.Default, qdrant.Datatype.Float32, qdrant.Datatype.Float16)
_ANOTHER = "Name another collection, or delete this one, and run `hilvan reindex`."


def of_version(health: qdrant.HealthCheckReply) -> str:
    """Say when a server is too old; "" for one that will do, and for the local engine."""
    oldest = ".".join(map(str, OLDEST))
    if health.title == LOCAL_ENGINE:
        return ""
    parts = health.version.partition("-")[0].split(".")
    if all(part.isdecimal() for part in parts) and tuple(map(int, parts)) >= OLDEST:
        return ""
    return f"Qdrant {health.version or 'of no version'} is older than {oldest}: upgrade the server."


def of_collection(info: qdrant.CollectionInfo, dimensions: int, *, exact: bool) -> str:
    """Say why the collection can't be used, and the fix; "" when it can."""
    if fault := _of_vectors(info, dimensions) or ("" if exact else _of_quantization(info)):
        return f"{fault}. {_ANOTHER}"
    if fault := _of_limits(info, exact=exact):
        return f"{fault} in its strict mode. Change that with Qdrant's UpdateCollection."
    missing = missing_indexes(info)
    if missing and info.points_count:
        return (
            f"it lacks the payload index of {', '.join(missing)}. OpenIndexes come before points: "
            "delete the collection, or name another one, and run `hilvan reindex`."
        )
    return ""


def missing_indexes(info: qdrant.CollectionInfo) -> list[str]:
    """Name the payload fields without the index that the filters need."""
    return [
        field
        for field, params in payload_indexes().items()
        if field not in info.payload_schema
        or info.payload_schema[field].data_type != _data_type(params)
    ]


def slow_settings(info: qdrant.CollectionInfo, *, exact: bool) -> Iterator[str]:
    """Name the settings that keep a search from its answer for tens of milliseconds."""
    if exact:
        return
    vector = info.config.params.vectors_config.params_map.map[VECTOR]
    graph = info.config.hnsw_config
    if graph.HasField("m") and not graph.m and not graph.payload_m:
        yield "hnsw_config.m is 0: every search compares with every allowed vector"
    if graph.on_disk or vector.hnsw_config.on_disk:
        yield "hnsw_config.on_disk: the graph is read from the disk"
    quantization = _quantization(info)
    if not quantization.HasField("scalar") and vector.on_disk:
        yield "vectors are on_disk without an int8 copy in memory"
    if quantization.HasField("scalar") and not quantization.scalar.always_ram:
        yield "quantization_config.scalar.always_ram is off: the int8 copy may be on the disk"


def _of_vectors(info: qdrant.CollectionInfo, dimensions: int) -> str:
    vectors = info.config.params.vectors_config.params_map.map
    if VECTOR not in vectors:
        return f"it has no vector named {VECTOR!r}"
    vector = vectors[VECTOR]
    if vector.distance != qdrant.Distance.Cosine:
        return f"its metric is {qdrant.Distance.Name(vector.distance)}, not Cosine"
    if vector.size != dimensions:
        return f"its vectors have {vector.size} dimensions, the embedding model's {dimensions}"
    if vector.datatype not in _FLOATS:
        return f"its vectors are kept as {qdrant.Datatype.Name(vector.datatype)}, not as floats"
    if vector.HasField("multivector_config"):
        return "it keeps several vectors a point"
    return ""


def _of_quantization(info: qdrant.CollectionInfo) -> str:
    kind = _quantization(info).WhichOneof("quantization")
    if kind in (None, "scalar"):
        return ""
    return f"its vectors are quantised as {kind}, which loses hits; int8 (scalar) or none is meant"


def _of_limits(info: qdrant.CollectionInfo, *, exact: bool) -> str:
    strict = info.config.strict_mode_config
    if not strict.enabled:
        return ""
    if exact and strict.HasField("search_allow_exact") and not strict.search_allow_exact:
        return "it forbids exact searches"
    return ""


def _quantization(info: qdrant.CollectionInfo) -> qdrant.QuantizationConfig:
    vector = info.config.params.vectors_config.params_map.map[VECTOR]
    own = vector.HasField("quantization_config")
    return vector.quantization_config if own else info.config.quantization_config


def _data_type(params: qdrant.PayloadIndexParams) -> "qdrant.PayloadSchemaType.ValueType":
    if params.HasField("keyword_index_params"):
        return qdrant.PayloadSchemaType.Keyword
    return qdrant.PayloadSchemaType.Integer
