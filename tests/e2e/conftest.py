"""One product for all stories of this folder."""

import asyncio
import os
import subprocess
from collections.abc import Iterator

import pytest
from product import TEAM, Product


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """The services with the real embedding model, and the sample team's vault and entries."""
    model = os.environ.get("HILVAN_TEST_E5_DIR")
    if not model:
        pytest.skip("HILVAN_TEST_E5_DIR names no embedding model; `make test` makes one")
    home = tmp_path_factory.mktemp("product")
    product = Product(home)
    vault = home / "vault"
    subprocess.run(["cp", "-r", str(TEAM / "vault"), str(vault)], check=True)
    up = product.run("dev", "up", "--ports", "0", "--vault-root", str(home), "--model-dir", model)
    assert up.returncode == 0, up.stdout + up.stderr
    try:
        for words in (
            ("vault", "add", str(vault)),
            ("import", str(TEAM / "entries.jsonl"), "--wait"),
        ):
            done = product.run(*words)
            assert done.returncode == 0, done.stdout + done.stderr
        asyncio.run(product.settle())
        yield product
    finally:
        product.run("dev", "down")
