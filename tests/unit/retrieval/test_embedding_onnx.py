"""The local embedder, on every shape that exports come in."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from support.retrieval.embedding_models import MAX_TOKENS, Shape, description, write_model

from hilvan_retrieval.adapters.embedding.description import Pooling
from hilvan_retrieval.adapters.embedding.network import Network
from hilvan_retrieval.adapters.embedding.onnx import OnnxEmbedder
from hilvan_retrieval.adapters.embedding.vectors import unit_rows
from hilvan_retrieval.errors import EngineMisconfigured
from hilvan_retrieval.model.embedding import Matrix

TEXTS = ["Ana moved to room 40.", "x", "La reunión es el miércoles.", "Bruno is afraid."]


def _network(directory: Path, shape: Shape = Shape(), pooling: Pooling = Pooling.CLS) -> Network:  # noqa: B008 (it is frozen)
    return Network(write_model(directory, shape), description(pooling=pooling), threads=1)


def _alone(network: Network) -> Matrix:
    """Each text in a run of its own."""
    return np.concatenate([network.vectors([window]) for window in network.windows("", TEXTS)])


@pytest.mark.parametrize(
    "shape",
    [
        Shape(sentence=False),
        Shape(batch=1),
        Shape(sentence=False, batch=1),
        Shape(sentence=False, folds=True),
        Shape(extra_inputs=("token_type_ids",)),
        Shape(external=True),
    ],
)
def test_every_shape_of_an_export_gives_the_same_vectors(tmp_path: Path, shape: Shape) -> None:
    """Token vectors, a fixed batch, token types or weights in a second file change nothing."""
    expected = _alone(_network(tmp_path / "plain"))
    network = _network(tmp_path / "other", shape)
    assert np.allclose(network.vectors(network.windows("", TEXTS)), expected, atol=1e-6)


def test_weights_may_lie_in_a_second_file(tmp_path: Path) -> None:
    """The model of the test above really has its weights outside."""
    directory = write_model(tmp_path, Shape(external=True))
    graph, weights = directory / "model.onnx", directory / "model.onnx_data"
    assert weights.stat().st_size > graph.stat().st_size


@pytest.mark.parametrize("pooling", Pooling)
def test_padding_changes_no_vector(tmp_path: Path, pooling: Pooling) -> None:
    """Texts of other lengths in the same run leave a text's vector as it is."""
    network = _network(tmp_path, Shape(sentence=False), pooling)
    together = network.vectors(network.windows("", TEXTS))
    assert np.allclose(together, _alone(network), atol=1e-6)


def test_the_two_poolings_differ(tmp_path: Path) -> None:
    """CLS takes the first token's vector, mean all of them: the description decides."""
    first = _alone(_network(tmp_path, Shape(sentence=False), Pooling.CLS))
    mean = _alone(_network(tmp_path, Shape(sentence=False), Pooling.MEAN))
    assert not np.allclose(first, mean, atol=1e-2)


def test_prefixes_are_part_of_the_text(tmp_path: Path) -> None:
    """A window of a short text is the special tokens around the prefix and the text."""
    network = _network(tmp_path)
    assert network.windows("q: ", ["abc"])[0].content == network.windows("", ["q: abc"])[0].content


def test_a_long_text_becomes_even_windows_with_the_prefix(tmp_path: Path) -> None:
    """Windows together hold every token once, each starts with the prefix and fits the model."""
    network = _network(tmp_path)
    text = "abc " * 70
    windows = network.windows("p: ", [text])
    (prefixed,) = network.windows("p:", [""])
    lead = prefixed.content[:-1]
    assert all(window.content[: len(lead)] == lead for window in windows)
    assert all(len(window.content) <= MAX_TOKENS for window in windows)
    assert max(w.weight for w in windows) - min(w.weight for w in windows) < len(windows)
    whole = Network(write_model(tmp_path), description(max_tokens=10_000), threads=1).windows(
        "p: ", [text]
    )
    inside = [token for window in windows for token in window.content[len(lead) : -1]]
    assert inside == whole[0].content[len(lead) : -1]


