"""The frozen values of assembly. Times are aware datetimes in UTC, scores are 0..1."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from enum import StrEnum


class Layer(StrEnum):
    """What kind of entry a candidate is."""

    MEMORY = "memory"
    EPISODE = "episode"
    PROCEDURE = "procedure"
    NOTE = "note"


class Source(StrEnum):
    """A source of candidates."""

    VECTOR = "vector"
    KEYWORD = "keyword"


class Section(StrEnum):
    """A part of the prompt; the order here is the order there."""

    IDENTITY = "identity"
    PINNED = "pinned"
    PREFERENCES = "preferences"
    FACTS = "facts"
    NOTES = "notes"
    EPISODES = "episodes"
    WORKFLOWS = "workflows"


class Tier(StrEnum):
    """A budget; preferences and facts share one."""

    IDENTITY = "identity"
    PINNED = "pinned"
    MEMORIES = "memories"
    NOTES = "notes"
    EPISODES = "episodes"
    PROCEDURES = "procedures"


TIER_OF = {
    Section.IDENTITY: Tier.IDENTITY,
    Section.PINNED: Tier.PINNED,
    Section.PREFERENCES: Tier.MEMORIES,
    Section.FACTS: Tier.MEMORIES,
    Section.NOTES: Tier.NOTES,
    Section.EPISODES: Tier.EPISODES,
    Section.WORKFLOWS: Tier.PROCEDURES,
}


class Reason(StrEnum):
    """Why a candidate is in or out."""

    RENDERED = "rendered"
    DUPLICATE_OF = "duplicate_of"
    CONTRADICTED_BY = "contradicted_by"
    SUPERSEDED_BY = "superseded_by"
    BELOW_MIN_FINAL = "below_min_final"
    BELOW_MIN_SEMANTIC = "below_min_semantic"
    OVER_BUDGET = "over_budget"
    TOO_LARGE = "too_large"
    MUTED = "muted"
    SECTION_OFF = "section_off"
    AFTER_CUT = "after_cut"
    ALREADY_PINNED = "already_pinned"
    INACTIVE = "inactive"
    MISSING = "missing"
    MUTES_UNKNOWN = "mutes_unknown"


class EvidenceKind(StrEnum):
    """What shows that two statements can't both hold now."""

    POLARITY = "polarity"
    CHANGED_VALUE = "changed_value"
    CHANGED_NUMBER = "changed_number"
    CHANGED_DATE = "changed_date"
    STATE_CHANGE = "state_change"


@dataclass(frozen=True, slots=True)
class Conflict:
    """A decision and its evidence: the two pieces of text that exclude each other.

    ``confidence`` in 0..1 ranks the rules by how much they assume; it is no probability.
    """

    kind: EvidenceKind
    older_span: str
    newer_span: str
    confidence: float


@dataclass(frozen=True, slots=True)
class FoundConflict:
    """An entry that a newer one contradicts; the same pair is the same finding."""

    older_id: str
    newer_id: str
    evidence: str = field(default="", compare=False)


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
class PinnedNote:
    """A pinned note in its order. ``loaded`` is curation's own verdict on it."""

    id: str
    title: str
    text: str
    loaded: bool = True
    reason: Reason = Reason.RENDERED


@dataclass(frozen=True, slots=True)
class IdentityBlock:
    """A piece of who the assistant is."""

    id: str
    group: str
    kind: str
    text: str
    active: bool = True
    order: int = 0


@dataclass(frozen=True, slots=True)
class Curated:
    """What curation answered: pins and identity in order, and what is muted.

    ``vouched_for`` are the owners of whom it is known what is muted; None: everybody.
    """

    pins: tuple[PinnedNote, ...] = ()
    identity: tuple[IdentityBlock, ...] = ()
    muted: frozenset[tuple[str, str]] = frozenset()
    vouched_for: frozenset[str] | None = None

    @property
    def loaded_pins(self) -> tuple[PinnedNote, ...]:
        """The pins that curation loads, in their order."""
        return tuple(pin for pin in self.pins if pin.loaded)

    @property
    def active_identity(self) -> tuple[IdentityBlock, ...]:
        """The blocks that are in use, in their order."""
        return tuple(block for block in self.identity if block.active)


