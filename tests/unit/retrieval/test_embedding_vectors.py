"""The arithmetic of embeddings."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilvan_retrieval.adapters.embedding.network import batches
from hilvan_retrieval.adapters.embedding.vectors import Window, join_windows, unit_rows
from hilvan_retrieval.errors import SourceUnavailable

components = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6)


@given(st.lists(components, min_size=1, max_size=8).filter(any))
def test_unit_rows_keep_their_direction(values: list[float]) -> None:
    """A unit row is float32, has length 1, and points where the given one does."""
    row = unit_rows(np.array([values]))[0]
    assert row.dtype == np.float32
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)
    assert np.dot(row, values) == pytest.approx(np.linalg.norm(values), rel=1e-4)


@pytest.mark.parametrize("fault", [0.0, math.nan, math.inf])
def test_a_row_without_direction_is_refused(fault: float) -> None:
    """A zero, NaN or infinite row is the model's failure, never a vector."""
    with pytest.raises(SourceUnavailable):
        unit_rows(np.array([[1.0, 0.0], [fault, 0.0]]))


def test_windows_are_averaged_by_weight() -> None:
    """A window that holds three times as much of its text counts three times."""
    rows = np.eye(3, dtype=np.float32)
    windows = [Window(0, 3, "aaa"), Window(0, 1, "b"), Window(1, 5, "ccccc")]
    joined = join_windows(rows, windows, 2)
    assert joined == pytest.approx(np.array([[3 / 10**0.5, 1 / 10**0.5, 0], [0, 0, 1]]))


@given(st.lists(st.integers(1, 40), max_size=40), st.integers(1, 100))
def test_batches_hold_every_window_once_and_keep_their_bound(
    lengths: list[int], bound: int
) -> None:
    """No window is lost or repeated; only a window that is too long itself passes the bound."""
    windows = [Window(0, length, [0] * length) for length in lengths]
    groups = batches(windows, bound)
    assert sorted(i for group in groups for i in group) == list(range(len(lengths)))
    for group in groups:
        assert len(group) == 1 or len(group) * max(lengths[i] for i in group) <= bound


def test_windows_of_like_length_share_a_run() -> None:
    """Little is padded: the short ones run together, the long ones too."""
    windows = [Window(0, n, [0] * n) for n in (10, 2, 10, 2)]
    assert batches(windows, 20) == [[1, 3], [0, 2]]
