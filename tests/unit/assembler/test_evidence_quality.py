"""Precision and recall of the contradiction evidence on the labelled pairs."""

import json
from typing import Any

import pytest
from support.paths import DATA

from hilvan_assembler.core.evidence import judge, read

PAIRS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (DATA / "contradictions.jsonl").read_text(encoding="utf-8").splitlines()
]
LATER = (4, 6)
"""Held batches in the styles of memory extractors; the rules were written after batch 4, and all
but a last round before batch 6."""


def reaches_the_targets(pairs: list[dict[str, Any]]) -> None:
    """At least 90 % of the conflicts found are conflicts, and 60 % of all are found."""
    found = [p["conflict"] for p in pairs if judge(read(p["older"]), read(p["newer"]))]
    precision = sum(found) / len(found)
    recall = sum(found) / sum(p["conflict"] for p in pairs)
    print(f"{len(pairs)} pairs, precision {precision:.3f}, recall {recall:.3f}")  # noqa: T201 - the figures are the point
    assert precision >= 0.90
    assert recall >= 0.60


@pytest.mark.parametrize("language", ["en", "es", "mixed"])
@pytest.mark.parametrize("split", ["dev", "held"])
def test_precision_and_recall_reach_their_targets(split: str, language: str) -> None:
    """Each half reaches the targets in each language."""
    reaches_the_targets([p for p in PAIRS if p["split"] == split and p["language"] == language])


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("batch", LATER)
def test_so_do_the_pairs_of_other_domains(batch: int, language: str) -> None:
    """Health, travel, support and notes reach the targets too, each batch by itself."""
    reaches_the_targets([p for p in PAIRS if p["batch"] == batch and p["language"] == language])


def test_both_halves_are_balanced() -> None:
    """Conflicts are 40 to 60 % of each half and main language, so precision means something."""
    for split in ("dev", "held"):
        for language in ("en", "es"):
            labels = [
                p["conflict"] for p in PAIRS if (p["split"], p["language"]) == (split, language)
            ]
            assert len(labels) >= 100
            assert 0.4 <= sum(labels) / len(labels) <= 0.6


def test_no_pair_stands_in_both_halves() -> None:
    """The held half shares no pair with the half that rules were tuned on."""
    halves = [
        {(p["older"], p["newer"]) for p in PAIRS if p["split"] == split}
        for split in ("dev", "held")
    ]
    assert not halves[0] & halves[1]
