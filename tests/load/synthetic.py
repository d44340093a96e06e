"""A seeded memory store of many tenants, for load tests.

Texts are made of sentences on a few hundred topics; the vector of an entry is the real model's
vector of its topic's sentence, moved a little. So neighbours are neighbours in both indexes, and
loading 100,000 entries does not wait for 100,000 embeddings.
"""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from google.protobuf.timestamp_pb2 import Timestamp
from numpy.typing import NDArray

from hilvan.common.v1 import entry_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb

TENANTS = 50
USERS = 8
PROJECTS = 2
LAYERS = (
    (entry_pb2.LAYER_MEMORY, 0.7),
    (entry_pb2.LAYER_EPISODE, 0.2),
    (entry_pb2.LAYER_PROCEDURE, 0.1),
)
NOISE = 0.35
"""Length of the random step away from a topic's vector: cosines of a topic lie near 0.89."""

_NOW = datetime(2026, 11, 1, tzinfo=UTC)
_CATEGORIES = ("preference", "decision", "stack", "people", "schedule", "incident")
_WHO = ("Ana", "Luis", "Marta", "Kenji", "Zoë", "the team", "el equipo", "the customer")
_DID = (
    "prefers", "moved", "asked about", "decided on", "documented", "measured", "prefiere",
    "revisó", "pidió", "cambió", "explained", "postponed",
)  # fmt: skip
_WHAT = (
    "the billing export", "la base de datos de pedidos", "dark mode in the editor", "el informe",
    "the retry budget", "la reunión semanal", "the warehouse labels", "los permisos de acceso",
    "the onboarding guide", "the cache warm-up", "la copia de seguridad", "the mobile release",
    "the invoice template", "el contrato de soporte", "the search relevance", "la ruta del norte",
)  # fmt: skip
_WHY = (
    "because of the audit", "antes de fin de mes", "after the incident", "por el nuevo cliente",
    "to save two hours a week", "con la versión 3", "for the Berlin office", "sin fecha todavía",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Who:
    """One user of one tenant, with a project to work in, and how many entries its tenant has."""

    tenant: str
    user: str
    project: str
    entries: int


def topics() -> list[str]:
    """Sentences on topics, some hundreds of them."""
    return [
        f"{who} {did} {what}"
        for index, (who, did, what) in enumerate(itertools.product(_WHO, _DID, _WHAT))
        if index % 3 == 0
    ]


def sizes(total: int) -> list[int]:
    """Entries of each tenant: Zipf, the biggest with about a fifth of all."""
    weights = [1 / rank for rank in range(1, TENANTS + 1)]
    scale = total / sum(weights)
    counts = [max(1, int(scale * weight)) for weight in weights]
    counts[0] += total - sum(counts)
    return counts


def people(total: int) -> list[Who]:
    """One user of each tenant, the biggest tenant first."""
    return [
        Who(f"tenant-{place}", "user-0", f"tenant-{place}-project-0", count)
        for place, count in enumerate(sizes(total))
    ]


def records(
    tenant: int, count: int, sentences: Sequence[str], vectors: NDArray[np.float32], model: str
) -> Iterator[pb.ImportRecord]:
    """A tenant's entries with their vectors; the same for the same arguments."""
    rng = random.Random(tenant)
    noise = np.random.default_rng(tenant)
    kinds = [layer for layer, _ in LAYERS]
    weights = [weight for _, weight in LAYERS]
    for number in range(count):
        topic = rng.randrange(len(sentences))
        step = noise.standard_normal(vectors.shape[1])
        moved = np.asarray(vectors[topic] + NOISE * step / np.linalg.norm(step))
        vector = moved / np.linalg.norm(moved)
        layer = rng.choices(kinds, weights)[0]
        yield pb.ImportRecord(
            entry=_entry(rng, f"entry-{number}", tenant, layer, sentences[topic]),
            embedding=np.asarray(vector, dtype="<f4").tobytes(),
            embedding_model=model,
        )


def _entry(
    rng: random.Random, entry_id: str, tenant: int, layer: entry_pb2.Layer.ValueType, sentence: str
) -> entry_pb2.Entry:
    text = (
        f"{sentence} {rng.choice(_WHY)}; {rng.choice(_WHO)} {rng.choice(_DID)} {rng.choice(_WHAT)}"
    )
    stamp = Timestamp()
    stamp.FromDatetime(_NOW - timedelta(hours=rng.randrange(24 * 365)))
    entry = entry_pb2.Entry(
        id=entry_id,
        layer=layer,
        owner=_owner(rng, tenant),
        category=rng.choice(_CATEGORIES),
        text=f"{text}, ticket {rng.randrange(10_000)}.",
        importance=round(rng.random(), 2),
        confidence=round(rng.uniform(0.4, 1), 2),
        access_count=rng.randrange(50),
        create_time=stamp,
        update_time=stamp,
    )
    if layer == entry_pb2.LAYER_EPISODE:
        entry.topics.extend(rng.sample(_WHAT, 2))
        entry.outcome = f"{rng.choice(_WHO)} {rng.choice(_DID)} {rng.choice(_WHAT)}"
    if layer == entry_pb2.LAYER_PROCEDURE:
        entry.steps.extend(f"{rng.choice(_DID)} {rng.choice(_WHAT)}" for _ in range(4))
    return entry


def _owner(rng: random.Random, tenant: int) -> entry_pb2.Owner:
    if rng.random() < 0.3:
        project = f"tenant-{tenant}-project-{rng.randrange(PROJECTS)}"
        return entry_pb2.Owner(axis=entry_pb2.AXIS_PROJECT, id=project)
    return entry_pb2.Owner(axis=entry_pb2.AXIS_USER, id=f"user-{rng.randrange(USERS)}")
