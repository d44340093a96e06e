"""The three services with the sample team's notes, for tests that hold the pages to them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Variables with which `hilvan` reaches running services; PWD is a folder with the examples.

    The services run without an embedding model, and on a copy of the examples.
    """
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "examples", folder / "examples")
    variables = {name: each for name, each in os.environ.items() if not name.startswith("HILVAN_")}
    variables |= {
        "HILVAN_HOME": str(folder / "home"),
        "HILVAN_RETRIEVAL_EMBEDDER": "hashing",
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PWD": str(folder),
    }

    def hilvan(*words: str) -> None:
        subprocess.run([BIN / "hilvan", *words], env=variables, cwd=folder, check=True)

    hilvan("dev", "up", "--ports", "0")
    try:
        state = json.loads((folder / "home" / "dev.json").read_text())
        addresses = {f"HILVAN_{name.upper()}": each["address"] for name, each in state.items()}
        hilvan("vault", "add", "examples/team/vault")
        yield variables | addresses
    finally:
        hilvan("dev", "down")
