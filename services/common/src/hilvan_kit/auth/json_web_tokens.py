"""JSON Web Tokens (RFC 7519): HS256 with a shared secret, RS256 and ES256 with a JWKS file.

Each key knows the one algorithm that it verifies (RFC 8725 section 3.1): what a token's header
says about its algorithm picks a key or fails, it never changes how a key is used.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from jwt.types import Options

from hilvan_kit.auth.errors import Reason, Unauthenticated
from hilvan_kit.auth.jwks import NO_JWKS, Jwks
from hilvan_kit.auth.principal import Clock, Grant, Role

LEEWAY_SECONDS = 30.0
"""How far the issuer's clock may be ahead of ours (for ``nbf`` and ``iat``; ``exp`` is exact)."""

REMEMBERED_TOKENS = 4096
"""How many verified tokens are remembered: about 2 MB."""

_END_OF_TIME = 2**53


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """The claims that hold the parts of a grant; each is required, as a string."""

    tenant: str = "tenant"
    user: str = "sub"
    role: str = "role"


DEFAULT_CLAIMS = ClaimNames()


@dataclass(frozen=True, slots=True)
class _Verified:
    grant: Grant
    expires: float


class JwtVerifier:
    """Checks tokens and remembers the good ones until they expire or the JWKS changes.

    Not thread-safe: made for one event loop.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        secret: jwt.PyJWK | None = None,
        jwks: Callable[[], Jwks] = lambda: NO_JWKS,
        issuer: str = "",
        audience: str = "",
        claims: ClaimNames = DEFAULT_CLAIMS,
        remembered: int = REMEMBERED_TOKENS,
    ) -> None:
        """Take a key from `shared_secret`, a source of public keys (a `WatchedFile`), or both.

        ``issuer`` and ``audience`` are compared with ``iss`` and ``aud`` unless empty.
        """
        self._clock, self._secret, self._jwks = clock, secret, jwks
        self._issuer, self._audience, self._claims = issuer, audience, claims
        self._remembered = remembered
        self._options: Options = {
            "require": ["exp"],
            # PyJWT reads the machine's clock; `_check_times` asks ours.
            "verify_exp": False,
            "verify_nbf": False,
            "verify_iat": False,
            "verify_aud": bool(audience),
        }
        self._verified: OrderedDict[bytes, _Verified] = OrderedDict()
        self._verified_with: Jwks = NO_JWKS

    def verify(self, token: str) -> Grant:
        """What the token grants; Unauthenticated when it is wrong, not yet valid or expired.

        Expiry is only told when the signature is good. The token must be ASCII.
        """
        jwks = self._jwks()
        if jwks is not self._verified_with:
            # A key may have been withdrawn, and with it every token that it signed.
            self._verified.clear()
            self._verified_with = jwks
        # Hashed, so that no usable token lies in memory.
        digest = hashlib.sha256(token.encode()).digest()
        verified = self._verified.get(digest) or self._decode(token, jwks)
        if self._clock() >= verified.expires:
            raise Unauthenticated(Reason.CREDENTIAL_EXPIRED)
        self._remember(digest, verified)
        return verified.grant

    def _remember(self, digest: bytes, verified: _Verified) -> None:
        self._verified[digest] = verified
        self._verified.move_to_end(digest)
        if len(self._verified) > self._remembered:
            self._verified.popitem(last=False)

    def _decode(self, token: str, jwks: Jwks) -> _Verified:
        try:
            key = self._key(jwt.get_unverified_header(token), jwks)
            claims = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                options=self._options,
                issuer=self._issuer or None,
                audience=self._audience or None,
            )
            self._check_times(claims)
            return _Verified(self._grant(claims), _seconds(claims["exp"]))
        except (jwt.PyJWTError, LookupError, TypeError, ValueError):
            raise Unauthenticated(Reason.CREDENTIAL_INVALID) from None

    def _key(self, header: Mapping[str, Any], jwks: Jwks) -> jwt.PyJWK:
        """The only key that the token can be of; LookupError when there is none."""
        if self._secret and header.get("alg") == self._secret.algorithm_name:
            return self._secret
        return jwks[header["kid"]]

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        latest = self._clock() + LEEWAY_SECONDS
        for name in ("nbf", "iat"):
            if name in claims and _seconds(claims[name]) > latest:
                raise ValueError(f"{name} is in the future")

    def _grant(self, claims: Mapping[str, Any]) -> Grant:
        names = self._claims
        # Grant and Role raise for every JSON value that is no id and no role.
        return Grant(claims[names.tenant], claims[names.user], Role(claims[names.role]))


def _seconds(value: object) -> float:
    """A NumericDate (RFC 7519 section 2); JSON also lets strings, NaN and endless numbers in."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("not a number")
    if not -_END_OF_TIME < value < _END_OF_TIME:
        raise ValueError("not a time")
    return float(value)
