"""Values for tests of the assembler: candidates, what retrieval answers of them, a crowded turn."""

import itertools
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from support.paths import TEAM

from hilvan_assembler.core.score import WEIGHTS
from hilvan_assembler.model.assembly import Decision
from hilvan_assembler.model.candidate import Candidate, ListReport, Pair, Retrieved
from hilvan_assembler.model.contradiction import Contradiction
from hilvan_assembler.model.curation import Curated, IdentityBlock, PinnedNote
from hilvan_assembler.model.entry import Origin
from hilvan_assembler.model.kind import EvidenceKind, Layer, Source, Tier
from hilvan_assembler.model.options import Options
from hilvan_kit.tokens import TokenCounter

AS_OF = datetime(2026, 6, 1, 12, tzinfo=UTC)

WORDS = TokenCounter("words", lambda text: len(re.findall(r"\w+|[^\w\s]", text)))
"""A quick tokenizer whose counts add up, as those of tiktoken's encodings do."""

CHARACTERS = TokenCounter("characters", len)


@dataclass(frozen=True, slots=True)
class Grudge:
    """A tokenizer whose whole is more than its parts: it pays for every seam between lines."""

    name: str = "grudge"

    def count(self, text: str) -> int:
        """One token a line, and one for each seam between two of them."""
        return text.count("\n") + text.count("\n<")


def entry(entry_id: str = "m1", text: str = "", **fields: Any) -> Candidate:
    """A memory of ana's that the vector source found, unless the fields say otherwise.

    ``days`` is its age at `AS_OF`. A text that is not given is one of its own.
    """
    moment = AS_OF - timedelta(days=fields.pop("days", 1))
    known: dict[str, Any] = {
        "layer": Layer.MEMORY,
        "owner": "user:ana",
        "create_time": moment,
        "update_time": moment,
        "similarity": None if "bm25" in fields else 0.8,
    }
    return Candidate(id=entry_id, text=text or f"statement {entry_id}", **(known | fields))


def changed(candidate: Candidate, fields: Mapping[str, Any]) -> Candidate:
    """The candidate with other values for the fields of these names."""
    return replace(candidate, **fields)


def retrieved(
    *candidates: Candidate,
    pairs: Mapping[tuple[str, str], float] | None = None,
    full: Sequence[Source] = (),
    asked: Sequence[Source] = tuple(Source),
) -> Retrieved:
    """An answer with these candidates; ``pairs`` by ids; lists of ``full`` sources go on."""
    place = {each.id: index for index, each in enumerate(candidates)}
    found = tuple(
        Pair(min(place[a], place[b]), max(place[a], place[b]), value)
        for (a, b), value in (pairs or {}).items()
    )
    return Retrieved(candidates, found, _lists(candidates, full, asked))


def _lists(
    candidates: Sequence[Candidate], full: Sequence[Source], asked: Sequence[Source]
) -> tuple[ListReport, ...]:
    reports = []
    for layer, source in itertools.product(Layer, asked):
        given = (
            each.bm25 if source is Source.KEYWORD else each.similarity
            for each in candidates
            if each.layer is layer
        )
        scores = [score for score in given if score is not None]
        last = min(scores, default=0.0)
        reports.append(ListReport(layer, source, len(scores), source not in full, last))
    return tuple(reports)


def options(budgets: Mapping[Tier, int] | None = None, **fields: Any) -> Options:
    """Options at `AS_OF` with large budgets, so that nothing is left out for its size."""
    large = dict.fromkeys(Tier, 100_000)
    return Options(**{"as_of": AS_OF, "budgets": {**large, **(budgets or {})}, **fields})


def agrees(older: str, newer: str) -> Contradiction | None:
    """A judge that finds no contradiction."""
    del older, newer
    return None


