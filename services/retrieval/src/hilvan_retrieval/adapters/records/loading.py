"""Entries by uid: the statements and what becomes of their rows."""

from collections.abc import Sequence

from sqlalchemy import bindparam, null, select

from hilvan_retrieval.adapters.records import codec
from hilvan_retrieval.adapters.records.database import Row
from hilvan_retrieval.adapters.records.tables import entries, vectors
from hilvan_retrieval.model import Stored, Uid

_UIDS = entries.c.uid.in_(bindparam("keys", expanding=True))
WITHOUT_VECTORS = select(entries.c.uid, entries.c.tenant, null(), *codec.ENTRY_COLUMNS).where(_UIDS)
WITH_VECTORS = (
    select(entries.c.uid, entries.c.tenant, vectors.c.vector, *codec.ENTRY_COLUMNS)
    .select_from(entries.outerjoin(vectors, vectors.c.uid == entries.c.uid))
    .where(_UIDS)
)
"""Entries by uid, with the vectors that fit their text."""


def read_stored(rows: Sequence[Row], tenant: str | None = None) -> dict[Uid, Stored]:
    """Rows of `WITH_VECTORS` or `WITHOUT_VECTORS` by uid; of one tenant, if given.

    The tenant is checked here and not in the statement: a uid has one tenant only, and a planner
    that is offered both conditions may walk through all of the tenant's rows.
    """
    mine = [row for row in rows if tenant in (None, row[1])]
    vectors_of = codec.blob_vectors([row[2] for row in mine])
    return {
        row[0]: Stored(codec.row_entry(tuple(row[3:])), vector)
        for row, vector in zip(mine, vectors_of, strict=True)
    }
