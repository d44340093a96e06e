"""A candidate in the ranking: its signals, score and verdict. Scores are 0 to 1."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals of a candidate as they were used, each 0..1; ``boost`` is a factor."""

    relevance: float
    importance: float
    confidence: float
    recency: float
    frequency: float
    boost: float
