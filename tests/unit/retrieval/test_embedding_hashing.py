"""The embedder without a model."""

import asyncio
import os
import subprocess
import sys

import numpy as np

from hilvan_retrieval.adapters.embedding.hashing import HashingEmbedder

_SHOW = (
    "import asyncio;"
    "from hilvan_retrieval.adapters.embedding.hashing import HashingEmbedder;"
    "print(asyncio.run(HashingEmbedder().embed_query('Ana moved to room 40')).tobytes().hex())"
)


async def _similarity(one: str, other: str) -> float:
    embedder = HashingEmbedder()
    rows = await embedder.embed_passages([one, other])
    return float(embedder.model.calibration(rows[0] @ rows[1]))


def test_vectors_are_equal_in_every_process() -> None:
    """Another process with another hash seed gives the same bytes."""
    expected = asyncio.run(HashingEmbedder().embed_query("Ana moved to room 40")).tobytes().hex()
    for seed in ("1", "2"):
        shown = subprocess.run(
            [sys.executable, "-c", _SHOW],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert shown.stdout.strip() == expected


async def test_case_accents_and_punctuation_dont_count() -> None:
    """Trivial variants are the same text."""
    assert await _similarity("La reunión del AÑO.", "la reunion del ano") > 0.99


async def test_the_scale_is_the_calibrated_one() -> None:
    """Unrelated texts sit under 0.6, a changed value in the duplicate or contradiction band."""
    assert await _similarity("Ana moved to room 40", "peanuts cause an allergy") < 0.6
    changed = await _similarity(
        "The weekly planning meeting is on Monday", "The weekly planning meeting is on Thursday"
    )
    assert 0.75 < changed < 0.92


async def test_the_dimensions_are_a_choice() -> None:
    """Every number of dimensions from 2 works and names its own vector space."""
    for dimensions in (2, 64, 512):
        embedder = HashingEmbedder(dimensions)
        vector = await embedder.embed_query("a b c")
        assert vector.shape == (dimensions,)
        assert embedder.model.id == f"hashing-{dimensions}"
        assert np.isfinite(vector).all()
