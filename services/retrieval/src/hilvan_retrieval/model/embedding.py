"""Embeddings: vectors of one model, and the scale that their cosines are calibrated to."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""One embedding: shape ``(dimensions,)``, float32, L2-normalised."""


Matrix = NDArray[np.float32]
"""Embeddings as rows: shape ``(n, dimensions)``, float32, each row L2-normalised."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Maps a model's raw cosine onto the scale on which every threshold is stated.

    ``points`` are (cosine, calibrated) pairs, rising in both; between them the map is linear,
    outside it is clamped to the first and last value.
    """

    points: tuple[tuple[float, float], ...]

    def __call__(self, cosine: NDArray[np.float32] | np.float32) -> NDArray[np.float32]:
        """Calibrate any array of cosines, keeping its shape."""
        raw, calibrated = zip(*self.points, strict=True)
        return np.asarray(np.interp(cosine, raw, calibrated), dtype=np.float32)

    def inverse(self, calibrated: float) -> float:
        """The cosine that has this calibrated value."""
        raw, values = zip(*self.points, strict=True)
        return float(np.interp(calibrated, values, raw))

    def of(self, cosine: float) -> float:
        """Calibrate one cosine."""
        return float(self(np.float32(cosine)))


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """What makes two vectors comparable: the same ``id`` means the same space."""

    id: str
    dimensions: int
    calibration: Calibration
