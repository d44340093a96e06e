"""Opaque keyset page tokens: where the last page ended, bound to the request that it was for."""

import base64
import hashlib
from typing import Any

import orjson


class BadPageToken(Exception):
    """The token is not one of ours, or belongs to another request."""


def page_token(key: list[Any], request: bytes) -> str:
    """Make the token: ``key`` are the sort values of the page's last row."""
    return _encode(_digest(request), key)


def page_key(token: str, request: bytes) -> list[Any] | None:
    """Read the key back; None for the empty token, which asks for the first page.

    Raises:
        BadPageToken: for anything that `page_token` did not make for this request.
    """
    if not token:
        return None
    try:
        digest, key = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        # Decoding skips what it does not know: only what encodes to the same token is ours.
        ours = isinstance(key, list) and token == _encode(digest, key)
    except (ValueError, TypeError) as error:
        raise BadPageToken("not a page token of this service") from error
    if not ours:
        raise BadPageToken("not a page token of this service")
    if digest != _digest(request):
        raise BadPageToken("the page token belongs to a request with other fields")
    return key  # type: ignore[no-any-return]  # checked above


def _encode(digest: str, key: list[Any]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([digest, key])).decode().rstrip("=")


def _digest(request: bytes) -> str:
    return hashlib.sha256(request).hexdigest()[:16]
