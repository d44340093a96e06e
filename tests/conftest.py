"""The engines of tests: each is started once, when a test first asks for it."""

from collections.abc import Iterator

import engines
import pytest
from engine_notes import OPENSEARCH, POSTGRESQL, QDRANT, report


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --require-real."""
    text = "fail where a real engine (Qdrant, OpenSearch, PostgreSQL) is missing, don't skip"
    parser.addoption("--require-real", action="store_true", help=text)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print which engines really ran, and which were missing."""
    if lines := report():
        terminalreporter.section("engines")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def qdrant_server(request: pytest.FixtureRequest) -> Iterator[engines.Engine]:
    """Give a Qdrant server: host:port in `address`, `key`, `secure`."""
    with engines.given(request.config, QDRANT, engines.qdrant()) as engine:
        yield engine


@pytest.fixture(scope="session")
def opensearch_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give an OpenSearch's address, http://host:port."""
    with engines.given(request.config, OPENSEARCH, engines.opensearch()) as engine:
        yield engine.address


@pytest.fixture(scope="session")
def postgres_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give a PostgreSQL's address, postgresql://…; see `engines.fresh_database`."""
    with engines.given(request.config, POSTGRESQL, engines.postgresql()) as engine:
        yield engine.address
