"""What a model directory doesn't say of itself: `model.toml` beside `model.onnx`."""

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from hilvan_retrieval.errors import EngineMisconfigured
from hilvan_retrieval.model.embedding import Calibration, EmbeddingModel

DESCRIPTION_FILE = "model.toml"


class Pooling(StrEnum):
    """How token vectors become one: the first token's, or the mean over the text's tokens."""

    CLS = "cls"
    MEAN = "mean"


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """How to use one embedding model.

    ``id`` names the vector space: vectors of equal ids are comparable. ``max_tokens`` is what the
    model reads at once, special tokens and prefix included. The prefixes are written before every
    question and every stored text. ``batch_tokens`` bounds the tokens of passages, padding
    included, that share one run; a longer passage runs alone.
    """

    id: str
    dimensions: int
    max_tokens: int
    pooling: Pooling
    query_prefix: str
    passage_prefix: str
    batch_tokens: int
    calibration: Calibration

    @property
    def model(self) -> EmbeddingModel:
        """What the rest of the service needs to know."""
        return EmbeddingModel(self.id, self.dimensions, self.calibration)


def describe(directory: Path, bundled: str) -> ModelDescription:
    """Read the directory's own ``model.toml``; without one, the bundled description.

    Raises:
        EngineMisconfigured: the file is faulty, or no description of that name is bundled.
    """
    own = directory / DESCRIPTION_FILE
    return (
        parse(own.read_text("utf-8"), str(own)) if own.is_file() else bundled_description(bundled)
    )


def bundled_description(name: str) -> ModelDescription:
    """The description that ships for a well-known model, see `bundled_text`."""
    return parse(bundled_text(name), f"bundled description {name}")


def bundled_text(name: str) -> str:
    """The TOML text of a bundled description; EngineMisconfigured lists the names there are."""
    files = {
        file.name.removesuffix(".toml"): file
        for file in (resources.files(__package__) / "descriptions").iterdir()
    }
    if name not in files:
        raise EngineMisconfigured(
            f"no description of the embedding model {name!r}: write {DESCRIPTION_FILE} beside "
            f"its model.onnx, or choose one of {', '.join(sorted(files))}"
        )
    return files[name].read_text("utf-8")


def parse(text: str, origin: str) -> ModelDescription:
    """Read a description; ``origin`` names it in faults.

    Raises:
        EngineMisconfigured: lists every fault at once.
    """
    try:
        file = _File.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise EngineMisconfigured(f"{origin}: {error}") from error
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, f['loc']))}: {f['msg']}" for f in error.errors())
        raise EngineMisconfigured(f"{origin}: {'; '.join(faults)}") from error
    return ModelDescription(**dict(file))


def _calibration(points: list[tuple[float, float]]) -> Calibration:
    for axis, (low, high) in zip(zip(*points, strict=True), ((-1, 1), (0, 1)), strict=True):
        if not (low <= axis[0] and axis[-1] <= high and all(a < b for a, b in pairwise(axis))):
            raise ValueError("must rise in both, with cosines in -1..1, calibrated values in 0..1")
    return Calibration(tuple(points))


class _File(BaseModel):
    """The rules of ``model.toml``; the fields are those of `ModelDescription`."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    id: Annotated[str, Field(min_length=1)]
    dimensions: Annotated[int, Field(strict=True, ge=1, le=65_536)]
    max_tokens: Annotated[int, Field(strict=True, ge=16)]
    pooling: Pooling
    query_prefix: str
    passage_prefix: str
    batch_tokens: Annotated[int, Field(strict=True, ge=1)]
    calibration: Annotated[
        list[tuple[float, float]], Field(min_length=2), AfterValidator(_calibration)
    ]
