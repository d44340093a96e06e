"""The servers of production, each behind a fault rig, and the settings that lead to them.

The rigs live in a thread of their own, so that tests with loops of their own can share them.
"""

import os
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import make_url
from support.engines.fault_proxy import FaultProxy, Mode
from support.engines.notes import OPENSEARCH, POSTGRESQL
from support.engines.opensearch_index import fresh_index
from support.engines.postgres_databases import new_database
from support.engines.run import QDRANT_URL, RUN
from support.engines.vector import Reached, double, server
from support.kit.in_thread import InThread, in_thread

SOURCE_CAP_MS = 5_000
"""A busy machine is no reason to lose a source; what a slow one costs is asked with a deadline."""


@dataclass(frozen=True, slots=True)
class Proxies:
    """The rigs themselves, and the databases' addresses that lead through them."""

    by_name: Mapping[str, FaultProxy]
    databases: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Rig:
    """One rig, which any thread may switch."""

    running: InThread[Proxies]
    name: str

    def begin(self, mode: Mode, *, after_bytes: int = 0, delay_seconds: float = 0.1) -> None:
        """Switch; `FaultProxy` says what each mode does."""

        async def switch() -> None:
            proxy = self.running.value.by_name[self.name]
            proxy.after_bytes, proxy.delay_seconds = after_bytes, delay_seconds
            proxy.mode = mode

        self.running.run(switch())

    @contextmanager
    def faulty(self, mode: Mode, *, after_bytes: int = 0) -> Iterator[None]:
        """Let a fault last as long as the block."""
        self.begin(mode, after_bytes=after_bytes)
        try:
            yield
        finally:
            self.begin(Mode.PASS)

    @contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        """Let what is sent arrive so much later, as long as the block."""
        self.begin(Mode.DELAY, delay_seconds=seconds)
        try:
            yield
        finally:
            self.begin(Mode.PASS)


@dataclass(frozen=True, slots=True)
class Servers:
    """The settings of services that use these servers, and the rig before each of them."""

    settings: Mapping[str, str]
    rigs: Mapping[str, Rig]


@contextmanager
def rigged_servers(folder: Path) -> Iterator[Servers]:
    """Give new databases, indexes and collections behind rigs; what leads there is in settings.

    The vector engine is the server of this run if it speaks in clear (a certificate is for another
    address than the rig's), else the wire double.
    """
    opensearch, postgresql = RUN.engine(OPENSEARCH).address, RUN.engine(POSTGRESQL).address
    name = f"hilvan-test-{uuid.uuid4().hex}"
    with (
        _vector_engine() as reached,
        in_thread(_rigged(opensearch, postgresql, reached, name)) as up,
    ):
        rigs = {each: Rig(up, each) for each in up.value.by_name}
        at = {each: proxy.address for each, proxy in up.value.by_name.items()}
        authorities = folder / "qdrant-ca.pem"
        authorities.write_bytes(reached.ca)
        settings = {
            "HILVAN_RETRIEVAL_OPENSEARCH_URL": f"http://{at['keyword']}",
            "HILVAN_RETRIEVAL_QDRANT_URL": at["vector"],
            "HILVAN_RETRIEVAL_QDRANT_API_KEY": reached.key,
            "HILVAN_RETRIEVAL_QDRANT_TLS": str(reached.tls),
            "HILVAN_RETRIEVAL_COLLECTION": name,
            "HILVAN_RETRIEVAL_RECORD_URL": up.value.databases["record"],
            "HILVAN_CURATION_METADATA_URL": up.value.databases["metadata"],
            "HILVAN_RETRIEVAL_SOURCE_CAP_MS": str(SOURCE_CAP_MS),
        }
        if reached.ca:
            settings["HILVAN_RETRIEVAL_QDRANT_CA_FILE"] = str(authorities)
        yield Servers(settings, rigs)


@contextmanager
def _vector_engine() -> Iterator[Reached]:
    if os.environ.get(QDRANT_URL) and not (given := server()).tls:
        yield given
        return
    with double() as reached:
        yield reached


@asynccontextmanager
async def _rigged(
    opensearch: str, postgresql: str, reached: Reached, name: str
) -> AsyncIterator[Proxies]:
    """Put a rig before each, and leave nothing in them."""
    async with AsyncExitStack() as stack:

        async def rig(target: str) -> FaultProxy:
            return await stack.enter_async_context(FaultProxy(target))

        # Enters first, so that it drops the index when everything else is closed.
        await stack.enter_async_context(fresh_index(opensearch, name))
        stack.push_async_callback(_drop, reached, name)
        by_name = {
            "vector": await rig(reached.target),
            "keyword": await rig(opensearch.removeprefix("http://")),
        }
        databases = {}
        for each in ("record", "metadata"):
            url = make_url(await stack.enter_async_context(new_database(postgresql)))
            by_name[each] = await rig(f"{url.host}:{url.port}")
            behind = url.set(host="127.0.0.1", port=by_name[each].port)
            databases[each] = behind.render_as_string(hide_password=False)
        yield Proxies(by_name, databases)


async def _drop(reached: Reached, name: str) -> None:
    index = reached.index(name)
    try:
        await index.drop()
    finally:
        await index.close()
