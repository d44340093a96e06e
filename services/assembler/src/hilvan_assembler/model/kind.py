"""The kinds of things: every enumeration of the assembler. It imports nothing of ours."""

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


class FusionMethod(StrEnum):
    """How two lists become one."""

    CONVEX = "convex"
    RECIPROCAL_RANK = "reciprocal_rank"


class PartStatus(StrEnum):
    """What became of a part of the answer that is missing."""

    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"


class ElementKind(StrEnum):
    """What an element of a scope is."""

    PIN = "pin"
    SET_ITEM = "set_item"
    MEMORY_CATEGORY = "memory_category"


class ElementVerdict(StrEnum):
    """Whether curation loads an element of a scope, and why not."""

    LOADED = "loaded"
    OVER_BUDGET = "over_budget"
    AFTER_CUT = "after_cut"
    OVER_ITEM_LIMIT = "over_item_limit"
    DUPLICATE = "duplicate"
    MUTED = "muted"
    MISSING = "missing"


class NoteChange(StrEnum):
    """What happened to a note since the last acknowledged session."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class View(StrEnum):
    """How much an answer explains: the prompt alone, or each decision as well."""

    BASIC = "basic"
    FULL = "full"
