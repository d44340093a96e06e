"""The composition root: what is joined, and how a start that can't be is refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.retrieval.record import quick_folder

from hilvan_retrieval.adapters.embedding.cache import CachedEmbedder
from hilvan_retrieval.composition import make_embedders, open_service
from hilvan_retrieval.errors import EngineMisconfigured, SourceUnavailable
from hilvan_retrieval.settings import RetrievalSettings


def start(**variables: str) -> subprocess.CompletedProcess[str]:
    """Start the service with these variables and no other of ours; it must end by itself."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("HILVAN_")}
    return subprocess.run(
        [sys.executable, "-m", "hilvan_retrieval.main"],
        env={**others, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_settings_that_cannot_be_used_are_told_in_one_message() -> None:
    """Every bad variable by its name, and no stack trace."""
    ended = start(
        HILVAN_AUTH_MODE="development",
        HILVAN_RETRIEVAL_EMBEDDER="none",
        HILVAN_RETRIEVAL_SOURCE_CAP_MS="0",
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("hilvan-retrieval: ")
    assert "HILVAN_RETRIEVAL_EMBEDDER" in ended.stderr
    assert "HILVAN_RETRIEVAL_SOURCE_CAP_MS" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_without_an_auth_mode_nothing_is_served() -> None:
    """The message names the variable and its values."""
    ended = start()
    assert (ended.returncode, "HILVAN_AUTH_MODE" in ended.stderr) == (1, True)


async def test_the_service_opens_and_closes_all_of_its_parts() -> None:
    """With the embedded engines: ready while open, and closed at the end."""
    with quick_folder() as folder:
        settings = RetrievalSettings(data_dir=folder / "data", embedder="hashing")
        async with open_service(settings) as (uses, ping):
            await ping()
            states = await uses.reader.index_states()
            assert [
                (
                    each.generation.feed,
                    each.generation.engine,
                    each.state and each.state.document_count,
                )
                for each in states
            ] == [("keyword.1", "tantivy", 0), ("vector.1", "qdrant-edge", 0)]
        with pytest.raises(SourceUnavailable):
            await ping()


async def test_every_embedder_is_cached(tmp_path: Path) -> None:
    """Whichever the settings name; one that has no files is refused at the start."""
    settings = RetrievalSettings(
        embedder="http",
        embedding_url="http://127.0.0.1:1",
        embedding_name="x",
        next_embedder="hashing-64",
    )
    made = make_embedders(settings)
    assert [each.model.dimensions for each in made] == [384, 64]
    for each in made:
        assert isinstance(each, CachedEmbedder)
        await each.close()
    with pytest.raises(Exception, match=r"model\.onnx"):
        make_embedders(RetrievalSettings(embedder="onnx", model_dir=tmp_path))


async def test_embedded_indexes_are_for_one_process() -> None:
    """A second one over the same record is refused with the way out, until the first has ended."""
    with quick_folder() as folder:
        settings = RetrievalSettings(data_dir=folder, embedder="hashing")
        async with open_service(settings):
            with pytest.raises(EngineMisconfigured, match="HILVAN_RETRIEVAL_OPENSEARCH_URL"):
                async with open_service(settings):
                    pass
        async with open_service(settings):
            pass
