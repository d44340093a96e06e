"""Who a call acts for, and what a verified credential allows it to say about that."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from hilvan_kit.auth.errors import PermissionDenied, Reason, Unauthenticated

Clock = Callable[[], float]
"""Seconds since 1970, as `time.time` gives them."""

TENANT_KEY = "hilvan-tenant"
USER_KEY = "hilvan-user"

ANY_TENANT = "*"
"""The tenant of a service's credential that may act for every tenant. Never a principal's."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")


class Role(StrEnum):
    """What a principal is to its tenant."""

    MEMBER = "member"
    ADMIN = "admin"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Principal:
    """The tenant and user that a call acts for: each 1–128 of ``A-Za-z0-9._@-``.

    Both start with a letter or digit. A service that names a user has that user's rights and no
    more: it acts as a MEMBER.
    Raises ValueError for anything else, so a principal without a tenant can't exist.
    """

    tenant: str
    user: str
    role: Role

    def __post_init__(self) -> None:
        check_id("tenant", self.tenant)
        check_id("user", self.user)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a verified credential allows.

    A member or admin is ``user`` of ``tenant``. A service acts for any user of ``tenant``, or of
    every tenant when that is `ANY_TENANT`; ``user`` is its own name, for calls that name nobody.
    Raises ValueError for ids that no principal could have, and for a person of every tenant.
    """

    tenant: str
    user: str
    role: Role

    def __post_init__(self) -> None:
        if self.tenant != ANY_TENANT:
            check_id("tenant", self.tenant)
        elif self.role is not Role.SERVICE:
            raise ValueError(f"tenant {ANY_TENANT!r} is for the role {Role.SERVICE.value!r} only")
        check_id("user", self.user)


def act_as(grant: Grant, metadata: Mapping[str, str]) -> Principal:
    """Make the principal of a call from its credential and from whom its metadata names.

    Raises:
        PermissionDenied: the metadata names a tenant or user outside the grant.
        Unauthenticated: a service of every tenant names none, or a name is malformed.
    """
    tenant = metadata.get(TENANT_KEY, grant.tenant)
    user = metadata.get(USER_KEY, grant.user)
    if grant.tenant not in (ANY_TENANT, tenant):
        raise PermissionDenied(Reason.TENANT_NOT_ALLOWED)
    if grant.role is not Role.SERVICE and user != grant.user:
        raise PermissionDenied(Reason.USER_NOT_ALLOWED)
    if tenant == ANY_TENANT:
        raise Unauthenticated(Reason.TENANT_MISSING)
    acts_for_user = grant.role is Role.SERVICE and USER_KEY in metadata
    role = Role.MEMBER if acts_for_user else grant.role
    try:
        return Principal(tenant, user, role)
    except ValueError:
        raise Unauthenticated(Reason.PRINCIPAL_INVALID) from None


def check_id(name: str, value: str) -> None:
    """Raise ValueError, without repeating the value, unless it can be a tenant's or user's id."""
    if not _ID.fullmatch(value):
        raise ValueError(
            f"{name} must be 1 to 128 of A-Z a-z 0-9 . _ @ - and start with a letter or digit"
        )
