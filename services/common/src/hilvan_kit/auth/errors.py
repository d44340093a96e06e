"""What can go wrong in authentication.

AuthError                   a call has no principal; carries a `Reason`
├── Unauthenticated         who is calling could not be established
└── PermissionDenied        a known caller named a tenant or user that it may not act for
AuthMisconfigured           raised at start; lists every fault of the configuration

Messages are fixed texts, one a reason: nothing that a caller sent is ever repeated in them.
"""

from collections.abc import Sequence
from enum import StrEnum


class Reason(StrEnum):
    """Why a call has no principal."""

    CREDENTIAL_MISSING = "CREDENTIAL_MISSING"
    CREDENTIAL_INVALID = "CREDENTIAL_INVALID"
    CREDENTIAL_EXPIRED = "CREDENTIAL_EXPIRED"
    PRINCIPAL_INVALID = "PRINCIPAL_INVALID"
    TENANT_MISSING = "TENANT_MISSING"
    TENANT_NOT_ALLOWED = "TENANT_NOT_ALLOWED"
    USER_NOT_ALLOWED = "USER_NOT_ALLOWED"


_MESSAGES = {
    Reason.CREDENTIAL_MISSING: "send a credential as 'authorization: Bearer <key or token>'",
    Reason.CREDENTIAL_INVALID: "the credential is not valid",
    Reason.CREDENTIAL_EXPIRED: "the credential has expired",
    Reason.PRINCIPAL_INVALID: "hilvan-tenant and hilvan-user take 1 to 128 of A-Z a-z 0-9 . _ @ -",
    Reason.TENANT_MISSING: "this service must name the tenant that it acts for in hilvan-tenant",
    Reason.TENANT_NOT_ALLOWED: "the credential does not allow the tenant named in hilvan-tenant",
    Reason.USER_NOT_ALLOWED: "the credential does not allow the user named in hilvan-user",
}


class AuthError(Exception):
    """Root of what a call can meet; its message says what the reason says and no more."""

    def __init__(self, reason: Reason) -> None:
        """Take the reason's fixed message."""
        self.reason = reason
        super().__init__(_MESSAGES[reason])


class Unauthenticated(AuthError):
    """Who is calling could not be established."""


class PermissionDenied(AuthError):
    """A known caller named somebody that it may not act for."""


class AuthMisconfigured(Exception):
    """The configuration can't be used; ``faults`` lists everything that is wrong with it."""

    def __init__(self, faults: Sequence[str]) -> None:
        """Keep every fault; the message joins them."""
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))
