"""Joins the lists of both indexes into candidates, and finds the similar pairs among them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hilvan_retrieval.model.embedding import Calibration, Matrix, Vector
from hilvan_retrieval.model.entry import Entry, Layer, Uid
from hilvan_retrieval.model.index import Hit, Source

ListKey = tuple[Source, Layer]

MOST_PAIRS = 1_000
"""Similar pairs in one answer: enough for hundreds of candidates, and 12 kB."""

_HAIR = 1e-5


@dataclass(frozen=True, slots=True)
class Found:
    """What each source said of one entry: its score and its rank from 1, or None."""

    cosine: float | None = None
    vector_rank: int | None = None
    bm25: float | None = None
    keyword_rank: int | None = None

    @property
    def best(self) -> float:
        """The score of the only source that was asked; of both, the cosine."""
        score = self.bm25 if self.cosine is None else self.cosine
        return 0.0 if score is None else score


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that a source found, as the record has it."""

    entry: Entry
    found: Found
    similarity: float | None
    muted: bool = False


@dataclass(frozen=True, slots=True)
class ListReport:
    """What is known of one list: an entry outside a full one scores at most ``last_score``."""

    layer: Layer
    source: Source
    hit_count: int
    exhausted: bool
    last_score: float


@dataclass(frozen=True, slots=True)
class SimilarPairs:
    """Pairs of candidates by index, ``left < right``, with calibrated similarity."""

    left: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    right: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    similarity: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))


def merge(lists: Mapping[ListKey, Sequence[Hit]]) -> dict[Uid, Found]:
    """Each entry once, with what both sources said; keyword hits need no vector hit."""
    by_meaning: dict[Uid, tuple[float, int]] = {}
    by_words: dict[Uid, tuple[float, int]] = {}
    for (source, _), hits in lists.items():
        target = by_meaning if source is Source.VECTOR else by_words
        for rank, hit in enumerate(hits, start=1):
            target[hit.uid] = (hit.score, rank)
    missing = (None, None)
    return {
        uid: Found(*by_meaning.get(uid, missing), *by_words.get(uid, missing))
        for uid in by_meaning | by_words
    }


def reports(lists: Mapping[ListKey, Sequence[Hit]], limit: int) -> list[ListReport]:
    """One report a list."""
    return [
        ListReport(layer, source, len(hits), len(hits) < limit, hits[-1].score if hits else 0.0)
        for (source, layer), hits in lists.items()
    ]


def similar_pairs(
    vectors: Sequence[Vector | None], calibration: Calibration, floor: float
) -> SimilarPairs:
    """Pairs whose calibrated similarity is at least the floor; no vector, no pair.

    The floor is a value of the calibrated scale. Of more than `MOST_PAIRS` the most similar stay:
    in a store of one topic nearly everything is a little alike. The cost is one product of the
    matrix with itself: 0.8 ms for 300 vectors of 1,024 dimensions (`measured.md`, section 2).
    """
    present = [index for index, vector in enumerate(vectors) if vector is not None]
    if len(present) < 2:  # noqa: PLR2004 (a pair)
        return SimilarPairs()
    matrix: Matrix = np.stack([vector for vector in vectors if vector is not None])
    cosine = matrix @ matrix.T
    # The map is applied to what is left only; a hair below the floor, for the inverse is rounded.
    left, right = np.nonzero(np.triu(cosine >= calibration.inverse(floor) - _HAIR, k=1))
    similarity = calibration(cosine[left, right])
    chosen = np.flatnonzero(similarity >= floor)
    if chosen.size > MOST_PAIRS:
        by_similarity = np.argsort(-similarity[chosen], kind="stable")
        chosen = np.sort(chosen[by_similarity[:MOST_PAIRS]])
    index = np.asarray(present, dtype=np.int32)
    return SimilarPairs(index[left[chosen]], index[right[chosen]], similarity[chosen])
