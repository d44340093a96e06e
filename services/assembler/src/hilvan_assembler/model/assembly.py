"""An assembled prompt: its text, sections and items, and what was decided."""

import hashlib
from dataclasses import dataclass

from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.contradiction import FoundContradiction
from hilvan_assembler.model.kind import Reason, Section
from hilvan_assembler.model.ranking import Signals


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
    contradictions: tuple[FoundContradiction, ...] = ()
