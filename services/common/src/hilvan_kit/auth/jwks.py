"""The keys that verify JSON Web Tokens: each is bound to one algorithm when it is read."""

import base64
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import jwt

from hilvan_kit.auth.errors import AuthMisconfigured

_MIN_SECRET_BYTES = 32  # RFC 7518 section 3.2: as long as the hash
_MIN_RSA_BITS = 2048  # RFC 7518 section 3.3

Jwks = Mapping[str, jwt.PyJWK]
"""Public keys by their ``kid``."""

NO_JWKS: Jwks = MappingProxyType({})


def shared_secret(secret: bytes) -> jwt.PyJWK:
    """The HS256 key of a secret of at least 32 bytes.

    AuthMisconfigured for a shorter one, or for a PEM or SSH key in its place.
    """
    if len(secret) < _MIN_SECRET_BYTES:
        raise AuthMisconfigured([f"must have at least {_MIN_SECRET_BYTES} bytes"])
    encoded = base64.urlsafe_b64encode(secret).decode()
    key = jwt.PyJWK({"kty": "oct", "k": encoded}, algorithm="HS256")
    try:
        key.Algorithm.prepare_key(key.key)
    except jwt.InvalidKeyError:
        raise AuthMisconfigured(["must be a random secret, not a PEM or SSH key"]) from None
    return key


def parse_jwks(text: str) -> Jwks:
    """Read a JSON Web Key Set (RFC 7517): the RSA and P-256 signing keys in it, by ``kid``.

    Keys for other uses and algorithms are passed over, as the RFC asks. AuthMisconfigured lists
    every fault of the rest with its index, and a set without any key to verify with.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise AuthMisconfigured(["not JSON"]) from None
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise AuthMisconfigured(["expected an object with a list of 'keys'"])
    faults: list[str] = []
    keys: dict[str, jwt.PyJWK] = {}
    for index, entry in enumerate(entries):
        algorithm = _algorithm(entry) if isinstance(entry, dict) else ""
        if not algorithm:
            continue
        try:
            kid, key = _read_key(entry, algorithm, keys)
        except ValueError as error:
            faults.append(f"keys[{index}]: {error}")
        else:
            keys[kid] = key
    if not keys and not faults:
        faults.append("no key for RS256 or ES256")
    if faults:
        raise AuthMisconfigured(faults)
    return MappingProxyType(keys)


def _algorithm(entry: dict[str, Any]) -> str:
    """The algorithm that a key verifies, or nothing when it is not for us."""
    if entry.get("kty") == "RSA":
        algorithm = "RS256"
    elif entry.get("kty") == "EC" and entry.get("crv") == "P-256":
        algorithm = "ES256"
    else:
        return ""
    ours = entry.get("use", "sig") == "sig" and entry.get("alg", algorithm) == algorithm
    return algorithm if ours else ""


def _read_key(entry: dict[str, Any], algorithm: str, known: Jwks) -> tuple[str, jwt.PyJWK]:
    kid = entry.get("kid")
    if not isinstance(kid, str) or not kid:
        raise ValueError("kid is missing")
    if kid in known:
        raise ValueError("this kid was used before")
    if "d" in entry:
        raise ValueError("this is a private key; a JWKS holds public keys only")
    try:
        key = jwt.PyJWK(entry, algorithm=algorithm)
    except (jwt.PyJWTError, TypeError, ValueError):
        raise ValueError(f"not a valid {algorithm} key") from None
    if algorithm == "RS256" and key.key.key_size < _MIN_RSA_BITS:
        raise ValueError(f"an RSA key must have at least {_MIN_RSA_BITS} bits")
    return kid, key
