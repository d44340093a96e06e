"""One corpus and its questions for every engine, and what it means that two answers agree.

The corpus is seeded: Spanish, English, CJK and code, several tenants, owners, layers, categories
and tags, validity, supersession, near-duplicates and equal texts.
"""

import asyncio
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path

from support.retrieval.index_documents import NOW_MS, only
from support.retrieval.record import ANA, BOB, DESK, HOME, NOW, T0

from hilvan_retrieval.adapters.embedding.description import describe
from hilvan_retrieval.adapters.embedding.hashing import HashingEmbedder
from hilvan_retrieval.adapters.embedding.onnx import OnnxEmbedder
from hilvan_retrieval.core.analysis import document_tokens
from hilvan_retrieval.core.index import document
from hilvan_retrieval.model.embedding import Vector
from hilvan_retrieval.model.entry import Entry, Layer, Uid, entry_uid
from hilvan_retrieval.model.index import Filter, Hit, IndexDocument
from hilvan_retrieval.ports.embedding import Embedder

SIZE = 2_000
QUESTIONS = 300
TENANTS = ("acme", "acme-eu-1", "東京")
OWNERS = (ANA, BOB, DESK, HOME)
LAYERS = (Layer.MEMORY, Layer.EPISODE, Layer.PROCEDURE)
CATEGORIES = ("", "work", "salud/hábitos", "会議")
TAGS = ("x", "y z", "ñ", "#1")
ENDS = (None, None, None, NOW - timedelta(days=1), NOW, NOW + timedelta(days=1))

ENGLISH = """the warehouse closed ticket room plan deploys deployed deployment meeting meetings
 boiler leaks leaking kiln pottery harbour crane painted painting router restarts at noon budget
 approved of quarter team moved moving office keys archive Friday"""
SPANISH = """la reunión reuniones del año es el miércoles almacén cerró cerrado billete sala planes
 trabajar trabajando trabajaba en Bilbao decisión decisiones caldera pierde grúa pintada puerto
 presupuesto aprobado equipo oficina llaves archivo médico ano niño"""
CJK = """東京の会議室は三階です 予約はカイギシツで がっこうへいく 会议室在三楼 预算已批准
 오늘회의는취소 창고는금요일에 倉庫の鍵 ｶｲｷﾞｼﾂ"""
CODE = """getUserName get_user_name QX-4471 QX-4472 os.path.join /var/log/syslog C++17 c# v1.2.3
 v1.2.4 HTTPServer http_server e-mail 20:00 kebab-case-name 1.23 12.3 user@example.org"""
WORDS = tuple(text.split() for text in (ENGLISH, SPANISH, CJK, CODE))

ODD = ('C++ (v2): "fix" AND', "*", "/var/log", "m1:x OR y~2^3", "", "🎉", "the of", "a\x00\x07b")


