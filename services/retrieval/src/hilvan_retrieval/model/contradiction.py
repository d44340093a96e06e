"""A contradiction: two entries that can't both hold."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FoundContradiction:
    """Two entries that can't both hold, by id, and why, for people."""

    older_id: str
    newer_id: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class RecordedContradiction:
    """A conflict with the hashes that both contents had when it was last seen, and how often."""

    found: FoundContradiction
    older_hash: str
    newer_hash: str
    seen_count: int = 1
