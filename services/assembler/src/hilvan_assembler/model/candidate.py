"""A candidate: an entry that retrieval found, how it is asked for, and what is answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.entry import Entry
from hilvan_assembler.model.kind import Layer, Source


@dataclass(frozen=True, slots=True)
class Candidate(Entry):
    """An entry that a source found. What a source did not say is None; ranks count from 1.

    ``similarity`` is the cosine on the calibrated scale, 0 to 1.
    """

    cosine: float | None = None
    similarity: float | None = None
    vector_rank: int | None = None
    bm25: float | None = None
    keyword_rank: int | None = None
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
class Pair:
    """Two candidates by index, ``left < right``, with their calibrated similarity."""

    left: int
    right: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What retrieval answered."""

    candidates: tuple[Candidate, ...] = ()
    pairs: tuple[Pair, ...] = ()
    lists: tuple[ListReport, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """What retrieval is asked. ``owners`` None is everything that the caller can reach."""

    query: str
    layers: tuple[Layer, ...]
    owners: tuple[str, ...] | None
    limit: int
    as_of: datetime | None = None
    sources: tuple[Source, ...] = tuple(Source)
    include_muted: bool = False
    pair_similarity_floor: float | None = None
    require_all_sources: bool = False


@dataclass(frozen=True, slots=True)
class RetrievalAnswer:
    """What retrieval answered, what of it is missing, and seconds by stage.

    ``mutes_age_seconds`` is how long ago curation confirmed retrieval's mutes; None: never.
    """

    retrieved: Retrieved
    degraded: tuple[Degradation, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    mutes_age_seconds: float | None = None
