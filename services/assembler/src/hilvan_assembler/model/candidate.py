"""A candidate: an entry that retrieval found, how it is asked for, and what is answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.kind import Layer, Source


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an entry came from; ``position`` is its place in ``thread``."""

    kind: str = ""
    uri: str = ""
    thread: str = ""
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that retrieval found. A signal that nobody stated is None.

    ``wire`` has a method ``message`` that gives the whole entry to a caller who wants it.
    """

    id: str
    layer: Layer
    owner: str
    text: str
    create_time: datetime
    update_time: datetime
    category: str = ""
    title: str = ""
    importance: float | None = None
    confidence: float | None = None
    access_count: int = 0
    topics: tuple[str, ...] = ()
    outcome: str = ""
    steps: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    origin: Origin = field(default_factory=Origin)
    superseded_by: str = ""
    content_hash: str = ""
    cosine: float | None = None
    similarity: float | None = None
    vector_rank: int | None = None
    bm25: float | None = None
    keyword_rank: int | None = None
    muted: bool = False
    wire: object = field(default=None, compare=False, repr=False)

    @property
    def note_id(self) -> str:
        """The note that a passage belongs to; empty for other layers."""
        return self.origin.uri if self.layer is Layer.NOTE else ""


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
