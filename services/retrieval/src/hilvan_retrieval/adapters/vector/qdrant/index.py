"""`VectorIndex` over Qdrant's gRPC API."""

from collections.abc import Sequence
from typing import Any, Self

import grpc
import structlog

from hilvan_retrieval.adapters.engine_time import ENGINE_SECONDS
from hilvan_retrieval.adapters.vector.qdrant import faults, schema
from hilvan_retrieval.adapters.vector.qdrant.codec import Codec, ranked
from hilvan_retrieval.adapters.vector.qdrant.connection import Connection, status
from hilvan_retrieval.adapters.vector.qdrant.stubs import qdrant
from hilvan_retrieval.errors import EngineMisconfigured, SourceError, SourceUnavailable
from hilvan_retrieval.model.entry import Uid
from hilvan_retrieval.model.index import Hit, IndexDocument, IndexState, VectorQuery

_BATCH = 128
"""Points of one write: about 20 ms of the local engine, which answers no search meanwhile."""

_MARGIN = 8
"""Points asked beyond a query's limit, so that most ties at the cut are seen whole at once."""

_DEEPEST = 10_000
"""Where looking for the end of a tie stops; beyond it the engine decides which equals come."""

_PAGE = 1_000
"""Points of one page of revisions, about 100 kB."""

_IN_ORDER = qdrant.WriteOrdering(type=qdrant.WriteOrderingType.Strong)
"""A cluster's replicas apply writes in one order, or a late upsert would undo a delete."""

_log = structlog.get_logger(__name__)


