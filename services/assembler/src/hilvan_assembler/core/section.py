"""The section that a candidate stands in."""

from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.kind import Layer, Section

PREFERENCE_CATEGORIES = frozenset({"preference", "preferences", "preferencia", "preferencias"})
MIN_PREFERENCE_IMPORTANCE = 0.8

_LAYER_SECTIONS = {
    Layer.MEMORY: Section.FACTS,
    Layer.NOTE: Section.NOTES,
    Layer.EPISODE: Section.EPISODES,
    Layer.PROCEDURE: Section.WORKFLOWS,
}


def section_of(candidate: Candidate) -> Section:
    """The section that a candidate would stand in."""
    return Section.PREFERENCES if is_preference(candidate) else _LAYER_SECTIONS[candidate.layer]


def is_preference(candidate: Candidate) -> bool:
    """Whether it is a standing preference: a user's own, stated as important."""
    return (
        candidate.layer is Layer.MEMORY
        and candidate.category.casefold() in PREFERENCE_CATEGORIES
        and candidate.owner.startswith("user:")
        and (candidate.importance or 0.0) >= MIN_PREFERENCE_IMPORTANCE
    )
