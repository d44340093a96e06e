"""Retrieval's values as Qdrant's messages."""

import math
from collections.abc import Iterable

from hilvan_retrieval.adapters.vector.qdrant.stubs import qdrant
from hilvan_retrieval.model.embedding import Vector
from hilvan_retrieval.model.index import Filter, IndexDocument, VectorQuery

VECTOR = "dense"
"""The name of the one vector of a point."""

HNSW_EF = 128
"""Candidates that a server's graph search keeps (its default is 100)."""

OVERSAMPLING = 2.0
"""Candidates that are read quantised for each one that is rescored with its full vector."""


def term(*parts: str) -> str:
    """Join parts into one keyword; different parts never give the same keyword."""
    return "|".join(f"{len(part)}:{part}" for part in parts)


class Codec:
    """Messages for one collection and one vector size."""

    def __init__(self, collection: str, dimensions: int, *, exact: bool) -> None:
        """Prepare what all messages share."""
        self._collection = collection
        self._dimensions = dimensions
        self._params = _search_params(exact=exact)
        zeros = qdrant.DenseVector(data=[0.0] * dimensions)
        named = qdrant.NamedVectors(vectors={VECTOR: qdrant.Vector(dense=zeros)})
        nearest = qdrant.VectorInput(dense=zeros)
        # A vector is the end of both messages. What stands before it depends on the size alone:
        # with that prefix a message is parsed from raw bytes, 2 µs where a list of 384 takes 13.
        self._vectors_head = self._head(qdrant.Vectors(vectors=named).SerializeToString())
        self._query_head = self._head(qdrant.Query(nearest=nearest).SerializeToString())

    def point(self, document: IndexDocument) -> qdrant.PointStruct:
        """Encode a document; ValueError for a vector absent, of another size or not finite."""
        payload = {
            "tenant": _text(document.tenant),
            "scope": _text(term(document.tenant, document.layer, document.owner)),
            "category": _text(document.category),
            "topic": _text(term(document.owner, document.category)),
            "live_from": qdrant.Value(integer_value=document.live_from_ms),
            "live_until": qdrant.Value(integer_value=document.live_until_ms),
            "bucket": _text(document.bucket),
            "revision": qdrant.Value(integer_value=document.revision),
        }
        if document.tags:
            tags = qdrant.ListValue(values=[_text(tag) for tag in document.tags])
            payload["tags"] = qdrant.Value(list_value=tags)
        return qdrant.PointStruct(
            id=qdrant.PointId(uuid=document.uid),
            payload=payload,
            vectors=qdrant.Vectors.FromString(
                self._vectors_head + self._packed(document.vector, document.uid)
            ),
        )

    def query(self, query: VectorQuery, depth: int) -> qdrant.QueryPoints:
        """Encode a query for its ``depth`` best points, ids and scores only."""
        return qdrant.QueryPoints(
            collection_name=self._collection,
            query=qdrant.Query.FromString(self._query_head + self._packed(query.vector, "query")),
            using=VECTOR,
            filter=conditions(query.filter),
            params=self._params,
            limit=depth,
            with_payload=qdrant.WithPayloadSelector(enable=False),
            with_vectors=qdrant.WithVectorsSelector(enable=False),
        )

    def scroll(self, bucket: str, offset: qdrant.PointId | None, limit: int) -> qdrant.ScrollPoints:
        """Encode the question for the revisions of a bucket, from ``offset`` on by rising id."""
        only_revision = qdrant.PayloadIncludeSelector(fields=["revision"])
        return qdrant.ScrollPoints(
            collection_name=self._collection,
            filter=qdrant.Filter(must=[_any_of("bucket", [bucket])]),
            offset=offset,
            limit=limit,
            with_payload=qdrant.WithPayloadSelector(include=only_revision),
            with_vectors=qdrant.WithVectorsSelector(enable=False),
        )

    def _packed(self, vector: Vector | None, whose: str) -> bytes:
        if vector is None or vector.shape != (self._dimensions,):
            shape = None if vector is None else vector.shape
            raise ValueError(f"vector of {whose}: shape {shape}, not ({self._dimensions},)")
        if not math.isfinite(vector.sum()):  # a sum is finite only when every part is
            raise ValueError(f"vector of {whose}: not finite")
        return vector.astype("<f4", copy=False).tobytes()

    def _head(self, message: bytes) -> bytes:
        return message[: -4 * self._dimensions]


def conditions(wanted: Filter) -> qdrant.Filter:
    """Encode a filter; a filter without owners must not be asked, it matches nothing."""
    scopes = (term(wanted.tenant, wanted.layer, owner) for owner in sorted(wanted.owners))
    must = [_any_of("scope", scopes)]
    if wanted.as_of_ms is not None:
        must.append(_range("live_from", qdrant.Range(lte=wanted.as_of_ms)))
        must.append(_range("live_until", qdrant.Range(gt=wanted.as_of_ms)))
    if wanted.categories:
        must.append(_any_of("category", sorted(wanted.categories)))
    if wanted.tags:
        must.append(_any_of("tags", sorted(wanted.tags)))
    must_not = []
    if wanted.muted:
        must_not.append(_any_of("topic", (term(*pair) for pair in sorted(wanted.muted))))
    if wanted.excluded:
        ids = [qdrant.PointId(uuid=uid) for uid in sorted(wanted.excluded)]
        must_not.append(qdrant.Condition(has_id=qdrant.HasIdCondition(has_id=ids)))
    return qdrant.Filter(must=must, must_not=must_not)


def ranked(points: Iterable[qdrant.ScoredPoint]) -> list[tuple[float, str]]:
    """Decode scored points as (−cosine, uid), in rising order: the nearest first, ties by uid."""
    # Rounding puts the cosine of a vector with itself a hair beyond 1; no score leaves −1..1.
    return sorted((-max(-1.0, min(1.0, point.score)), point.id.uuid) for point in points)


def _search_params(*, exact: bool) -> qdrant.SearchParams:
    if exact:
        return qdrant.SearchParams(exact=True)
    rescored = qdrant.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
    return qdrant.SearchParams(hnsw_ef=HNSW_EF, quantization=rescored)


def _text(value: str) -> qdrant.Value:
    return qdrant.Value(string_value=value)


def _any_of(key: str, values: Iterable[str]) -> qdrant.Condition:
    match = qdrant.Match(keywords=qdrant.RepeatedStrings(strings=values))
    return qdrant.Condition(field=qdrant.FieldCondition(key=key, match=match))


def _range(key: str, bounds: qdrant.Range) -> qdrant.Condition:
    return qdrant.Condition(field=qdrant.FieldCondition(key=key, range=bounds))
