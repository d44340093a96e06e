"""The one place that decides where a test's engine comes from.

In this order: an address in the environment, a process of this run, a container where Docker
answers. An address that is given is used or is an error: it is never passed over for the next way.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace

import pytest
from support.engines.containers import container
from support.engines.notes import (
    NOTES,
    OPENSEARCH,
    POSTGRESQL,
    QDRANT,
    EngineBroken,
    EngineMissing,
    Notes,
)
from support.engines.opensearch_process import running_opensearch
from support.engines.postgres_process import running_server

QDRANT_URL = "HILVAN_TEST_QDRANT_URL"
QDRANT_API_KEY = "HILVAN_TEST_QDRANT_API_KEY"
OPENSEARCH_URL = "HILVAN_TEST_OPENSEARCH_URL"
POSTGRES_URL = "HILVAN_TEST_POSTGRES_URL"
GIVEN_S = 10.0
CONTAINER_S = 90.0


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine that answers: where it is and how it was obtained.

    `address` is host:port for Qdrant's gRPC, else a URL. `key` and `secure` (TLS) are Qdrant's.
    """

    address: str
    how: str
    version: str = ""
    key: str = ""
    secure: bool = False


Way = Callable[[], AbstractContextManager[Engine]]
"""One way to an engine; entering it raises EngineMissing when it is closed."""
Source = Callable[[], AbstractContextManager[Engine]]
"""All ways to an engine; entering it raises EngineMissing when each is closed."""
Ask = Callable[[Engine], str]
"""Asks an engine for its version; raises ConnectionError while it doesn't answer."""


class NotAnswering(EngineBroken):
    """An engine that must be there doesn't answer."""


@contextmanager
def first_of(*ways: Way) -> Iterator[Engine]:
    """Give the engine of the first way that is open.

    Raises:
        EngineMissing: Every way is closed; the message has each one's reason.
    """
    reasons: list[str] = []
    with ExitStack() as stack:
        for way in ways:
            try:
                engine = stack.enter_context(way())
            except EngineMissing as error:
                reasons.append(str(error))
                continue
            yield engine
            return
    raise EngineMissing("; ".join(reasons))


class Run:
    """The engines of one run of tests: each is started at its first use and kept until the end."""

    def __init__(self, sources: Mapping[str, Source], notes: Notes) -> None:
        """Know where engines come from, by name, and where to note them; start none."""
        self.required = False
        """Whether a missing engine fails its tests (--require-real)."""
        self._sources = sources
        self._notes = notes
        self._stack = ExitStack()
        self._found: dict[str, Engine | EngineMissing | EngineBroken] = {}

    def engine(self, name: str) -> Engine:
        """Give an engine, or end the test that asks.

        A missing engine is a skip, or a failure where it is required; a broken one is a failure.
        """
        if name not in self._found:
            self._found[name] = self._start(name)
        found = self._found[name]
        if isinstance(found, Engine):
            return found
        if self.required or isinstance(found, EngineBroken):
            pytest.fail(f"no {name}: {found}", pytrace=False)
        pytest.skip(f"no {name}: {found}")

    def _start(self, name: str) -> Engine | EngineMissing | EngineBroken:
        try:
            engine = self._stack.enter_context(self._sources[name]())
        except (EngineMissing, EngineBroken) as error:
            self._notes.missing(name, str(error))
            return error
        self._notes.engine(name, engine.how, engine.version)
        return engine

    def close(self) -> None:
        """Stop what was started."""
        self._found.clear()
        self._stack.close()


def answering(engine: Engine, ask: Ask, seconds: float) -> Engine:
    """Wait until an engine tells its version, and give it with that.

    Raises:
        NotAnswering: It didn't in time.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            return replace(engine, version=ask(engine))
        except ConnectionError as error:
            if time.monotonic() > until:
                told = f"{engine.how} doesn't answer: {error}"
                raise NotAnswering(told) from error
            time.sleep(0.2)


def address(variable: str, ask: Ask, read: Callable[[str], Engine]) -> Way:
    """The way by an address in the environment."""

    @contextmanager
    def way() -> Iterator[Engine]:
        if not (value := os.environ.get(variable)):
            raise EngineMissing(f"{variable} is not set")
        engine = replace(read(value), how=f"the address in {variable}")
        yield answering(engine, ask, GIVEN_S)

    return way


def process(running: Callable[[], AbstractContextManager[str]], ask: Ask, how: str) -> Way:
    """The way by a process of this run."""

    @contextmanager
    def way() -> Iterator[Engine]:
        with running() as url:
            yield answering(Engine(url, how), ask, GIVEN_S)

    return way


def docker(image: str, port: int, ask: Ask, address: str, **environment: str) -> Way:
    """The way by a container; `{host}` in the address becomes its host and port."""

    @contextmanager
    def way() -> Iterator[Engine]:
        with container(image, port, environment) as host:
            engine = Engine(address.format(host=host), f"a container of {image}")
            yield answering(engine, ask, CONTAINER_S)

    return way


def ask_qdrant(engine: Engine) -> str:
    """A Qdrant server's version."""
    from support.engines import versions as engine_versions

    return engine_versions.qdrant(engine.address, engine.key, secure=engine.secure)


def ask_opensearch(engine: Engine) -> str:
    """An OpenSearch's version."""
    from support.engines import versions as engine_versions

    return engine_versions.opensearch(engine.address)


def ask_postgres(engine: Engine) -> str:
    """A PostgreSQL's version."""
    from support.engines import versions as engine_versions

    return engine_versions.postgresql(engine.address)


def read_qdrant(value: str) -> Engine:
    """Read host:port, perhaps after a scheme: https is TLS, anything else is plain."""
    scheme, _, host = value.rpartition("://")
    return Engine(host, "", key=os.environ.get(QDRANT_API_KEY, ""), secure=scheme == "https")


@contextmanager
def running_postgres() -> Iterator[str]:
    """Give the address of a PostgreSQL process of its own."""
    with running_server() as server:
        yield server.url


def qdrant() -> AbstractContextManager[Engine]:
    """A Qdrant server. No package carries one, so no process can be started."""
    return first_of(
        address(QDRANT_URL, ask_qdrant, read_qdrant),
        docker("qdrant/qdrant:v1.17.1", 6334, ask_qdrant, "{host}"),
    )


def opensearch() -> AbstractContextManager[Engine]:
    """An OpenSearch of one node, without the security plugin."""
    settings = {"discovery.type": "single-node", "DISABLE_SECURITY_PLUGIN": "true"}
    image = "opensearchproject/opensearch:2.19.6"
    return first_of(
        address(OPENSEARCH_URL, ask_opensearch, lambda value: Engine(value.rstrip("/"), "")),
        process(running_opensearch, ask_opensearch, "a process on Maven's jars"),
        docker(image, 9200, ask_opensearch, "http://{host}", **settings),
    )


def postgresql() -> AbstractContextManager[Engine]:
    """A PostgreSQL, by the address of a user who may create databases."""
    url = "postgresql://postgres:hilvan@{host}/postgres"
    return first_of(
        address(POSTGRES_URL, ask_postgres, lambda value: Engine(value, "")),
        process(running_postgres, ask_postgres, "a process of installed programs"),
        docker("postgres:17", 5432, ask_postgres, url, POSTGRES_PASSWORD="hilvan"),
    )


RUN = Run({QDRANT: qdrant, OPENSEARCH: opensearch, POSTGRESQL: postgresql}, NOTES)
"""The engines of this run, for fixtures and for doubles that no fixture reaches."""