class QdrantIndex:
    """One collection of a Qdrant server, cluster or local engine process.

    Searches are exact, or (``exact=False``, for large servers) walk an HNSW graph over int8
    vectors and rescore with the full ones. The answer is one round trip; only when more than
    eight documents tie at a query's limit is that query asked again, deeper.
    """

    def __init__(
        self,
        connection: Connection,
        dimensions: int,
        collection: str,
        *,
        exact: bool,
        timeout: float,
        write_timeout: float,
    ) -> None:
        """Take over an open connection; `connect` makes one."""
        self._connection = connection
        self._dimensions = dimensions
        self._collection = collection
        self._exact = exact
        self._codec = Codec(collection, dimensions, exact=exact)
        self._timeout = timeout
        self._write_timeout = write_timeout

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
        ca: bytes = b"",
        key_in_clear: bool = False,
        timeout: float = 1.0,
        write_timeout: float = 30.0,
    ) -> Self:
        """Open a channel inside the running loop; nothing is sent yet.

        Args:
            target: a gRPC address, such as ``qdrant:6334`` or ``unix:/run/engine.sock``.
            dimensions: length of every vector.
            collection: its name in Qdrant.
            exact: compare with every allowed vector instead of walking a graph.
            api_key: sent with every call when not empty.
            tls: encrypt.
            ca: certificates in PEM to trust instead of the system's authorities.
            key_in_clear: allow ``api_key`` without ``tls`` to another host.
            timeout: seconds that a search or ping may take when its caller does not end it.
            write_timeout: seconds for each batch of a write, and for each step of `ensure`.

        Raises:
            EngineMisconfigured: the key would cross a network unencrypted.
        """
        connection = Connection.open(target, api_key, tls=tls, ca=ca, key_in_clear=key_in_clear)
        return cls(
            connection,
            dimensions,
            collection,
            exact=exact,
            timeout=timeout,
            write_timeout=write_timeout,
        )

    async def ensure(self) -> bool:
        """Create the collection and its payload indexes when absent; check them when present.

        Returns:
            Whether it had to make the collection, which then wants to be filled.

        Raises:
            EngineMisconfigured: the server is too old, is no Qdrant or refuses the key, or the
                collection is there with other settings; the message names the fix.
            SourceTimeout: the engine did not answer in time.
            SourceUnavailable: the engine refused or is gone.
        """
        server = self._connection
        health = await self._set_up(server.service.HealthCheck, qdrant.HealthCheckRequest())
        if fault := faults.of_version(health):
            raise EngineMisconfigured(fault)
        is_new = not await self._exists()
        if is_new:
            await self._create()
        request = qdrant.GetCollectionInfoRequest(collection_name=self._collection)
        info = (await self._set_up(server.collections.Get, request)).result
        if fault := faults.of_collection(info, self._dimensions, exact=self._exact):
            raise EngineMisconfigured(f"Qdrant collection {self._collection!r}: {fault}")
        for slow in faults.slow_settings(info, exact=self._exact):
            _log.warning("Qdrant collection will be slow", collection=self._collection, why=slow)
        for field in faults.missing_indexes(info):
            params = schema.payload_indexes()[field]
            index = schema.index_creation(self._collection, field, params)
            await self._set_up(server.points.CreateFieldIndex, index)
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
            response = await self._call(self._connection.points.QueryBatch, request)
            ENGINE_SECONDS.labels("qdrant").observe(response.time)
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
                collection_name=self._collection,
                wait=True,
                points=points[start : start + _BATCH],
                ordering=_IN_ORDER,
            )
            await self._write(self._connection.points.Upsert, request)

    async def delete(self, uids: Sequence[Uid]) -> None:
        """Remove points by id."""
        if not uids:
            return
        ids = qdrant.PointsIdsList(ids=[qdrant.PointId(uuid=uid) for uid in uids])
        request = qdrant.DeletePoints(
            collection_name=self._collection,
            wait=True,
            points=qdrant.PointsSelector(points=ids),
            ordering=_IN_ORDER,
        )
        await self._write(self._connection.points.Delete, request)

    async def revisions(self, bucket: str) -> dict[Uid, int]:
        """Read a bucket in pages; a point without a revision has 0."""
        revisions: dict[Uid, int] = {}
        offset: qdrant.PointId | None = None
        while True:
            request = self._codec.scroll(bucket, offset, _PAGE)
            page = await self._patiently(self._connection.points.Scroll, request)
            for point in page.result:
                revisions[Uid(point.id.uuid)] = point.payload["revision"].integer_value
            if not page.HasField("next_page_offset"):
                return revisions
            offset = page.next_page_offset

    async def state(self) -> IndexState:
        """Count exactly; the engine is named with its version."""
        request = qdrant.CountPoints(collection_name=self._collection, exact=True)
        count = await self._patiently(self._connection.points.Count, request)
        health = qdrant.HealthCheckRequest()
        reply = await self._call(self._connection.service.HealthCheck, health)
        name = reply.title.partition(" ")[0]
        return IndexState(f"{name} {reply.version}", count.result.count)

    async def ping(self) -> None:
        """Ask for the collection: an engine without it can't serve."""
        request = qdrant.CollectionExistsRequest(collection_name=self._collection)
        try:
            response = await self._call(self._connection.collections.CollectionExists, request)
        except SourceError as error:
            raise SourceUnavailable(str(error)) from error
        if not response.result.exists:
            raise SourceUnavailable(f"Qdrant has no collection {self._collection!r}")

    async def drop(self) -> None:
        """Remove the collection with everything in it; one that is gone already is no error."""
        request = qdrant.DeleteCollection(collection_name=self._collection)
        await self._patiently(self._connection.collections.Delete, request)

    async def close(self) -> None:
        """Close the channel."""
        await self._connection.close()

    async def _exists(self) -> bool:
        request = qdrant.CollectionExistsRequest(collection_name=self._collection)
        response = await self._set_up(self._connection.collections.CollectionExists, request)
        return bool(response.result.exists)

    async def _create(self) -> None:
        request = schema.creation(self._collection, self._dimensions, exact=self._exact)
        try:
            await self._set_up(self._connection.collections.Create, request)
        except SourceUnavailable:
            if not await self._exists():  # unless another replica was faster
                raise

    async def _write(self, method: Any, request: Any) -> None:
        try:
            response = await self._patiently(method, request)
        except SourceUnavailable as error:
            if status(error) is grpc.StatusCode.INVALID_ARGUMENT:
                raise ValueError(f"Qdrant refused points: {error}") from error
            raise
        if response.result.status != qdrant.UpdateStatus.Completed:
            name = qdrant.UpdateStatus.Name(response.result.status)
            raise SourceUnavailable(f"Qdrant answered a write with {name}")

    async def _call(self, method: Any, request: Any) -> Any:
        return await self._connection.call(method, request, self._timeout)

    async def _patiently(self, method: Any, request: Any) -> Any:
        return await self._connection.call(method, request, self._write_timeout)

    async def _set_up(self, method: Any, request: Any) -> Any:
        return await self._connection.set_up(method, request, self._write_timeout)
