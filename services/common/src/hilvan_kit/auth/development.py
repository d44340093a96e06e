"""Development without credentials: a fixed principal, reachable from this machine only."""

import ipaddress
import re
from collections.abc import Mapping

from hilvan_kit.auth.errors import AuthMisconfigured
from hilvan_kit.auth.principal import ANY_TENANT, TENANT_KEY, Grant, Principal, Role, act_as

_UNIX = re.compile(r"unix:.+", re.DOTALL)
_NAMED_LOOPBACK = re.compile(r"(localhost|\[::1\])(:[0-9]{1,5})?")
_IPV4 = re.compile(r"([0-9.]+)(:[0-9]{1,5})?")


class DevelopmentAuthenticator:
    """Everybody is one service, or the member whom the metadata names, to try isolation."""

    def __init__(self, tenant: str = "dev", user: str = "dev") -> None:
        """Fix whom calls act for that name nobody; ValueError for malformed ids."""
        self._default = Principal(tenant, user, Role.SERVICE)

    @property
    def faults(self) -> tuple[str, ...]:
        """Nothing that could break after the start."""
        return ()

    def authenticate(self, metadata: Mapping[str, str]) -> Principal:
        """The fixed principal, or whom the metadata names; Unauthenticated if that is malformed."""
        grant = Grant(ANY_TENANT, self._default.user, Role.SERVICE)
        return act_as(grant, {TENANT_KEY: self._default.tenant, **metadata})


def require_loopback(address: str) -> None:
    """Raise AuthMisconfigured unless only this machine can reach the gRPC address.

    That are ``127.0.0.0/8``, ``[::1]`` and ``localhost``, with or without a port, and ``unix:``.
    No other name is looked up: what it means could change after the check.
    """
    if _UNIX.fullmatch(address) or _NAMED_LOOPBACK.fullmatch(address):
        return
    ipv4 = _IPV4.fullmatch(address)
    if ipv4 and _is_loopback(ipv4[1]):
        return
    fault = (
        f"{address!r} can be reached from other machines, and development mode lets everybody in:"
        " listen on 127.0.0.1, [::1], localhost or a unix: socket, or set up credentials"
    )
    raise AuthMisconfigured([fault])


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.IPv4Address(address).is_loopback
    except ValueError:
        return False
