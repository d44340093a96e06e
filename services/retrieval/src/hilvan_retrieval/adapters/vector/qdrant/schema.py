"""The collection that Hilvan keeps in Qdrant."""

from collections.abc import Mapping

from hilvan_retrieval.adapters.vector.qdrant.codec import VECTOR
from hilvan_retrieval.adapters.vector.qdrant.stubs import qdrant


def _keyword(*, is_tenant: bool = False, enable_hnsw: bool = True) -> qdrant.PayloadIndexParams:
    params = qdrant.KeywordIndexParams(is_tenant=is_tenant, enable_hnsw=enable_hnsw)
    return qdrant.PayloadIndexParams(keyword_index_params=params)


def _integer() -> qdrant.PayloadIndexParams:
    params = qdrant.IntegerIndexParams(lookup=False, range=True)
    return qdrant.PayloadIndexParams(integer_index_params=params)


def payload_indexes() -> Mapping[str, qdrant.PayloadIndexParams]:
    """The indexed fields. All exist before the first point, or a graph would ignore them.

    ``scope`` is tenant, layer and owner in one keyword: one condition instead of three made
    filtered search 1.3-1.5 times faster. ``tenant`` is there so that a server keeps each
    tenant's points together on disk, ``topic`` joins owner and category for mutes,
    ``bucket`` is for `revisions`.
    """
    return {
        "tenant": _keyword(is_tenant=True),
        "scope": _keyword(),
        "category": _keyword(),
        "topic": _keyword(),
        "tags": _keyword(),
        "bucket": _keyword(enable_hnsw=False),  # no search asks for it
        "live_from": _integer(),
        "live_until": _integer(),
    }


def creation(collection: str, dimensions: int, *, exact: bool) -> qdrant.CreateCollection:
    """Ask for the collection; one that is searched exactly needs no graph and no int8 copy."""
    vector = qdrant.VectorParams(size=dimensions, distance=qdrant.Distance.Cosine)
    request = qdrant.CreateCollection(
        collection_name=collection,
        vectors_config=qdrant.VectorsConfig(
            params_map=qdrant.VectorParamsMap(map={VECTOR: vector})
        ),
    )
    if exact:
        request.hnsw_config.m = 0
    else:
        request.quantization_config.scalar.type = qdrant.QuantizationType.Int8
        request.quantization_config.scalar.always_ram = True
    return request


def index_creation(
    collection: str, field: str, params: qdrant.PayloadIndexParams
) -> qdrant.CreateFieldIndexCollection:
    """Ask for the index of one payload field."""
    is_keyword = params.HasField("keyword_index_params")
    kind = qdrant.FieldType.FieldTypeKeyword if is_keyword else qdrant.FieldType.FieldTypeInteger
    return qdrant.CreateFieldIndexCollection(
        collection_name=collection,
        wait=True,
        field_name=field,
        field_type=kind,
        field_index_params=params,
    )