class FusionMethod(StrEnum):
    """How two lists become one."""

    CONVEX = "convex"
    RECIPROCAL_RANK = "reciprocal_rank"


@dataclass(frozen=True, slots=True)
class Fusion:
    """Fusion of the sources. A weight of 0 is a source that is not asked."""

    method: FusionMethod = FusionMethod.CONVEX
    vector_weight: float = 0.4
    keyword_weight: float = 0.6
    rank_constant: int = 10

    def weight(self, source: Source) -> float:
        """The weight of a source."""
        return self.vector_weight if source is Source.VECTOR else self.keyword_weight


DEFAULT_BUDGETS: Mapping[Tier, int] = {
    Tier.IDENTITY: 500,
    Tier.PINNED: 2_000,
    Tier.MEMORIES: 2_000,
    Tier.NOTES: 0,
    Tier.EPISODES: 1_000,
    Tier.PROCEDURES: 500,
}
"""Tokens a tier (spec, section 4, step 6)."""


@dataclass(frozen=True, slots=True)
class Options:
    """How one prompt is assembled, every default filled in."""

    as_of: datetime
    budgets: Mapping[Tier, int] = field(default_factory=lambda: DEFAULT_BUDGETS)
    min_final: float = 0.0
    min_semantic: float = 0.0
    boosts: Mapping[str, float] = field(default_factory=dict)
    fusion: Fusion = field(default_factory=Fusion)
    sections: frozenset[Section] = frozenset(Section)
    zone: tzinfo = UTC


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals of a candidate as they were used, each 0..1; ``boost`` is a factor."""

    relevance: float
    importance: float
    confidence: float
    recency: float
    frequency: float
    boost: float


@dataclass(frozen=True, slots=True)
class Item:
    """A rendered item. ``merged`` are the ids that say the same and stand behind it."""

    id: str
    section: Section
    token_count: int
    score: float | None = None
    merged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RenderedSection:
    """A section as rendered; an empty one has no text and no tokens."""

    section: Section
    text: str
    token_count: int
    token_budget: int
    item_count: int
    prefix_fingerprint: str

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the section's text in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about one candidate, pinned note or identity block."""

    id: str
    section: Section
    reason: Reason
    other_id: str = ""
    detail: str = ""
    signals: Signals | None = None
    score: float | None = None
    rank_before: int | None = None
    rank_after: int | None = None
    token_count: int = 0
    candidate: Candidate | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the caller may want to mend."""

    code: str
    description: str
    id: str


@dataclass(frozen=True, slots=True)
class Assembly:
    """A prompt with everything that is known about it."""

    prompt: str
    token_count: int
    sections: tuple[RenderedSection, ...]
    items: tuple[Item, ...]
    decisions: tuple[Decision, ...] = ()
    notices: tuple[Notice, ...] = ()
    no_relevant_memory: bool = False
    conflicts: tuple[FoundConflict, ...] = ()


class PartStatus(StrEnum):
    """What became of a part of the answer that is missing."""

    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Degradation:
    """A part of the answer that is missing."""

    part: str
    status: PartStatus


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and the metadata that proves it to the other services."""

    tenant: str
    user: str
    metadata: tuple[tuple[str, str], ...]


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


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a scope as curation resolved it; ``wire`` is its message, passed through."""

    note_id: str
    is_memory: bool
    muted: bool
    wire: object


@dataclass(frozen=True, slots=True)
class CurationAnswer:
    """What curation answered of a scope."""

    curated: Curated
    elements: tuple[Element, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionOpening:
    """An opened session; ``wire`` is curation's message, passed through."""

    session_id: str
    since: datetime | None
    wire: object


@dataclass(frozen=True, slots=True)
class Changed:
    """An entry of a project; ``wire`` is its message, passed through."""

    category: str
    owner: str
    update_time: datetime
    is_note: bool
    wire: object


@dataclass(frozen=True, slots=True)
class Brief:
    """The caller's projects and a scope's categories, as messages passed through."""

    projects: tuple[object, ...]
    categories: tuple[tuple[str, bool, object], ...]
