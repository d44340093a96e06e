"""A contradiction: two statements that can't both hold now, and the evidence."""

from dataclasses import dataclass, field

from hilvan_assembler.model.kind import EvidenceKind


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A decision and its evidence: the two pieces of text that exclude each other.

    ``confidence`` in 0..1 ranks the rules by how much they assume; it is no probability.
    """

    kind: EvidenceKind
    older_span: str
    newer_span: str
    confidence: float


@dataclass(frozen=True, slots=True)
class FoundContradiction:
    """An entry that a newer one contradicts; the same pair is the same finding."""

    older_id: str
    newer_id: str
    evidence: str = field(default="", compare=False)
