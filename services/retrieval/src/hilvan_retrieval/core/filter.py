"""From a request and a principal to the filters of the engines' queries.

This is the one place that makes a `Filter`: there is no query without a tenant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hilvan_kit.auth import Principal, Role
from hilvan_retrieval.core import policy as rules
from hilvan_retrieval.model.entry import Entry, Layer, Owner, entry_uid
from hilvan_retrieval.model.index import Filter, Source
from hilvan_retrieval.model.policy import TenantPolicy

ALL_SOURCES = (Source.VECTOR, Source.KEYWORD)


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """What a caller looks for. ``owners`` None means everything that it can reach."""

    query: str
    layers: tuple[Layer, ...]
    owners: frozenset[Owner] | None
    limit: int
    as_of: datetime
    include_muted: bool = False
    categories: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    sources: tuple[Source, ...] = ALL_SOURCES
    pair_similarity_floor: float | None = None
    require_all_sources: bool = False


def owner_keys(
    policy: TenantPolicy, who: Principal, owners: frozenset[Owner] | None
) -> frozenset[str]:
    """The owners that a query of this principal may name: those asked for that it can read."""
    if owners is None:
        return rules.readable_owners(policy, who)
    return frozenset(owner.key for owner in owners if rules.can_read(policy, who, owner))


def listed_owners(
    policy: TenantPolicy, who: Principal, owners: frozenset[Owner] | None
) -> frozenset[str] | None:
    """As `owner_keys`; None, for all of the tenant, to a service that named none."""
    if owners is None and who.role is Role.SERVICE:
        return None
    return owner_keys(policy, who, owners)


def filters(
    request: CandidateRequest, policy: TenantPolicy, who: Principal, now: datetime
) -> tuple[Filter, ...]:
    """One filter a layer, in the order of the request's layers."""
    owners = owner_keys(policy, who, request.owners)
    silent = not request.include_muted
    muted = rules.muted_categories(policy, now) if silent else frozenset()
    excluded = rules.muted_entries(policy, who, now) if silent else frozenset()
    as_of_ms = int(request.as_of.timestamp() * 1000)
    return tuple(
        Filter(
            tenant=who.tenant,
            owners=owners,
            layer=layer,
            as_of_ms=as_of_ms,
            # Mutes of owners that the query does not reach would only make it longer.
            muted=frozenset(pair for pair in muted if pair[0] in owners),
            excluded=excluded,
            categories=request.categories,
            tags=request.tags,
        )
        for layer in request.layers
    )


def admits(chosen: Filter, tenant: str, entry: Entry) -> bool:
    """Whether the filter holds for the entry as the record has it now: the record decides."""
    if tenant != chosen.tenant or entry.layer is not chosen.layer:
        return False
    if entry.owner.key not in chosen.owners or (entry.owner.key, entry.category) in chosen.muted:
        return False
    if chosen.categories and entry.category not in chosen.categories:
        return False
    if chosen.tags and chosen.tags.isdisjoint(entry.tags):
        return False
    as_of = chosen.as_of_ms
    if as_of is not None and not entry.live_from_ms <= as_of < entry.live_until_ms:
        return False
    return not chosen.excluded or entry_uid(tenant, entry.id) not in chosen.excluded


def muted_among(
    entries: Sequence[Entry], policy: TenantPolicy, who: Principal, now: datetime
) -> list[bool]:
    """Whether each entry is muted for the principal, by category or by itself."""
    categories = rules.muted_categories(policy, now)
    single = rules.muted_entries(policy, who, now)
    return [
        (each.owner.key, each.category) in categories
        or (bool(single) and entry_uid(who.tenant, each.id) in single)
        for each in entries
    ]
