"""The final score: the formula, its constants, and each signal's bounds."""

import math
from dataclasses import asdict
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.assembler.values import AS_OF, entry, options

from hilvan_assembler.core import score as scoring
from hilvan_assembler.core.score import frequency, recency, score, signals
from hilvan_assembler.model.ranking import Signals

unit = st.floats(0, 1)


def test_the_constants_are_those_of_the_spec() -> None:
    """They change only with an A/B benchmark behind them."""
    assert asdict(scoring.WEIGHTS) == {
        "relevance": 0.50,
        "importance": 0.15,
        "confidence": 0.15,
        "recency": 0.10,
        "frequency": 0.10,
    }
    assert sum(asdict(scoring.WEIGHTS).values()) == pytest.approx(1)
    assert (scoring.HALF_LIFE_DAYS, scoring.FULL_FREQUENCY, scoring.NEUTRAL) == (30.0, 100, 0.5)


@given(st.builds(Signals, unit, unit, unit, unit, unit, boost=st.floats(0, 10)))
def test_a_score_is_boost_times_the_weighted_sum_at_most_1(values: Signals) -> None:
    """The formula of the spec, capped."""
    total = (
        0.50 * values.relevance
        + 0.15 * values.importance
        + 0.15 * values.confidence
        + 0.10 * values.recency
        + 0.10 * values.frequency
    )
    assert score(values) == pytest.approx(min(1, values.boost * total))
    assert 0 <= score(values) <= 1


def test_a_signal_that_nobody_stated_is_neutral() -> None:
    """A missing importance or confidence counts 0.5, a stated zero counts zero."""
    missing = signals(entry(), 0.7, options())
    stated = signals(entry(importance=0.0, confidence=0.0), 0.7, options())
    assert (missing.importance, missing.confidence, missing.relevance) == (0.5, 0.5, 0.7)
    assert (stated.importance, stated.confidence) == (0.0, 0.0)


def test_a_boost_is_its_categorys_factor() -> None:
    """Categories that the request does not name have the factor 1."""
    wanted = options(boosts={"decision": 2.0})
    assert signals(entry(category="decision"), 0.5, wanted).boost == 2.0
    assert signals(entry(category="stack"), 0.5, wanted).boost == 1.0


@pytest.mark.parametrize(("days", "value"), [(0, 1.0), (30, 0.5), (60, 0.25), (-5, 1.0)])
def test_recency_halves_every_thirty_days(days: int, value: float) -> None:
    """2^(−age / 30 days); what is newer than the request's moment counts 1."""
    assert recency(AS_OF - timedelta(days=days), AS_OF) == pytest.approx(value)


def test_recency_is_measured_from_the_requests_moment_and_the_update_time() -> None:
    """Another moment gives another age; the creation time plays no part."""
    row = entry(days=30, create_time=AS_OF - timedelta(days=900))
    assert signals(row, 0, options()).recency == pytest.approx(0.5)
    later = options(as_of=AS_OF + timedelta(days=30))
    assert signals(row, 0, later).recency == pytest.approx(0.25)


def test_recency_knows_zones_and_the_calendars_ends() -> None:
    """An offset is part of a moment, and two thousand years are just old."""
    bogota = timezone(timedelta(hours=-5))
    assert recency(AS_OF.astimezone(bogota), AS_OF) == 1.0
    assert recency(datetime.min.replace(tzinfo=UTC), AS_OF) == 0.0
    assert recency(datetime.max.replace(tzinfo=UTC), AS_OF) == 1.0


@given(st.integers(-5, 10**12), st.integers(0, 10**6))
def test_frequency_grows_slowly_and_ends(accesses: int, more: int) -> None:
    """Logarithmic, monotone, 0 for none and 1 from a hundred on."""
    value = frequency(accesses)
    assert 0 <= value <= 1
    assert frequency(accesses + more) >= value
    if accesses <= 0:
        assert value == 0
    elif accesses >= 100:
        assert value == 1
    else:
        assert value == pytest.approx(math.log(1 + accesses) / math.log(101))
