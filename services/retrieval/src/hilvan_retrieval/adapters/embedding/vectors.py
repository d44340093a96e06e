"""The arithmetic that every embedder shares."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hilvan_retrieval.errors import SourceUnavailable
from hilvan_retrieval.model.embedding import Matrix

_Content = TypeVar("_Content")


@dataclass(frozen=True, slots=True)
class Window(Generic[_Content]):
    """A part of the text numbered ``owner`` (from 0) that a model reads at once.

    ``weight`` is how much of the text it holds, in tokens or bytes.
    """

    owner: int
    weight: int
    content: _Content


def unit_rows(rows: NDArray[np.floating]) -> Matrix:
    """L2-normalise each row.

    Raises:
        SourceUnavailable: a row is zero or not finite, so it has no direction.
    """
    matrix = np.asarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths) & (lengths > 0)):
        raise SourceUnavailable("the embedding model gave a vector without direction")
    return np.asarray(matrix / lengths, dtype=np.float32)


def join_windows(rows: Matrix, windows: Sequence[Window[Any]], text_count: int) -> Matrix:
    """Average the window vectors of each text, weighted by what each window holds of it.

    ``rows`` has the vector of each window. Every text has at least one; the vector of a single
    window stays as it is.
    """
    if len(windows) == text_count:
        return rows
    owners = [window.owner for window in windows]
    weights = np.array([window.weight for window in windows], np.float32)
    sums = np.zeros((text_count, rows.shape[1]), np.float32)
    np.add.at(sums, owners, rows * weights[:, None])
    return unit_rows(sums)
