"""The final score: `boost · Σ weight · signal`, each signal in 0..1.

The weights are constants of the code. They change only with an A/B benchmark behind them; a test
holds them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.kind import Reason
from hilvan_assembler.model.options import Options
from hilvan_assembler.model.ranking import RankedCandidate, Signals, Verdict


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of the signals; they sum to 1."""

    relevance: float = 0.50
    importance: float = 0.15
    confidence: float = 0.15
    recency: float = 0.10
    frequency: float = 0.10


WEIGHTS = Weights()

NEUTRAL = 0.5
"""What a signal counts that nobody stated: neither for nor against."""

HALF_LIFE_DAYS = 30.0
FULL_FREQUENCY = 100
"""Accesses from which frequency counts fully."""

_DAY_SECONDS = 86_400.0


def scored(ranked: Sequence[RankedCandidate], options: Options) -> list[RankedCandidate]:
    """The candidates with their signals and score, and a verdict on those below the floor."""
    return [_scored(one, options) for one in ranked]


def _scored(one: RankedCandidate, options: Options) -> RankedCandidate:
    values = signals(one.candidate, one.relevance, options)
    total = score(values)
    verdict = one.verdict
    if verdict is None and total < options.min_final:
        detail = f"{total:.3f} is below {options.min_final:g}"
        verdict = Verdict(Reason.BELOW_MIN_FINAL, detail=detail)
    return RankedCandidate(one.candidate, one.relevance, verdict, one.duplicates, values, total)


def signals(candidate: Candidate, relevance: float, options: Options) -> Signals:
    """The signals of a candidate as they enter the score."""
    return Signals(
        relevance=relevance,
        importance=NEUTRAL if candidate.importance is None else candidate.importance,
        confidence=NEUTRAL if candidate.confidence is None else candidate.confidence,
        recency=recency(candidate.update_time, options.as_of),
        frequency=frequency(candidate.access_count),
        boost=options.boosts.get(candidate.category, 1.0),
    )


def score(values: Signals) -> float:
    """The formula, at most 1 whatever the boost."""
    weights = WEIGHTS
    return min(
        1.0,
        values.boost
        * (
            weights.relevance * values.relevance
            + weights.importance * values.importance
            + weights.confidence * values.confidence
            + weights.recency * values.recency
            + weights.frequency * values.frequency
        ),
    )


def recency(updated: datetime, as_of: datetime) -> float:
    """2^(−age / 30 days), from the request's own moment; 1 for what is newer than that."""
    days = (as_of - updated).total_seconds() / _DAY_SECONDS
    return float(2.0 ** (-max(0.0, days) / HALF_LIFE_DAYS))


def frequency(accesses: int) -> float:
    """log(1 + n) / log(1 + 100), at most 1, so that old favourites can't freeze the top."""
    return min(1.0, math.log1p(max(0, accesses)) / math.log1p(FULL_FREQUENCY))
