"""A seeded corpus and its questions, on which an engine is compared with the oracle."""

import random

from support.retrieval.index_documents import NOW_MS, document, only

from hilvan_retrieval.model.entry import FOREVER_MS, Layer
from hilvan_retrieval.model.index import IndexDocument, KeywordQuery

STEMS = ("trabaj", "mes", "año", "room", "plan")
ENDINGS = ("", "s", "ar", "ando", "ados", "ing", "ed", "er", "mente")


def corpus(seed: int, most_words: int) -> list[IndexDocument]:
    """Make 600 documents of two tenants; frequent words are much more frequent."""
    chance = random.Random(seed)  # noqa: S311 - seeded data
    words = [stem + ending for stem in STEMS for ending in ENDINGS]
    return [
        document(
            f"m{number}",
            " ".join(
                words[min(int(chance.paretovariate(0.6)), len(words)) - 1]
                for _ in range(chance.randint(1, most_words))
            ),
            tenant=chance.choice(["acme", "other"]),
            owner=chance.choice(["user:ana", "user:luis", "project:p1"]),
            layer=chance.choice([Layer.MEMORY, Layer.EPISODE]),
            category=chance.choice(["", "a", "b"]),
            tags=chance.sample(["x", "y", "z"], k=chance.randint(0, 2)),
            live_from_ms=chance.choice([0, 0, NOW_MS, NOW_MS + 1]),
            live_until_ms=chance.choice([FOREVER_MS, FOREVER_MS, NOW_MS, NOW_MS + 1]),
        )
        for number in range(600)
    ]


def questions(seed: int) -> list[KeywordQuery]:
    """Make 60 questions under every kind of filter."""
    chance = random.Random(seed)  # noqa: S311 - seeded data
    return [
        KeywordQuery(
            only(
                *chance.sample(["user:ana", "user:luis", "project:p1"], k=chance.randint(1, 3)),
                tenant=chance.choice(["acme", "other"]),
                layer=chance.choice([Layer.MEMORY, Layer.EPISODE]),
                as_of_ms=chance.choice([None, NOW_MS]),
                muted=chance.choice([(), [("user:ana", "a")]]),
                excluded=chance.choice([(), [document(f"m{n}").uid for n in range(0, 600, 2)]]),
                categories=chance.choice([(), ["a", "b"]]),
                tags=chance.choice([(), ["x"], ["y", "z"]]),
            ),
            " ".join(stem + chance.choice(ENDINGS) for stem in STEMS[:3]),
            600,
        )
        for _ in range(60)
    ]
