"""The engines of tests: each is started once, when a test first asks for it."""

import pytest
from support.engines.notes import NOTES, OPENSEARCH, POSTGRESQL, QDRANT
from support.engines.run import RUN, Engine


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --require-real."""
    text = "fail where a real engine (Qdrant, OpenSearch, PostgreSQL) is missing, don't skip"
    parser.addoption("--require-real", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Say whether a missing engine is a failure."""
    RUN.required = config.getoption("--require-real")


def pytest_sessionfinish() -> None:
    """Stop the engines."""
    RUN.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print which engines really ran, and which were missing."""
    if lines := NOTES.report():
        terminalreporter.section("engines")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def qdrant_server() -> Engine:
    """Give a Qdrant server: host:port in `address`, `key`, `secure`."""
    return RUN.engine(QDRANT)


@pytest.fixture(scope="session")
def opensearch_url() -> str:
    """Give an OpenSearch's address, http://host:port."""
    return RUN.engine(OPENSEARCH).address


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """Give a PostgreSQL's address, postgresql://…; see `postgres_databases.new_database`."""
    return RUN.engine(POSTGRESQL).address
