"""The description of an embedding model."""

from pathlib import Path

import pytest

from hilvan_retrieval.adapters.embedding.description import (
    Pooling,
    bundled_description,
    bundled_text,
    describe,
    parse,
)
from hilvan_retrieval.errors import EngineMisconfigured

BUNDLED = ("multilingual-e5-small", "bge-m3")


def test_bge_m3_ships_with_its_published_facts() -> None:
    """1024 dimensions, the first token's vector, 8192 tokens, no prefixes."""
    description = bundled_description("bge-m3")
    assert description.dimensions == 1024
    assert description.pooling is Pooling.CLS
    assert description.max_tokens == 8192
    assert (description.query_prefix, description.passage_prefix) == ("", "")


def test_e5_ships_with_its_published_facts() -> None:
    """384 dimensions, the mean of the tokens, 512 tokens, prefixes that end in a blank."""
    description = bundled_description("multilingual-e5-small")
    assert description.dimensions == 384
    assert description.pooling is Pooling.MEAN
    assert description.max_tokens == 512
    assert (description.query_prefix, description.passage_prefix) == ("query: ", "passage: ")


@pytest.mark.parametrize("name", BUNDLED)
def test_a_description_gives_the_model(name: str) -> None:
    """What the service sees has the described id, dimensions and calibration."""
    description = bundled_description(name)
    assert description.model.id == name
    assert description.model.dimensions == description.dimensions
    assert description.model.calibration is description.calibration


def test_an_unknown_name_lists_those_there_are() -> None:
    """A name without a bundled description is answered with the choices."""
    with pytest.raises(EngineMisconfigured, match=r"'word2vec'.*bge-m3, multilingual-e5-small"):
        bundled_description("word2vec")


def test_the_directory_has_the_last_word(tmp_path: Path) -> None:
    """`model.toml` beside the model wins over the bundled description, which is the default."""
    assert describe(tmp_path, "bge-m3").id == "bge-m3"
    own = bundled_text("bge-m3").replace('id = "bge-m3"', 'id = "our-bge"')
    (tmp_path / "model.toml").write_text(own, "utf-8")
    assert describe(tmp_path, "bge-m3").id == "our-bge"


def test_every_fault_is_listed_at_once() -> None:
    """Missing, unknown and wrong fields come in one message, with the file's name."""
    faulty = """
        dimensions = 0
        max_tokens = "many"
        pooling = "max"
        query_prefix = ""
        passage_prefix = 3
        batch_tokens = 1.5
        calibration = [[0.5, 0.4], [0.4, 0.5]]
        colour = "red"
    """
    with pytest.raises(EngineMisconfigured) as raised:
        parse(faulty, "here/model.toml")
    message = str(raised.value)
    assert message.startswith("here/model.toml: ")
    for field in ("id", "dimensions", "max_tokens", "pooling", "passage_prefix", "batch_tokens"):
        assert f"{field}: " in message
    assert "calibration: " in message
    assert "colour: " in message
    assert "query_prefix" not in message


@pytest.mark.parametrize(
    "points",
    [
        "[[0.5, 0.5]]",
        "[[0.5, 0.5], [0.5, 0.6]]",
        "[[0.5, 0.5], [0.6, 0.5]]",
        "[[-1.5, 0.0], [1.0, 1.0]]",
        "[[0.0, 0.0], [1.1, 1.0]]",
        "[[0.0, -0.1], [1.0, 1.0]]",
        "[[0.0, 0.0], [1.0, 1.1]]",
        "[[0.0, nan], [1.0, 1.0]]",
        "[[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]",
        '"linear"',
    ],
)
def test_a_calibration_rises_inside_its_ranges(points: str) -> None:
    """Too few points, standstill, values out of range or not numbers are refused."""
    start = bundled_text("bge-m3").split("calibration")[0]
    with pytest.raises(EngineMisconfigured, match="calibration"):
        parse(f"{start}\ncalibration = {points}\n", "model.toml")


def test_broken_toml_names_the_file() -> None:
    """A syntax error is reported with the file and the line."""
    with pytest.raises(EngineMisconfigured, match=r"model\.toml: .*line 1"):
        parse("id = = 3", "model.toml")
