"""Conflicts below the band: looked for where the newer text itself tells a change."""

from typing import Any

import pytest
from support.assembler.pruning import pruned
from support.assembler.values import entry

from hilvan_assembler.adapters.contradiction import evidence_judge
from hilvan_assembler.core.neighbour import CONTRADICTION_FROM, EXPLICIT_FROM
from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.kind import Layer, Reason

OLDER, NEWER = "Ana's office is in room 12", "Ana moved to room 40"


def rows(older: str, newer: str, **fields: Any) -> list[Candidate]:
    """An entry ``a`` of last week, and a newer one ``b`` that the fields are of."""
    return [entry("a", older, days=7), entry("b", newer, days=1, **fields)]


def out(found: list[Candidate], similarity: float) -> dict[str, tuple[Reason, str]]:
    """What is out, with both that similar."""
    return pruned(found, {("a", "b"): similarity}, evidence_judge)[0]


def test_the_edges_are_those_of_the_decision() -> None:
    """Explicit changes from 0.55, all others from 0.75 (docs/decisions)."""
    assert (EXPLICIT_FROM, CONTRADICTION_FROM) == (0.55, 0.75)


@pytest.mark.parametrize("similarity", [EXPLICIT_FROM, 0.617, CONTRADICTION_FROM])
def test_a_newer_text_that_tells_a_change_reaches_further(similarity: float) -> None:
    """It contradicts what was said in other words, "in room 12" by "moved to room 40"."""
    assert out(rows(OLDER, NEWER), similarity) == {"a": (Reason.CONTRADICTED_BY, "b")}


@pytest.mark.parametrize(
    ("older", "newer", "similarity"),
    [
        (OLDER, NEWER, 0.549),
        (NEWER, OLDER, 0.7),
        ("Ana lives in Madrid", "Ana lives in Berlin", 0.7),
    ],
)
def test_nothing_else_does(older: str, newer: str, similarity: float) -> None:
    """Not what is too unlike, what only the older side tells, or what no side tells."""
    assert out(rows(older, newer), similarity) == {}


@pytest.mark.parametrize("fields", [{"owner": "user:luis"}, {"layer": Layer.PROCEDURE}])
@pytest.mark.parametrize("similarity", [0.6, 0.8, 0.99])
def test_never_between_owners_or_layers(fields: dict[str, Any], similarity: float) -> None:
    """What somebody else, or another layer, says contradicts nothing."""
    assert out(rows(OLDER, NEWER, **fields), similarity) == {}


def test_each_pair_counts_by_itself() -> None:
    """Of several unlike pairs only those whose newer text tells a change are looked at."""
    found = [*rows(OLDER, NEWER), entry("c", "Ana's office is in room 55", days=3)]
    pairs = {("a", "b"): 0.6, ("a", "c"): 0.6, ("b", "c"): 0.3}
    assert pruned(found, pairs, evidence_judge)[0] == {"a": (Reason.CONTRADICTED_BY, "b")}
