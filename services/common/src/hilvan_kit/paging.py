"""Opaque keyset page tokens: where the last page ended, bound to the request that it was for."""

import base64
import binascii
import hashlib
from typing import Any

import orjson


class BadPageToken(Exception):
    """The token is not one of ours, or belongs to another request."""


def page_token(key: list[Any], request: bytes) -> str:
    """Make the token: ``key`` are the sort values of the page's last row."""
    payload = orjson.dumps([_digest(request), key])
    return base64.urlsafe_b64encode(payload).decode().rstrip("=")


def page_key(token: str, request: bytes) -> list[Any] | None:
    """Read the key back; None for the empty token, which asks for the first page.

    Raises:
        BadPageToken: for anything that `page_token` did not make for this request.
    """
    if not token:
        return None
    try:
        payload = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (binascii.Error, ValueError) as error:
        raise BadPageToken("not a page token of this service") from error
    if not (isinstance(payload, list) and len(payload) == 2 and isinstance(payload[1], list)):  # noqa: PLR2004 (digest, key)
        raise BadPageToken("not a page token of this service")
    if payload[0] != _digest(request):
        raise BadPageToken("the page token belongs to a request with other fields")
    return payload[1]


def _digest(request: bytes) -> str:
    return hashlib.sha256(request).hexdigest()[:16]
