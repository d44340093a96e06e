"""`VectorIndex` over Qdrant's gRPC API."""

from collections.abc import Sequence
from typing import Any, Self

import grpc

from hilvan_retrieval.adapters.qdrant import schema
from hilvan_retrieval.adapters.qdrant.codec import Codec, ranked
from hilvan_retrieval.adapters.qdrant.stubs import qdrant
from hilvan_retrieval.errors import (
    EngineMisconfigured,
    SourceError,
    SourceTimeout,
    SourceUnavailable,
)
from hilvan_retrieval.model import Hit, IndexDocument, IndexState, Uid, VectorQuery

_BATCH = 128
"""Points of one write: about 20 ms of the local engine, which answers no search meanwhile."""

_MARGIN = 8
"""Points asked beyond a query's limit, so that most ties at the cut are seen whole at once."""

_DEEPEST = 10_000
"""Where looking for the end of a tie stops; beyond it the engine decides which equals come."""

_PAGE = 1_000
"""Points of one page of revisions, about 100 kB."""

_INVALID = grpc.StatusCode.INVALID_ARGUMENT

_CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # A restarted engine is found again within a second; the defaults wait up to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)


class QdrantIndex:
    """One collection of a Qdrant server, cluster or local engine process.

    Searches are exact, or (``exact=False``, for large servers) walk an HNSW graph over int8
    vectors and rescore with the full ones. The answer is one round trip; only when more than
    eight documents tie at a query's limit is that query asked again, deeper.
    """

    def __init__(
        self,
        channel: grpc.aio.Channel,
        dimensions: int,
        collection: str,
        *,
        exact: bool,
        api_key: str,
        timeout: float,
        write_timeout: float,
    ) -> None:
        """Take over an open channel; `connect` makes one."""
        self._channel = channel
        self._dimensions = dimensions
        self._collection = collection
        self._exact = exact
        self._codec = Codec(collection, dimensions, exact=exact)
        self._metadata = (("api-key", api_key),) if api_key else None
        self._timeout = timeout
        self._write_timeout = write_timeout
        # The generated stubs carry no types, their messages do.
        self._points: Any = qdrant.PointsStub(channel)  # type: ignore[no-untyped-call]
        self._collections: Any = qdrant.CollectionsStub(channel)  # type: ignore[no-untyped-call]
        self._service: Any = qdrant.QdrantStub(channel)  # type: ignore[no-untyped-call]

    @classmethod
    def connect(
        cls,
        target: str,
        dimensions: int,
        collection: str = "hilvan",
        *,
        exact: bool = True,
        api_key: str = "",
        tls: bool = False,
        timeout: float = 1.0,
        write_timeout: float = 30.0,
    ) -> Self:
        """Open a channel inside the running loop; nothing is sent yet.

        Args:
            target: a gRPC address, such as ``qdrant:6334`` or ``unix:/run/engine.sock``.
            dimensions: length of every vector.
            collection: its name in Qdrant.
            exact: compare with every allowed vector instead of walking a graph.
            api_key: sent with every call when not empty; use it with ``tls`` only.
            tls: encrypt, trusting the system's authorities.
            timeout: seconds that a search or ping may take when its caller does not end it.
            write_timeout: seconds for each batch of a write, and for each step of `ensure`.
        """
        if tls:
            credentials = grpc.ssl_channel_credentials()
            channel = grpc.aio.secure_channel(target, credentials, _CHANNEL_OPTIONS)
        else:
            channel = grpc.aio.insecure_channel(target, _CHANNEL_OPTIONS)
        return cls(
            channel,
            dimensions,
            collection,
            exact=exact,
            api_key=api_key,
            timeout=timeout,
            write_timeout=write_timeout,
        )

    async def ensure(self) -> bool:
        """Create the collection and its payload indexes when absent; check them when present.

        Returns:
            Whether it had to make the collection, which then wants to be filled.

        Raises:
            EngineMisconfigured: it exists with another metric, size or without an index.
            SourceTimeout: the engine did not answer in time.
            SourceUnavailable: the engine refused or is gone.
        """
        is_new = not await self._exists(self._write_timeout)
        if is_new:
            await self._create()
        request = qdrant.GetCollectionInfoRequest(collection_name=self._collection)
        response = await self._call(self._collections.Get, request, self._write_timeout)
        info = response.result
        if fault := schema.vector_fault(info, self._dimensions):
            raise EngineMisconfigured(
                f"Qdrant collection {self._collection!r} can't be used: {fault}. "
                "Name another collection, or delete this one, and run `hilvan reindex`."
            )
        missing = schema.missing_indexes(info)
        if missing and info.points_count:
            raise EngineMisconfigured(
                f"Qdrant collection {self._collection!r} lacks the payload index of "
                f"{', '.join(missing)}. Indexes come before points: delete the collection, or "
                "name another one, and run `hilvan reindex`."
            )
        for field in missing:
            params = schema.payload_indexes()[field]
            index = schema.index_creation(self._collection, field, params)
            await self._call(self._points.CreateFieldIndex, index, self._write_timeout)
        return is_new

    async def search(self, queries: Sequence[VectorQuery]) -> list[list[Hit]]:
        """Answer all queries in one `QueryBatch`."""
        answers: list[list[Hit]] = [[] for _ in queries]
        depths = {
            position: query.limit + _MARGIN
            for position, query in enumerate(queries)
            if query.limit > 0 and query.filter.owners
        }
        while depths:
            request = qdrant.QueryBatchPoints(
                collection_name=self._collection,
                query_points=[self._codec.query(queries[p], depth) for p, depth in depths.items()],
            )
            response = await self._call(self._points.QueryBatch, request, self._timeout)
            deeper = {}
            for (position, depth), batch in zip(depths.items(), response.result, strict=True):
                rows, limit = ranked(batch.result), queries[position].limit
                answers[position] = [Hit(Uid(uid), -minus) for minus, uid in rows[:limit]]
                if len(rows) == depth < _DEEPEST and rows[limit - 1][0] == rows[-1][0]:
                    deeper[position] = depth * 4
            depths = deeper
        return answers

    async def upsert(self, documents: Sequence[IndexDocument]) -> None:
        """Write in batches, each durable before the next; ValueError for what can't be a point."""
        points = [self._codec.point(document) for document in documents]
        for start in range(0, len(points), _BATCH):
            request = qdrant.UpsertPoints(
                collection_name=self._collection, wait=True, points=points[start : start + _BATCH]
            )
            await self._write(self._points.Upsert, request)

    async def delete(self, uids: Sequence[Uid]) -> None:
        """Remove points by id."""
        if not uids:
            return
        ids = qdrant.PointsIdsList(ids=[qdrant.PointId(uuid=uid) for uid in uids])
        request = qdrant.DeletePoints(
            collection_name=self._collection, wait=True, points=qdrant.PointsSelector(points=ids)
        )
        await self._write(self._points.Delete, request)

    async def revisions(self, bucket: str) -> dict[Uid, int]:
        """Read a bucket in pages; a point without a revision has 0."""
        revisions: dict[Uid, int] = {}
        offset: qdrant.PointId | None = None
        while True:
            request = self._codec.scroll(bucket, offset, _PAGE)
            page = await self._call(self._points.Scroll, request, self._write_timeout)
            for point in page.result:
                revisions[Uid(point.id.uuid)] = point.payload["revision"].integer_value
            if not page.HasField("next_page_offset"):
                return revisions
            offset = page.next_page_offset

    async def state(self) -> IndexState:
        """Count exactly; the engine is named with its version."""
        request = qdrant.CountPoints(collection_name=self._collection, exact=True)
        count = await self._call(self._points.Count, request, self._write_timeout)
        health = qdrant.HealthCheckRequest()
        reply = await self._call(self._service.HealthCheck, health, self._timeout)
        name = reply.title.partition(" ")[0]
        return IndexState(f"{name} {reply.version}", count.result.count)

    async def ping(self) -> None:
        """Ask for the collection: an engine without it can't serve."""
        try:
            exists = await self._exists(self._timeout)
        except SourceError as error:
            raise SourceUnavailable(str(error)) from error
        if not exists:
            raise SourceUnavailable(f"Qdrant has no collection {self._collection!r}")

    async def drop(self) -> None:
        """Remove the collection with everything in it; one that is gone already is no error."""
        request = qdrant.DeleteCollection(collection_name=self._collection)
        await self._call(self._collections.Delete, request, self._write_timeout)

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close()

    async def _exists(self, seconds: float) -> bool:
        request = qdrant.CollectionExistsRequest(collection_name=self._collection)
        response = await self._call(self._collections.CollectionExists, request, seconds)
        return bool(response.result.exists)

    async def _create(self) -> None:
        request = schema.creation(self._collection, self._dimensions, exact=self._exact)
        try:
            await self._call(self._collections.Create, request, self._write_timeout)
        except SourceUnavailable:
            if not await self._exists(self._write_timeout):  # unless another replica was faster
                raise

    async def _write(self, method: Any, request: Any) -> None:
        try:
            response = await self._call(method, request, self._write_timeout)
        except SourceUnavailable as error:
            cause = error.__cause__
            if isinstance(cause, grpc.aio.AioRpcError) and cause.code() is _INVALID:
                raise ValueError(f"Qdrant refused points: {cause.details()}") from cause
            raise
        if response.result.status != qdrant.UpdateStatus.Completed:
            status = qdrant.UpdateStatus.Name(response.result.status)
            raise SourceUnavailable(f"Qdrant answered a write with {status}")

    async def _call(self, method: Any, request: Any, seconds: float) -> Any:
        try:
            return await method(request, timeout=seconds, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            fault = f"Qdrant answered {error.code().name}: {error.details()}"
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                raise SourceTimeout(fault) from error
            raise SourceUnavailable(fault) from error
        except grpc.aio.UsageError as error:
            raise SourceUnavailable("the connection to Qdrant is closed") from error
