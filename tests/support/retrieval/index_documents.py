"""Builders of what both kinds of index take, and the plain reading of a filter they must obey."""

from collections.abc import Iterable
from datetime import UTC, datetime

from hilvan_retrieval.model.embedding import Vector
from hilvan_retrieval.model.entry import FOREVER_MS, Layer, Uid, entry_uid
from hilvan_retrieval.model.index import Filter, IndexDocument

TENANT = "acme"
OWNER = "user:ana"
NOW_MS = int(datetime(2025, 6, 1, tzinfo=UTC).timestamp() * 1000)


def document(
    entry_id: str,
    text: str = "",
    *,
    tenant: str = TENANT,
    owner: str = OWNER,
    layer: Layer = Layer.MEMORY,
    category: str = "",
    tags: Iterable[str] = (),
    live_from_ms: int = 0,
    live_until_ms: int = FOREVER_MS,
    vector: Vector | None = None,
) -> IndexDocument:
    """Make a document whose uid is that of ``entry_id`` in its tenant; always live by default."""
    return IndexDocument(
        uid=entry_uid(tenant, entry_id),
        tenant=tenant,
        layer=layer,
        owner=owner,
        category=category,
        tags=tuple(tags),
        live_from_ms=live_from_ms,
        live_until_ms=live_until_ms,
        text=text,
        vector=vector,
    )


def only(
    *owners: str,
    tenant: str = TENANT,
    layer: Layer = Layer.MEMORY,
    as_of_ms: int | None = NOW_MS,
    muted: Iterable[tuple[str, str]] = (),
    excluded: Iterable[Uid] = (),
    categories: Iterable[str] = (),
    tags: Iterable[str] = (),
) -> Filter:
    """Make a filter: the default owner when none is named; `no_owner` for a filter without any."""
    return Filter(
        tenant=tenant,
        owners=frozenset(owners or (OWNER,)),
        layer=layer,
        as_of_ms=as_of_ms,
        muted=frozenset(muted),
        excluded=frozenset(excluded),
        categories=frozenset(categories),
        tags=frozenset(tags),
    )


def no_owner(tenant: str = TENANT, layer: Layer = Layer.MEMORY) -> Filter:
    """Make the filter of a principal who may read nobody's entries."""
    return Filter(tenant=tenant, owners=frozenset(), layer=layer, as_of_ms=NOW_MS)


def allowed(entry: IndexDocument, by: Filter) -> bool:
    """Read the filter's documentation word by word: the oracle of every index."""
    return (
        entry.tenant == by.tenant
        and entry.owner in by.owners
        and entry.layer is by.layer
        and (by.as_of_ms is None or entry.live_from_ms <= by.as_of_ms < entry.live_until_ms)
        and (entry.owner, entry.category) not in by.muted
        and entry.uid not in by.excluded
        and (not by.categories or entry.category in by.categories)
        and (not by.tags or not by.tags.isdisjoint(entry.tags))
    )
