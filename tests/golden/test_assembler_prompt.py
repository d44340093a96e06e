"""Golden prompts: did the rendered text change?

After a wanted change run with ``HILVAN_RENEW_GOLDEN=1`` and read the diff in git.
"""

import difflib
import hashlib
import os
import random
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from support.assembler.values import AS_OF, crowded_turn, retrieved, team_curation, team_entries

from hilvan_assembler.adapters.contradiction import evidence_judge
from hilvan_assembler.core.pipeline import assemble
from hilvan_assembler.model.assembly import Assembly
from hilvan_assembler.model.candidate import Retrieved
from hilvan_assembler.model.kind import Tier
from hilvan_assembler.model.options import Fusion, Options
from hilvan_kit.tokens import load_encoding

HERE = Path(__file__).parent
RENEW = "HILVAN_RENEW_GOLDEN"
OURS = {"user:ana", "project:prj-despacho"}
TURNS = {
    "es": (
        "¿Cuándo es la próxima revisión del motor de rutas y quién la prepara?",
        "Europe/Madrid",
    ),
    "en": ("How does Despacho store its orders, and how do we deploy it?", "America/Bogota"),
}


def answer(query: str) -> Retrieved:
    """What a keyword source would find: common words count, the similarity of pairs as well."""
    asked = said(query)
    rows = [
        replace(each, bm25=float(hits), similarity=None, keyword_rank=None)
        for each in team_entries()
        if each.owner in OURS and (hits := len(asked & said(each.text + each.title)))
    ]
    words = {each.id: said(each.text) for each in rows}
    pairs = {
        (a, b): 0.75 + 0.2 * overlap
        for n, a in enumerate(words)
        for b in list(words)[n + 1 :]
        if (overlap := len(words[a] & words[b]) / len(words[a] | words[b])) > 0.4
    }
    return retrieved(*rows, pairs=pairs)


def said(text: str) -> frozenset[str]:
    """The longer words of a text."""
    return frozenset(re.findall(r"\w{4,}", text.casefold()))


@pytest.mark.parametrize("language", TURNS)
def test_the_prompt_is_the_golden_one(language: str) -> None:
    """The same request on the sample team's data gives the bytes that were agreed on."""
    query, zone = TURNS[language]
    wanted = Options(
        as_of=datetime(2026, 11, 23, 12, tzinfo=UTC),
        budgets={
            Tier.IDENTITY: 400,
            Tier.PINNED: 600,
            Tier.MEMORIES: 700,
            Tier.NOTES: 0,
            Tier.EPISODES: 400,
            Tier.PROCEDURES: 300,
        },
        fusion=Fusion(vector_weight=0, keyword_weight=1),
        zone=ZoneInfo(zone),
    )
    counter = load_encoding("o200k_base")
    made = assemble(answer(query), team_curation(4), wanted, counter, evidence_judge).prompt
    path = HERE / f"assembler_{language}.txt"
    if os.environ.get(RENEW):
        path.write_text(made)
    agreed = path.read_text() if path.exists() else ""
    diff = "".join(
        difflib.unified_diff(
            agreed.splitlines(keepends=True), made.splitlines(keepends=True), path.name, "now"
        )
    )
    assert made == agreed, f"wanted? then run with {RENEW}=1\n{diff}"


def crowded(found: Retrieved | None = None) -> Assembly:
    """A crowded turn, explained."""
    turn, curated = crowded_turn()
    counter = load_encoding("o200k_base")
    wanted = Options(as_of=AS_OF)
    return assemble(found or turn, curated, wanted, counter, evidence_judge, explain=True)


def test_shuffled_candidates_give_the_same_bytes() -> None:
    """The order in which retrieval answers leaves no trace in a crowded turn."""
    turn, _ = crowded_turn()
    expected = crowded()
    dice = random.Random(5)  # noqa: S311 (seeded on purpose)
    for _ in range(10):
        order = list(range(len(turn.candidates)))
        dice.shuffle(order)
        place = {old: new for new, old in enumerate(order)}
        pairs = [
            replace(
                pair,
                left=min(place[pair.left], place[pair.right]),
                right=max(place[pair.left], place[pair.right]),
            )
            for pair in turn.pairs
        ]
        dice.shuffle(pairs)
        shuffled = Retrieved(tuple(turn.candidates[i] for i in order), tuple(pairs), turn.lists)
        made = crowded(shuffled)
        assert (made.prompt, made.items) == (expected.prompt, expected.items)
        assert sorted(map(repr, made.decisions)) == sorted(map(repr, expected.decisions))


def fingerprint() -> str:
    """Of everything that a crowded turn's assembly tells."""
    made = crowded()
    return hashlib.sha256(repr((made.prompt, made.items, made.decisions)).encode()).hexdigest()


def test_every_process_and_hash_seed_gives_the_same_bytes() -> None:
    """Nothing depends on the order of a set or on where the process runs."""
    script = (
        f"import sys; sys.path[:0] = [{str(HERE)!r}, {str(HERE.parent)!r}]\n"
        "import test_assembler_prompt as golden; print(golden.fingerprint())"
    )
    made = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for seed in ("0", "1", "4242")
    }
    assert made == {fingerprint()}
