"""From settings to the one object that gives every call its principal."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hilvan_kit.auth.api_keys import PREFIX, ApiKeyVerifier, parse_api_keys
from hilvan_kit.auth.development import DevelopmentAuthenticator, require_loopback
from hilvan_kit.auth.errors import AuthMisconfigured, Reason, Unauthenticated
from hilvan_kit.auth.json_web_tokens import ClaimNames, JwtVerifier
from hilvan_kit.auth.jwks import NO_JWKS, parse_jwks, shared_secret
from hilvan_kit.auth.principal import Clock, Grant, Principal, act_as
from hilvan_kit.auth.watched_file import WatchedFile

T = TypeVar("T")

# RFC 6750 section 2.1, and the 8 KiB of metadata that gRPC lets through by default.
_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/=-]{1,8192})", re.ASCII | re.IGNORECASE)


class Authenticator(Protocol):
    """Gives a call its principal."""

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with files that changed since the start; their last good state is used."""

    def authenticate(self, metadata: Mapping[str, str]) -> Principal:
        """The principal of a call with this metadata (lower-case keys); AuthError without one."""


class CredentialVerifier(Protocol):
    """Checks one kind of credential."""

    def verify(self, token: str) -> Grant:
        """What the credential grants; Unauthenticated when it is not good."""


class CredentialAuthenticator:
    """Reads the bearer credential of a call: an API key by its prefix, else a token."""

    def __init__(
        self,
        api_keys: CredentialVerifier | None,
        tokens: CredentialVerifier | None,
        files: Sequence[WatchedFile[Any]] = (),
    ) -> None:
        """Take a verifier for each kind that is accepted, and the files that they follow."""
        self._api_keys, self._tokens, self._files = api_keys, tokens, tuple(files)

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with files that changed since the start."""
        return tuple(fault for file in self._files for fault in file.faults)

    def authenticate(self, metadata: Mapping[str, str]) -> Principal:
        """The principal that the credential allows and the metadata names; AuthError otherwise."""
        header = metadata.get("authorization")
        if header is None:
            raise Unauthenticated(Reason.CREDENTIAL_MISSING)
        bearer = _BEARER.fullmatch(header)
        if not bearer:
            raise Unauthenticated(Reason.CREDENTIAL_INVALID)
        token = bearer[1]
        verifier = self._api_keys if token.startswith(PREFIX) else self._tokens
        if not verifier:
            raise Unauthenticated(Reason.CREDENTIAL_INVALID)
        return act_as(verifier.verify(token), metadata)


class AuthMode(StrEnum):
    """How calls get their principal."""

    DEVELOPMENT = "development"
    CREDENTIALS = "credentials"


@dataclass(frozen=True, slots=True)
class AuthSettings:
    """How calls get their principal; an empty text is absent.

    ``api_keys_inline`` is the text of a key file. ``jwt_secret`` is used as its UTF-8 bytes.
    """

    mode: str = AuthMode.CREDENTIALS
    api_keys_file: str = ""
    api_keys_inline: str = field(default="", repr=False)
    jwt_secret: str = field(default="", repr=False)
    jwks_file: str = ""
    issuer: str = ""
    audience: str = ""
    claims: ClaimNames = field(default_factory=ClaimNames)


def build_authenticator(settings: AuthSettings, listen: str, clock: Clock) -> Authenticator:
    """The authenticator of a server that listens on the gRPC address ``listen``.

    Reads the files that the settings name. AuthMisconfigured lists every fault at once, each
    led by the setting that it is about.
    """
    if settings.mode == AuthMode.DEVELOPMENT:
        return _build_development(settings, listen)
    if settings.mode == AuthMode.CREDENTIALS:
        return _build_credentials(settings, clock)
    raise AuthMisconfigured([f"mode: must be {' or '.join(AuthMode)}"])


def _build_development(settings: AuthSettings, listen: str) -> Authenticator:
    faults = [
        f"{name}: is not used in development mode; remove it or change the mode"
        for name in ("api_keys_file", "api_keys_inline", "jwt_secret", "jwks_file")
        if getattr(settings, name)
    ]
    try:
        require_loopback(listen)
    except AuthMisconfigured as error:
        faults += [f"listen: {fault}" for fault in error.faults]
    if faults:
        raise AuthMisconfigured(faults)
    return DevelopmentAuthenticator()


def _build_credentials(settings: AuthSettings, clock: Clock) -> Authenticator:
    faults = _combination_faults(settings)
    key_file = _attempt(
        "api_keys_file",
        settings.api_keys_file,
        faults,
        lambda path: WatchedFile(Path(path), parse_api_keys, clock),
    )
    inline = _attempt("api_keys_inline", settings.api_keys_inline, faults, parse_api_keys)
    secret = _attempt(
        "jwt_secret",
        settings.jwt_secret,
        faults,
        lambda text: shared_secret(text.encode("utf-8", "surrogateescape")),
    )
    jwks = _attempt(
        "jwks_file",
        settings.jwks_file,
        faults,
        lambda path: WatchedFile(Path(path), parse_jwks, clock),
    )
    if faults:
        raise AuthMisconfigured(faults)
    api_keys = key_file or (None if inline is None else lambda: inline)
    tokens = JwtVerifier(
        clock=clock,
        secret=secret,
        jwks=jwks or (lambda: NO_JWKS),
        issuer=settings.issuer,
        audience=settings.audience,
        claims=settings.claims,
    )
    return CredentialAuthenticator(
        ApiKeyVerifier(api_keys, clock) if api_keys else None,
        tokens if secret or jwks else None,
        [file for file in (key_file, jwks) if file],
    )


def _combination_faults(settings: AuthSettings) -> list[str]:
    """What is wrong with the settings as a whole."""
    has_keys = bool(settings.api_keys_file or settings.api_keys_inline)
    has_tokens = bool(settings.jwt_secret or settings.jwks_file)
    faults: list[str] = []
    if not has_keys and not has_tokens:
        faults.append(
            "mode: credentials need at least one of"
            " api_keys_file, api_keys_inline, jwt_secret, jwks_file"
        )
    if settings.api_keys_file and settings.api_keys_inline:
        faults.append("api_keys_inline: can't be combined with api_keys_file")
    faults += [
        f"{name}: is only used with jwt_secret or jwks_file"
        for name in ("issuer", "audience")
        if getattr(settings, name) and not has_tokens
    ]
    return faults


def _attempt(name: str, value: str, faults: list[str], make: Callable[[str], T]) -> T | None:
    """What ``make`` makes of a setting; None when it is empty or after adding its faults."""
    if not value:
        return None
    try:
        return make(value)
    except AuthMisconfigured as error:
        faults += [f"{name}: {fault}" for fault in error.faults]
    return None