async def test_a_long_text_is_the_weighted_mean_of_its_windows(tmp_path: Path) -> None:
    """The vector is the unit mean of the window vectors, each counted by its tokens."""
    network = _network(tmp_path)
    embedder = OnnxEmbedder(tmp_path, description())
    text = "abc def " * 40
    windows = network.windows("p: ", [text])
    weights = np.array([[window.weight] for window in windows])
    expected = unit_rows((network.vectors(windows) * weights).sum(axis=0, keepdims=True))
    assert np.allclose(await embedder.embed_passages([text]), expected, atol=1e-6)
    await embedder.close()


async def test_a_question_overtakes_an_import(tmp_path: Path) -> None:
    """A question that comes after 500 long passages is answered before them."""
    embedder = OnnxEmbedder(write_model(tmp_path), description(batch_tokens=1))
    running = asyncio.create_task(embedder.embed_passages(["abc def " * 100] * 500))
    await asyncio.sleep(0)
    await embedder.embed_query("where?")
    assert not running.done()
    running.cancel()
    await embedder.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a priority is the process's")
async def test_an_import_gives_way(tmp_path: Path) -> None:
    """The thread of the passages has a lower priority than that of the questions."""
    embedder = OnnxEmbedder(write_model(tmp_path), description())
    await asyncio.gather(embedder.embed_query("where?"), embedder.embed_passages(["here"]))
    nice = {
        thread.name.rpartition("_")[0]: os.getpriority(os.PRIO_PROCESS, thread.native_id or 0)
        for thread in threading.enumerate()
    }
    assert nice["embed-passages"] > nice["embed-question"]
    await embedder.close()


async def test_closing_refuses_the_rest_of_an_import(tmp_path: Path) -> None:
    """An import that is under way at `close` ends with an error of ours, and soon."""
    embedder = OnnxEmbedder(write_model(tmp_path), description(batch_tokens=1))
    running = asyncio.create_task(embedder.embed_passages(["abc def " * 100] * 500))
    await embedder.embed_query("where?")
    await embedder.close()
    (result,) = await asyncio.gather(running, return_exceptions=True)
    assert type(result).__name__ == "SourceUnavailable"


def test_other_dimensions_are_a_misconfiguration(tmp_path: Path) -> None:
    """The message names both dimensions and what to do."""
    write_model(tmp_path)
    with pytest.raises(EngineMisconfigured, match=r"of 32 dimensions.*says 1024: choose"):
        Network(tmp_path, description(dimensions=1024), threads=1)


def test_an_unknown_input_is_a_misconfiguration(tmp_path: Path) -> None:
    """The message names the input that nobody can give."""
    with pytest.raises(EngineMisconfigured, match=r"asks for the inputs pixel_values"):
        _network(tmp_path, Shape(extra_inputs=("pixel_values",)))


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"not a model"])
def test_a_missing_or_broken_file_names_the_fix(
    tmp_path: Path, file: str, content: bytes | None
) -> None:
    """The message names the file and the command that makes the default model."""
    write_model(tmp_path)
    (tmp_path / file).unlink()
    if content is not None:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(EngineMisconfigured, match=rf"{file}.*embedding\.prepare"):
        Network(tmp_path, description(), threads=1)


def test_weights_that_were_left_behind_are_a_misconfiguration(tmp_path: Path) -> None:
    """A model without its second file is refused with the fix."""
    write_model(tmp_path, Shape(external=True))
    (tmp_path / "model.onnx_data").unlink()
    with pytest.raises(EngineMisconfigured, match=r"model\.onnx_data"):
        Network(tmp_path, description(), threads=1)


def test_nothing_is_reported_home(tmp_path: Path) -> None:
    """The runtime loads with its telemetry off: no word of it where no home can be written."""
    write_model(tmp_path, Shape())
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from hilvan_retrieval.adapters.embedding.network import _load_session\n"
        "assert 'onnxruntime' not in sys.modules\n"
        f"_load_session(Path({str(tmp_path)!r}) / 'model.onnx', 1)\n"
        "print(os.environ['ORT_DISABLE_TELEMETRY'])\n"
    )
    others = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**others, "HOME": "/proc/nowhere"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (ended.stdout, ended.stderr) == ("1\n", "")
