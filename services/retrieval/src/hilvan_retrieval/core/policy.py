"""Who may read and write what, and what is muted: decided from curation's policy alone."""

from datetime import datetime

from hilvan_kit.auth import Principal, Role
from hilvan_retrieval.model.entry import Axis, Owner, Uid, entry_uid
from hilvan_retrieval.model.policy import SpacePolicy, TenantPolicy


def can_read(policy: TenantPolicy, who: Principal, owner: Owner) -> bool:
    """Whether the principal may see entries of the owner.

    A user sees its own entries and those of the projects and spaces that it reads. An admin
    sees every project and space of the tenant, and of the users only itself. A service that
    acts for no user sees the whole tenant.
    """
    if who.role is Role.SERVICE or owner == Owner(Axis.USER, who.user):
        return True
    if owner.axis is Axis.USER:
        return False
    if who.role is Role.ADMIN:
        return True
    return any(
        who.user in space.readers | space.writers and _covers(space, owner)
        for space in policy.spaces
    )


def can_write(policy: TenantPolicy, who: Principal, owner: Owner) -> bool:
    """Whether the principal may write entries of the owner: as `can_read`, for writers."""
    if who.role is not Role.MEMBER:
        return can_read(policy, who, owner)
    if owner.axis is Axis.USER:
        return owner.id == who.user
    return any(who.user in space.writers and _covers(space, owner) for space in policy.spaces)


def readable_owners(policy: TenantPolicy, who: Principal) -> frozenset[str]:
    """The keys of all owners that the principal can reach without naming them."""
    keys = {Owner(Axis.USER, who.user).key}
    for space in policy.spaces:
        if who.role is not Role.MEMBER or who.user in space.readers | space.writers:
            keys.add(Owner(Axis.SPACE, space.space_id).key)
            keys |= {Owner(Axis.PROJECT, each).key for each in space.project_ids}
    return frozenset(keys)


def writable_owners(policy: TenantPolicy, who: Principal) -> frozenset[str] | None:
    """The keys of all owners that the principal may write; None: of all of the tenant."""
    if who.role is Role.SERVICE:
        return None
    keys = {Owner(Axis.USER, who.user).key}
    for space in policy.spaces:
        if who.role is not Role.MEMBER or who.user in space.writers:
            keys.add(Owner(Axis.SPACE, space.space_id).key)
            keys |= {Owner(Axis.PROJECT, each).key for each in space.project_ids}
    return frozenset(keys)


def muted_categories(policy: TenantPolicy, now: datetime) -> frozenset[tuple[str, str]]:
    """(owner key, category) pairs whose mute has not ended."""
    return frozenset(
        (mute.owner.key, mute.category)
        for space in policy.spaces
        for mute in space.mutes
        if mute.until is None or now < mute.until
    )


def muted_entries(policy: TenantPolicy, who: Principal, now: datetime) -> frozenset[Uid]:
    """Single entries that this user has muted and whose mute has not ended."""
    return frozenset(
        entry_uid(who.tenant, mute.entry_id)
        for mute in policy.entry_mutes.get(who.user, ())
        if mute.until is None or now < mute.until
    )


def _covers(space: SpacePolicy, owner: Owner) -> bool:
    if owner.axis is Axis.SPACE:
        return owner.id == space.space_id
    return owner.id in space.project_ids
