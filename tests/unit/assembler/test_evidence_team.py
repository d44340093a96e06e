"""The contradictions of the sample team: all are found, and nothing else is taken for one."""

import asyncio
import json
import os
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from support.paths import TEAM

from hilvan_assembler.core.evidence import announces_change, judge, read
from hilvan_assembler.core.neighbour import CONTRADICTION_FROM, EXPLICIT_FROM
from hilvan_retrieval.adapters.embedding.description import describe
from hilvan_retrieval.adapters.embedding.onnx import OnnxEmbedder

E5_VARIABLE = "HILVAN_TEST_E5_DIR"

Entry = dict[str, Any]


def entries() -> dict[str, Entry]:
    """Entries by id, oldest first."""
    lines = (TEAM / "entries.jsonl").read_text(encoding="utf-8").splitlines()
    known = sorted(map(json.loads, lines), key=lambda each: str(each["create_time"]))
    return {each["id"]: each for each in known}


def listed(group: str) -> list[tuple[str, ...]]:
    """The ids of each row of a group of the table in the README."""
    rows = re.findall(
        rf"^\| {group}\d+ \|[^|]*\|([^|]*)\|", (TEAM / "README.md").read_text(), re.MULTILINE
    )
    return [tuple(re.findall(r"mem-\d+", row)) for row in rows]


def test_what_conflicts_is_what_the_readme_says() -> None:
    """Of all pairs of one owner and layer, those of groups C and S and no other conflict."""
    known = entries()
    statements = {key: read(each["text"]) for key, each in known.items()}
    found = {
        (older, newer)
        for older, newer in combinations(known, 2)
        if (known[older]["owner"], known[older]["layer"])
        == (known[newer]["owner"], known[newer]["layer"])
        and judge(statements[older], statements[newer])
    }
    contradictions = set(listed("C"))
    linked = {pair for chain in listed("S") for pair in combinations(chain, 2)}
    assert len(contradictions) == 15
    assert contradictions <= found <= contradictions | linked


def test_the_pairs_are_looked_at() -> None:
    """With the default model each lies in the band, or in reach of a text that announces it."""
    directory = os.environ.get(E5_VARIABLE)
    if not directory:
        pytest.skip(f"{E5_VARIABLE} names no directory made by the embedding's prepare command")
    known = entries()

    async def similarities() -> list[float]:
        embedder = OnnxEmbedder(Path(directory), describe(Path(directory), "multilingual-e5-small"))
        texts = [known[key]["text"] for pair in listed("C") for key in pair]
        rows = await embedder.embed_passages(texts)
        await embedder.close()
        return [
            float(embedder.model.calibration.of(float(older @ newer)))
            for older, newer in zip(rows[::2], rows[1::2], strict=True)
        ]

    for (_, newer), similarity in zip(listed("C"), asyncio.run(similarities()), strict=True):
        assert similarity >= (
            EXPLICIT_FROM if announces_change(known[newer]["text"]) else CONTRADICTION_FROM
        )
