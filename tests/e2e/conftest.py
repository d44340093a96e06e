"""The product for all stories of this folder: on embedded engines, and on servers."""

import os
from collections.abc import Iterator

import pytest
from support.engines.rigged_servers import rigged_servers
from support.product.processes import Product, team_product


def model() -> str:
    """The folder of the real embedding model."""
    if folder := os.environ.get("HILVAN_TEST_E5_DIR"):
        return folder
    pytest.skip("HILVAN_TEST_E5_DIR names no embedding model; `make test` makes one")


@pytest.fixture
def product(embedded: Product) -> Product:
    """The services on embedded engines."""
    return embedded


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """The services on embedded engines, and the sample team's vault and entries."""
    with team_product(Product(tmp_path_factory.mktemp("product")), model()) as product:
        yield product


@pytest.fixture(scope="session")
def on_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """The same on OpenSearch, Qdrant's protocol and PostgreSQL, each behind a rig."""
    folder = model()
    home = tmp_path_factory.mktemp("servers")
    with (
        rigged_servers(home) as servers,
        team_product(Product(home, servers.settings, servers.rigs), folder) as product,
    ):
        yield product
