"""Authentication: every call has a principal, from an API key, a token or development mode.

Pure and synchronous: the clock is handed in, and only `WatchedFile` reads files.
"""

from hilvan_kit.auth.api_keys import ApiKey, ApiKeyVerifier, generate, parse_api_keys
from hilvan_kit.auth.authenticator import (
    Authenticator,
    AuthMode,
    AuthSettings,
    CredentialAuthenticator,
    build_authenticator,
)
from hilvan_kit.auth.development import DevelopmentAuthenticator, require_loopback
from hilvan_kit.auth.errors import (
    AuthError,
    AuthMisconfigured,
    PermissionDenied,
    Reason,
    Unauthenticated,
)
from hilvan_kit.auth.json_web_tokens import ClaimNames, JwtVerifier
from hilvan_kit.auth.jwks import parse_jwks, shared_secret
from hilvan_kit.auth.principal import ANY_TENANT, TENANT_KEY, USER_KEY, Grant, Principal, Role
from hilvan_kit.auth.watched_file import WatchedFile

__all__ = [
    "ANY_TENANT",
    "TENANT_KEY",
    "USER_KEY",
    "ApiKey",
    "ApiKeyVerifier",
    "AuthError",
    "AuthMisconfigured",
    "AuthMode",
    "AuthSettings",
    "Authenticator",
    "ClaimNames",
    "CredentialAuthenticator",
    "DevelopmentAuthenticator",
    "Grant",
    "JwtVerifier",
    "PermissionDenied",
    "Principal",
    "Reason",
    "Role",
    "Unauthenticated",
    "WatchedFile",
    "build_authenticator",
    "generate",
    "parse_api_keys",
    "parse_jwks",
    "require_loopback",
    "shared_secret",
]
