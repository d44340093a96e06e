"""`KeywordIndex` over OpenSearch's REST API."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import orjson

from hilvan_retrieval.adapters.engine_time import ENGINE_SECONDS
from hilvan_retrieval.adapters.keyword.opensearch import codec, schema
from hilvan_retrieval.adapters.keyword.opensearch.answers import (
    asking,
    reading,
    refuse_failed,
    refuse_partial,
)
from hilvan_retrieval.adapters.keyword.opensearch.client import (
    NO_ACCESS,
    OWN_FAULTS,
    Client,
    Refused,
)
from hilvan_retrieval.adapters.keyword.opensearch.manager import Manager
from hilvan_retrieval.errors import EngineMisconfigured, SourceTimeout, SourceUnavailable
from hilvan_retrieval.model.entry import Uid
from hilvan_retrieval.model.index import Hit, IndexDocument, IndexState, KeywordQuery


class OpenSearchIndex:
    """One index behind an alias of a name.

    A search is two round trips: how frequent its words are in their groups, then all queries.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        shards: int,
        replicas: int | None,
        timeout: float,
        write_timeout: float,
    ) -> None:
        """Take over a client; `connect` makes one."""
        self._client = client
        self._name = name
        self._manager = Manager(client, name, write_timeout)
        self._shards = shards
        self._replicas = replicas
        self._timeout = timeout
        self._write_timeout = write_timeout

    @classmethod
    def connect(
        cls,
        url: str,
        name: str = "hilvan",
        *,
        username: str = "",
        password: str = "",
        ca_file: Path | None = None,
        verify: bool = True,
        shards: int = 1,
        replicas: int | None = None,
        timeout: float = 1.0,
        write_timeout: float = 30.0,
    ) -> Self:
        """Prepare a client; nothing is sent yet.

        Args:
            url: ``http://HOST:PORT`` or ``https://HOST:PORT``, of one node or a load balancer.
            name: the alias in OpenSearch: lower-case letters, digits, ``.``, ``_`` and ``-``.
            username: of basic authentication; none when empty.
            password: goes with the username.
            ca_file: authorities (PEM) to trust instead of the system's.
            verify: check the server's certificate and name; False is for trying things out.
            shards: into how many parts `ensure` cuts a new index. Of several, document
                frequencies are estimated from one.
            replicas: copies of each shard of a new index; None: one when there is a second node.
            timeout: seconds that a search or ping may take when its caller does not end it.
            write_timeout: seconds for each batch of a write, and for each step of `ensure`.

        Raises:
            EngineMisconfigured: one of these can't be used; the message names the fix.
        """
        if not schema.is_name(name):
            raise EngineMisconfigured(
                f"an index of OpenSearch can't be called {name!r}: use lower-case letters, digits, "
                "'.', '_' and '-', a letter or digit first"
            )
        return cls(
            Client.connect(
                url, username=username, password=password, ca_file=ca_file, verify=verify
            ),
            name,
            shards=shards,
            replicas=replicas,
            timeout=timeout,
            write_timeout=write_timeout,
        )

    async def ensure(self) -> bool:
        """See `KeywordIndex`. Of replicas that call it at once, one is told True."""
        body = schema.creation(self._name, shards=self._shards, replicas=self._replicas)
        return await self._manager.ensure(body)

    async def search(self, queries: Sequence[KeywordQuery]) -> list[list[Hit]]:
        """See `KeywordIndex`. At most `codec.LARGEST_ANSWER` hits for a query."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._timeout
        answers: list[list[Hit]] = [[] for _ in queries]
        self._client.refuse_when_closed()
        asked = codec.questions(queries)
        if not asked:
            return answers
        with asking():
            told = await self._statistics(list(asked.values()))
            left = until - loop.time()
            milliseconds = max(1, int(left * 1000))
            response = await self._call(
                "POST",
                "_msearch",
                seconds=left,
                params={
                    "filter_path": "took,responses.hits.hits.sort,responses.timed_out,"
                    "responses._shards.failed,responses.error,responses.status",
                    "cancel_after_time_interval": f"{milliseconds}ms",
                },
                body=codec.search_request(asked.values(), told, milliseconds=milliseconds),
            )
        with reading():
            ENGINE_SECONDS.labels("opensearch").observe(response.get("took", 0) / 1000)
            for position, part in zip(asked, response["responses"], strict=True):
                refuse_partial(part)
                answers[position] = codec.hits(part)
        return answers

    async def upsert(self, documents: Sequence[IndexDocument]) -> None:
        """See `KeywordIndex`. ValueError for what OpenSearch can't keep."""
        latest = {document.uid: document for document in documents}
        # Analysis of a large write would hold the loop, and with it every search.
        batches = await asyncio.to_thread(codec.bulk_upserts, latest.values())
        await self._write(batches)

    async def delete(self, uids: Sequence[Uid]) -> None:
        """See `KeywordIndex`."""
        await self._write(codec.bulk_deletes(uids))

    async def revisions(self, bucket: str, *, page: int = codec.LARGEST_ANSWER) -> dict[Uid, int]:
        """See `KeywordIndex`. Reads ``page`` documents at a time, 1 to `codec.LARGEST_ANSWER`."""
        found: dict[Uid, int] = {}
        after: list[Any] | None = None
        while True:
            answer = await self._call(
                "POST",
                "_search",
                seconds=self._write_timeout,
                params={
                    "filter_path": "hits.hits.sort,timed_out,_shards.failed",
                    "allow_partial_search_results": "false",
                },
                body=codec.revisions_request(bucket, after, page),
            )
            with reading():
                refuse_partial(answer)
                rows = [hit["sort"] for hit in answer.get("hits", {}).get("hits", ())]
                found.update(rows)
            if len(rows) < page:
                return found
            after = rows[-1]

    async def state(self) -> IndexState:
        """Count exactly; the engine is named with its version where the user may know it."""
        counted = await self._call("GET", "_count", seconds=self._write_timeout)
        with reading():
            refuse_partial(counted)
            return IndexState(await self._engine(), counted["count"])

    async def ping(self) -> None:
        """See `KeywordIndex`. Goes the way of a search, to every shard."""
        try:
            answer = await self._call(
                "POST",
                "_search",
                seconds=self._timeout,
                params={"allow_partial_search_results": "false"},
                body=orjson.dumps({"size": 0, "track_total_hits": False, "terminate_after": 1}),
            )
            with reading():
                refuse_partial(answer)
        except SourceTimeout as error:
            raise SourceUnavailable(str(error)) from error

    async def drop(self) -> None:
        """Remove the index with everything in it, such as one that a newer replaced."""
        await self._manager.drop()

    async def close(self) -> None:
        """Close the connections; may be called twice."""
        await self._client.close()

    async def _call(self, method: str, path: str, **rest: Any) -> Any:
        return await self._client.call(method, f"/{self._name}/{path}", **rest)

    async def _engine(self) -> str:
        try:
            told = (await self._client.call("GET", "/", seconds=self._timeout))["version"]
        except Refused as error:
            if error.status not in NO_ACCESS:
                raise
            return "opensearch"
        return f"{told.get('distribution', 'elasticsearch')} {told['number']}"

    async def _statistics(self, asked: Sequence[codec.Question]) -> codec.Statistics:
        params = {
            "term_statistics": "true",
            "positions": "false",
            "offsets": "false",
            "payloads": "false",
            # Without it, each call would ask a shard at random.
            "routing": "0",
            "preference": codec.preference(asked),
            "filter_path": "took,term_vectors.*.terms.*.doc_freq,"
            "term_vectors.*.field_statistics.doc_count",
        }
        answer = await self._call(
            "POST",
            "_termvectors",
            seconds=self._timeout,
            params=params,
            body=codec.statistics_request(asked),
        )
        with reading():
            ENGINE_SECONDS.labels("opensearch").observe(answer.get("took", 0) / 1000)
            return codec.Statistics.read(answer)

    async def _write(self, batches: Sequence[bytes]) -> None:
        """Send the batches, each durable before the next, and make them visible to searches."""
        params = {
            "filter_path": "errors,items.*.status,items.*.error",
            # Without the alias nothing may make an index of its own accord.
            "require_alias": "true",
            "refresh": "true" if len(batches) == 1 else "false",
        }
        for batch in batches:
            try:
                answer = await self._call(
                    "POST", "_bulk", seconds=self._write_timeout, params=params, body=batch
                )
            except Refused as error:
                if error.status in OWN_FAULTS:
                    raise ValueError(f"OpenSearch refused documents: {error}") from error
                raise
            refuse_failed(answer)
        if len(batches) > 1:
            await self._call("POST", "_refresh", seconds=self._write_timeout)
