"""The part of Qdrant's gRPC API that Hilvan uses, over a `Store`."""

import hmac
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import grpc
import qdrant_edge as engine
from google.protobuf.message import Message

from hilvan_retrieval.adapters.vector.edge import translate
from hilvan_retrieval.adapters.vector.edge.store import CollectionExists, CollectionNotFound, Store
from hilvan_retrieval.adapters.vector.qdrant.faults import LOCAL_ENGINE
from hilvan_retrieval.adapters.vector.qdrant.stubs import qdrant

Answer: TypeAlias = Message | bytes
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"  # generic in the stubs only

OPTIONS = (
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    ("grpc.http2.max_ping_strikes", 0),  # clients watch a connection more often than grpc likes
    ("grpc.so_reuseport", 0),  # two processes on one address would share it silently
)

_UNIMPLEMENTED = grpc.StatusCode.UNIMPLEMENTED

_CODES = {
    CollectionNotFound: grpc.StatusCode.NOT_FOUND,
    CollectionExists: grpc.StatusCode.ALREADY_EXISTS,
    translate.Unsupported: _UNIMPLEMENTED,
    ValueError: grpc.StatusCode.INVALID_ARGUMENT,
}


class Engine:
    """Answers one message with one message; each call runs alone, for as long as it takes."""

    def __init__(self, store: Store, version: str) -> None:
        """Serve a store."""
        self._store = store
        self._version = version

    def upsert(self, request: qdrant.UpsertPoints) -> qdrant.PointsOperationResponse:
        """Add or replace points, durably."""
        points = translate.points(request)
        operation = engine.UpdateOperation.upsert_points(points)
        return self._update(request.collection_name, operation, len(points))

    def delete(self, request: qdrant.DeletePoints) -> qdrant.PointsOperationResponse:
        """Remove points by id, durably."""
        ids = translate.point_ids(request)
        operation = engine.UpdateOperation.delete_points(ids)
        return self._update(request.collection_name, operation, len(ids))

    def create_field_index(
        self, request: qdrant.CreateFieldIndexCollection
    ) -> qdrant.PointsOperationResponse:
        """Index a payload field."""
        return self._update(request.collection_name, translate.field_index(request), 1)

    def query_batch(self, request: qdrant.QueryBatchPoints) -> bytes:
        """Answer all queries as one batch of the engine."""
        translate.require_only(request, "collection_name", "query_points")
        start = time.perf_counter()
        queries = [translate.query(query) for query in request.query_points]
        shard = self._store[request.collection_name].shard
        results = shard.query_batch(engine.QueryBatchRequest(queries))
        return translate.answers(results, time.perf_counter() - start)

    def scroll(self, request: qdrant.ScrollPoints) -> qdrant.ScrollResponse:
        """Read a page of points by rising id."""
        start = time.perf_counter()
        asked = translate.scroll(request)
        points, following = self._store[request.collection_name].shard.scroll(asked)
        return translate.page(points, following, time.perf_counter() - start)

    def count(self, request: qdrant.CountPoints) -> qdrant.CountResponse:
        """Count all points."""
        translate.require_only(request, "collection_name", "exact")
        shard = self._store[request.collection_name].shard
        count = shard.count(engine.CountRequest(exact=True))
        return qdrant.CountResponse(result=qdrant.CountResult(count=count))

    def create(self, request: qdrant.CreateCollection) -> qdrant.CollectionOperationResponse:
        """Make a collection."""
        vectors = translate.vectors(request)
        self._store.create(request.collection_name, vectors, request.SerializeToString())
        return qdrant.CollectionOperationResponse(result=True)

    def drop(self, request: qdrant.DeleteCollection) -> qdrant.CollectionOperationResponse:
        """Remove a collection; false when there is none, as a server has it."""
        if is_there := request.collection_name in self._store:
            self._store.delete(request.collection_name)
        return qdrant.CollectionOperationResponse(result=is_there)

    def exists(self, request: qdrant.CollectionExistsRequest) -> qdrant.CollectionExistsResponse:
        """Tell whether a collection is there."""
        exists = request.collection_name in self._store
        return qdrant.CollectionExistsResponse(result=qdrant.CollectionExists(exists=exists))

    def names(self, _: qdrant.ListCollectionsRequest) -> qdrant.ListCollectionsResponse:
        """List the collections."""
        names = (qdrant.CollectionDescription(name=name) for name in self._store.names)
        return qdrant.ListCollectionsResponse(collections=names)

    def info(self, request: qdrant.GetCollectionInfoRequest) -> qdrant.GetCollectionInfoResponse:
        """Describe a collection: vectors, payload indexes and size."""
        collection = self._store[request.collection_name]
        state = collection.shard.info()
        result = qdrant.CollectionInfo(
            status=qdrant.CollectionStatus.Green, points_count=state.points_count
        )
        created = qdrant.CreateCollection.FromString(collection.created)
        result.config.params.vectors_config.CopyFrom(created.vectors_config)
        result.config.hnsw_config.CopyFrom(created.hnsw_config)
        if created.HasField("quantization_config"):
            result.config.quantization_config.CopyFrom(created.quantization_config)
        for field, index in state.payload_schema.items():
            kind = str(index.data_type).rpartition(".")[2]
            result.payload_schema[field].data_type = qdrant.PayloadSchemaType.Value(kind)
        return qdrant.GetCollectionInfoResponse(result=result)

    def health(self, _: qdrant.HealthCheckRequest) -> qdrant.HealthCheckReply:
        """Say who answers."""
        return qdrant.HealthCheckReply(title=LOCAL_ENGINE, version=self._version)

    def _update(
        self, name: str, operation: engine.UpdateOperation, points: int
    ) -> qdrant.PointsOperationResponse:
        self._store[name].update(operation, points, time.monotonic())
        done = qdrant.UpdateResult(status=qdrant.UpdateStatus.Completed)
        return qdrant.PointsOperationResponse(result=done)