@dataclass(frozen=True, slots=True)
class Stored:
    """An entry of a tenant."""

    tenant: str
    entry: Entry

    @property
    def uid(self) -> Uid:
        """Its key in every index."""
        return entry_uid(self.tenant, self.entry.id)


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is stored, and the vectors of its texts and of its questions."""

    stored: Sequence[Stored]
    questions: Sequence[tuple[Filter, str, int]]
    passages: Mapping[str, Vector]
    queries: Mapping[str, Vector]
    dimensions: int

    def documents(self, stored: Sequence[Stored]) -> list[IndexDocument]:
        """What indexes are given of entries."""
        return [
            document(each.tenant, each.uid, each.entry, self.passages[each.entry.searchable_text])
            for each in stored
        ]

    @property
    def changed(self) -> list[Stored]:
        """A tenth of the entries, each other than it was: in text, or in what filters read."""
        texts = sorted(self.passages)
        return [
            replace(each, entry=replace(each.entry, text=texts[n % len(texts)]))
            if n % 2
            else replace(each, entry=replace(each.entry, category="work", tags=("x",), owner=BOB))
            for n, each in enumerate(self.stored[::10])
        ]

    @property
    def deleted(self) -> Sequence[Stored]:
        """A twentieth of the entries; none of those that change."""
        return self.stored[5::20]

    @property
    def after(self) -> list[Stored]:
        """What there is when all of that was done."""
        gone = {each.uid for each in self.deleted}
        latest = {each.uid: each for each in (*self.stored, *self.changed)}
        return [each for uid, each in latest.items() if uid not in gone]


def open_embedder() -> Embedder:
    """The embedding model of this run: the real one where there is one."""
    if folder := os.environ.get("HILVAN_TEST_E5_DIR"):
        path = Path(folder)
        return OnnxEmbedder(path, describe(path, "multilingual-e5-small"))
    return HashingEmbedder(64)


@cache
def corpus() -> Corpus:
    """The corpus of this run; call it outside of an event loop."""
    chance = random.Random(4471)  # noqa: S311 - seeded data
    pool = [_text(chance) for _ in range(500)]
    pool += [_nearly(chance.choice(pool), chance) for _ in range(150)]
    stored = [_stored(n, chance.choice(pool), chance) for n in range(SIZE)]
    questions = [_question(chance, pool, stored) for _ in range(QUESTIONS)]
    texts = {text for _, text, _ in questions}
    passages, queries, dimensions = asyncio.run(_embedded(pool, sorted(texts)))
    return Corpus(stored, questions, passages, queries, dimensions)


async def _embedded(
    pool: Sequence[str], texts: Sequence[str]
) -> tuple[dict[str, Vector], dict[str, Vector], int]:
    embedder = open_embedder()
    try:
        matrix = await embedder.embed_passages(pool)
        queries = {text: await embedder.embed_query(text) for text in texts}
        return dict(zip(pool, matrix, strict=True)), queries, embedder.model.dimensions
    finally:
        await embedder.close()


def _text(chance: random.Random) -> str:
    """Words of one language, or of two; frequent words are much more frequent; few are long."""
    words = [*chance.choice(WORDS), *chance.choice(WORDS)]
    length = 80 if chance.random() < 0.02 else chance.randint(2, 12)
    places = (int(chance.paretovariate(0.6)) for _ in range(length))
    chance.shuffle(words)
    return " ".join(words[place % len(words)] for place in places)


def _nearly(text: str, chance: random.Random) -> str:
    """The same in other letters, or with something at its end."""
    return chance.choice((text.upper(), f"{text}.", f"{text}!", f"{text} {chance.randint(1, 9)}"))


def _stored(number: int, text: str, chance: random.Random) -> Stored:
    replaced = number > 0 and chance.random() < 0.1
    entry = Entry(
        id=f"m{number}",
        layer=chance.choices(LAYERS, (6, 3, 1))[0],
        owner=chance.choice(OWNERS),
        text=text,
        create_time=T0,
        update_time=T0 + timedelta(seconds=number),
        category=chance.choice(CATEGORIES),
        tags=tuple(chance.sample(TAGS, chance.randint(0, 2))),
        valid_from=chance.choice(ENDS),
        valid_until=chance.choice(ENDS),
        superseded_by=f"m{number - 1}" if replaced else "",
        supersede_time=NOW - timedelta(hours=chance.randint(0, 48)) if replaced else None,
    )
    return Stored(chance.choices(TENANTS, (7, 2, 1))[0], entry)


def _question(
    chance: random.Random, pool: Sequence[str], stored: Sequence[Stored]
) -> tuple[Filter, str, int]:
    """A filter of any kind, what is asked, and a limit that cuts now and then."""
    owners = [each.key for each in chance.sample(OWNERS, chance.randint(1, 4))]
    wanted = only(
        *owners,
        tenant=chance.choice(TENANTS),
        layer=chance.choice(LAYERS),
        as_of_ms=chance.choice((None, NOW_MS, NOW_MS, NOW_MS - 86_400_000)),
        muted=[(owner, chance.choice(CATEGORIES)) for owner in owners[: chance.randint(0, 2)]],
        excluded=chance.choice(([], [each.uid for each in chance.sample(stored, 200)])),
        categories=chance.choice(([], [], chance.sample(CATEGORIES, 2))),
        tags=chance.choice(([], [], chance.sample(TAGS, 2))),
    )
    words = chance.choice(pool).split() + chance.choice(WORDS)[:3]
    text = " ".join(chance.sample(words, chance.randint(1, len(words) - 1)))
    return wanted, chance.choice(ODD) if chance.random() < 0.1 else text, chance.choice(LIMITS)


LIMITS = (1, 10, 100, 5_000, 5_000)
"""The largest cuts nothing: it is more than there is."""

Slack = Callable[[Uid], float]
"""How far a document's score may be from the oracle's."""


EXACT_LENGTH = 40
"""Tokens up to which tantivy and Lucene keep a text's length as it is; beyond, in steps."""

OF_BM25, OF_LONG = 1e-4, 0.1
"""Share of a score: 32-bit sums in another order, and lengths in steps of an eighth."""


def of_bm25(expected: Sequence[Hit], texts: Mapping[Uid, str], more: float = 0.0) -> Slack:
    """The slack of BM25, a share of the oracle's score, and ``more`` of it."""
    scores = {hit.uid: hit.score for hit in expected}

    def slack(uid: Uid) -> float:
        is_exact = len(document_tokens(texts[uid]).stems) <= EXACT_LENGTH
        return scores[uid] * ((OF_BM25 if is_exact else OF_LONG) + more)

    return slack


def check(expected: Sequence[Hit], given: Sequence[Hit], limit: int, slack: Slack) -> None:
    """See that an answer is the oracle's, which is not cut.

    The same documents, exactly, where the limit cuts nothing; where it cuts, as many and none that
    is worse. Scores and their order within the slack; `check_ties` is exact about equal texts.
    """
    scores = {hit.uid: hit.score for hit in expected}
    uids = [hit.uid for hit in given]
    assert len(set(uids)) == len(uids) == min(limit, len(expected))
    assert set(uids) <= scores.keys()
    for hit in given:
        assert abs(hit.score - scores[hit.uid]) <= slack(hit.uid), (hit, scores[hit.uid])
    for one, two in pairwise(uids):
        assert scores[one] + slack(one) >= scores[two] - slack(two), (one, two)
    if len(expected) > limit > 0:
        last = expected[limit - 1]
        for uid in uids:
            assert scores[uid] + slack(uid) >= last.score - slack(last.uid), (uid, last)


def check_ties(expected: Sequence[Hit], given: Sequence[Hit], texts: Mapping[Uid, str]) -> int:
    """See that of equal texts the first uids came, in their order; how many had an equal."""
    equals: dict[str, list[Uid]] = {}
    for hit in sorted(expected, key=lambda hit: hit.uid):
        equals.setdefault(texts[hit.uid], []).append(hit.uid)
    came: dict[str, list[Uid]] = {}
    for hit in given:
        came.setdefault(texts[hit.uid], []).append(hit.uid)
    for text, uids in came.items():
        assert uids == equals[text][: len(uids)], text
    return sum(len(uids) for uids in came.values() if len(uids) > 1)
