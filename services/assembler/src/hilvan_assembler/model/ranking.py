"""A candidate on its way into the prompt. Each stage of the pipeline gives a new value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.contradiction import FoundContradiction
from hilvan_assembler.model.kind import Reason

Neighbours = Mapping[str, Sequence[tuple[str, float]]]
"""By id, the other's id and the calibrated similarity, 0 to 1, of every pair that matters."""


class Signals(NamedTuple):
    """The signals of a candidate as they were used, each 0 to 1; ``boost`` is a factor."""

    relevance: float
    importance: float
    confidence: float
    recency: float
    frequency: float
    boost: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a candidate is out.

    ``other_id`` names the one that stands instead, ``detail`` gives the evidence or the numbers
    for people. ``contradiction`` is what retrieval is told, where a guess led to the verdict.
    """

    reason: Reason
    other_id: str = ""
    detail: str = ""
    contradiction: FoundContradiction | None = None


class RankedCandidate(NamedTuple):
    """A candidate with all that the pipeline has found out about it so far.

    A tuple, because each stage makes hundreds of them, and a tuple is made in half the time.

    Attributes:
        candidate: the entry as retrieval found it.
        relevance: the fused relevance, 0 to 1.
        verdict: why it is out; None while it stands.
        duplicates: the candidates that say the same and are out for it, the best first.
        signals: what the score was made of; None before it was scored.
        score: the final score, 0 to 1.
    """

    candidate: Candidate
    relevance: float
    verdict: Verdict | None = None
    duplicates: tuple["RankedCandidate", ...] = ()
    signals: Signals | None = None
    score: float = 0.0

    @property
    def id(self) -> str:
        """The entry's id."""
        return self.candidate.id

    @property
    def stands(self) -> bool:
        """Whether nothing has put it out yet."""
        return self.verdict is None

    def judged(self, verdict: Verdict) -> "RankedCandidate":
        """The candidate after it was put out."""
        return self._replace(verdict=verdict)

    def standing_for(self, duplicates: Sequence["RankedCandidate"]) -> "RankedCandidate":
        """The candidate with those that say the same behind it."""
        return self._replace(duplicates=tuple(duplicates))