class Methods(grpc.GenericRpcHandler):
    """The served methods by their full names; any other is refused in words."""

    def __init__(self, served: Engine, api_key: str = "") -> None:
        """Make a handler for each method; with a key, for calls that carry it only."""
        self._api_key = api_key.encode()
        self._handlers = {
            f"/qdrant.{name}": grpc.unary_unary_rpc_method_handler(
                _guarded(answer),
                request_deserializer=request.FromString,
                response_serializer=_serialized,
            )
            for name, request, answer in (
                ("Points/Upsert", qdrant.UpsertPoints, served.upsert),
                ("Points/Delete", qdrant.DeletePoints, served.delete),
                ("Points/QueryBatch", qdrant.QueryBatchPoints, served.query_batch),
                ("Points/Scroll", qdrant.ScrollPoints, served.scroll),
                ("Points/Count", qdrant.CountPoints, served.count),
                (
                    "Points/CreateFieldIndex",
                    qdrant.CreateFieldIndexCollection,
                    served.create_field_index,
                ),
                ("Collections/Create", qdrant.CreateCollection, served.create),
                ("Collections/Delete", qdrant.DeleteCollection, served.drop),
                ("Collections/Get", qdrant.GetCollectionInfoRequest, served.info),
                ("Collections/List", qdrant.ListCollectionsRequest, served.names),
                ("Collections/CollectionExists", qdrant.CollectionExistsRequest, served.exists),
                ("Qdrant/HealthCheck", qdrant.HealthCheckRequest, served.health),
            )
        }

    def service(self, call: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[Any, Any]":
        """Find the handler of a call."""
        carried = dict(call.invocation_metadata).get("api-key", "")
        if self._api_key and not hmac.compare_digest(str(carried).encode(), self._api_key):
            refused = _refused(grpc.StatusCode.UNAUTHENTICATED, "Invalid API key or JWT")
            return grpc.unary_unary_rpc_method_handler(refused)
        if handler := self._handlers.get(call.method):
            return handler
        words = f"the local engine does not serve {call.method}"
        return grpc.unary_unary_rpc_method_handler(_refused(_UNIMPLEMENTED, words))


def _serialized(answer: Answer) -> bytes:
    return answer if isinstance(answer, bytes) else answer.SerializeToString()


def _guarded(answer: Callable[[Any], Answer]) -> Any:
    async def handle(request: Any, context: _Context) -> Answer:
        if context.time_remaining() == 0:  # waited behind others until its caller gave up
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "too late to start")
        try:
            return answer(request)
        except Exception as error:  # noqa: BLE001 - the engine raises nothing narrower
            code = _CODES.get(type(error), grpc.StatusCode.INTERNAL)
            served = "the local engine does not serve " if code is _UNIMPLEMENTED else ""
            await context.abort(code, f"{served}{error}")

    return handle


def _refused(code: grpc.StatusCode, words: str) -> Any:
    async def handle(_: bytes, context: _Context) -> None:
        await context.abort(code, words)

    return handle
