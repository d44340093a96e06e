"""Entries by uid: the statements and what becomes of their rows."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, String, and_, bindparam, null, select

from hilvan_retrieval.adapters.record import codec
from hilvan_retrieval.adapters.record.database import Row
from hilvan_retrieval.adapters.record.tables import entries, vectors
from hilvan_retrieval.model.entry import Stored, Uid

_UIDS = entries.c.uid.in_(bindparam("keys", expanding=True))
WITHOUT_VECTORS = select(entries.c.uid, entries.c.tenant, null(), *codec.ENTRY_COLUMNS).where(_UIDS)
"""Entries by uid."""


@lru_cache(maxsize=16)
def with_vectors(model: str) -> Select[Any]:
    """Entries by uid, with the vectors that a model made of their text.

    The model is part of the statement's text: each process knows one or two.
    """
    made_by = bindparam("model", model, String(), literal_execute=True)
    fitting = and_(vectors.c.uid == entries.c.uid, vectors.c.model == made_by)
    return (
        select(entries.c.uid, entries.c.tenant, vectors.c.vector, *codec.ENTRY_COLUMNS)
        .select_from(entries.outerjoin(vectors, fitting))
        .where(_UIDS)
    )


def by_uid(model: str | None) -> Select[Any]:
    """Entries by uid with a model's vectors, or without any."""
    return WITHOUT_VECTORS if model is None else with_vectors(model)


def read_stored(rows: Sequence[Row], tenant: str | None = None) -> dict[Uid, Stored]:
    """Rows of a statement above by uid; of one tenant, if given.

    The tenant is checked here and not in the statement: a uid has one tenant only, and a planner
    that is offered both conditions may walk through all of the tenant's rows.
    """
    mine = [row for row in rows if tenant in (None, row[1])]
    vectors_of = codec.blob_vectors([row[2] for row in mine])
    return {
        row[0]: Stored(codec.row_entry(tuple(row[3:])), vector)
        for row, vector in zip(mine, vectors_of, strict=True)
    }