def disputes(*pairs: tuple[str, str]) -> Any:
    """A judge that finds a contradiction between the texts of these pairs, either way around."""
    known = {frozenset(pair) for pair in pairs}

    def judge(older: str, newer: str) -> Contradiction | None:
        if frozenset((older, newer)) not in known:
            return None
        return Contradiction(EvidenceKind.CHANGED_VALUE, older, newer, 0.9)

    return judge


def by_id(decisions: Iterable[Decision]) -> dict[str, Decision]:
    """Decisions by what they are about."""
    return {each.id: each for each in decisions}


def recomputed(decision: Decision) -> float:
    """The score by the published formula, from nothing but the decision."""
    signals = decision.signals
    assert signals is not None
    names = ("relevance", "importance", "confidence", "recency", "frequency")
    total: float = sum(getattr(WEIGHTS, name) * getattr(signals, name) for name in names)
    return min(1.0, signals.boost * total)


@cache
def team_entries() -> tuple[Candidate, ...]:
    """The sample team's entries as candidates with made-up, fixed scores of both sources."""
    rows = [json.loads(line) for line in (TEAM / "entries.jsonl").read_text().splitlines()]
    return tuple(_team_entry(row) for row in rows)


def _team_entry(row: dict[str, Any]) -> Candidate:
    dice = zlib.crc32(row["id"].encode())
    created = datetime.fromisoformat(row["create_time"])
    return Candidate(
        id=row["id"],
        layer=Layer(row["layer"]),
        owner=f"{row['owner']['axis']}:{row['owner']['id']}",
        text=row["text"],
        create_time=created,
        update_time=datetime.fromisoformat(row.get("update_time", row["create_time"])),
        category=row["category"],
        title=row.get("title", ""),
        importance=row.get("importance"),
        confidence=row.get("confidence"),
        access_count=row.get("access_count", 0),
        topics=tuple(row.get("topics", ())),
        outcome=row.get("outcome", ""),
        steps=tuple(row.get("steps", ())),
        origin=Origin(thread=row.get("origin", {}).get("thread", "")),
        superseded_by=row.get("superseded_by", ""),
        similarity=dice % 997 / 997 if dice % 3 else None,
        bm25=dice % 1009 / 50 if dice % 3 != 1 else None,
    )


@cache
def crowded_turn(
    candidates: int = 300, pins: int = 30, pairs: int = 200
) -> tuple[Retrieved, Curated]:
    """The sample team's entries blown up to a crowded turn, its closest pairs by common words."""
    team = team_entries()
    copies = (
        replace(each, id=f"{each.id}-again", text=f"{each.text} Lo dijo otra vez.") for each in team
    )
    chosen = tuple(itertools.islice(itertools.chain(team, copies), candidates))
    words = [frozenset(re.findall(r"\w+", each.text.casefold())) for each in chosen]
    overlap = {
        (left, right): len(words[left] & words[right]) / len(words[left] | words[right])
        for left, right in itertools.combinations(range(len(chosen)), 2)
    }
    closest = sorted(overlap, key=lambda pair: (-overlap[pair], pair))[:pairs]
    similar = tuple(Pair(*pair, 0.75 + 0.24 * overlap[pair]) for pair in sorted(closest))
    return Retrieved(chosen, similar, _lists(chosen, (), tuple(Source))), team_curation(pins)


@cache
def team_curation(pins: int) -> Curated:
    """The sample team's notes as pins and its identity blocks."""
    files = sorted((TEAM / "vault").rglob("*.md"))
    bodies = [(path, path.read_text().rpartition("---\n")[2]) for path in files]
    notes = [pair for pair in bodies if "identity" not in pair[0].parts]
    blocks = [pair for pair in bodies if "identity" in pair[0].parts]
    return Curated(
        pins=tuple(
            PinnedNote(f"note-{number}", path.stem, body)
            for number, (path, body) in enumerate(itertools.islice(itertools.cycle(notes), pins))
        ),
        identity=tuple(
            IdentityBlock(
                f"block-{path.stem}", "soul", path.stem, body, path.stem != "pirata", number
            )
            for number, (path, body) in enumerate(blocks)
        ),
    )
