"""Development mode: one principal for everybody, on this machine only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilvan_kit.auth import (
    TENANT_KEY,
    USER_KEY,
    AuthMisconfigured,
    DevelopmentAuthenticator,
    Principal,
    Reason,
    Role,
    Unauthenticated,
    require_loopback,
)


def test_everybody_is_the_fixed_principal() -> None:
    """No credential is asked for and none is read."""
    development = DevelopmentAuthenticator()
    assert development.authenticate({}) == Principal("dev", "dev", Role.SERVICE)
    assert development.authenticate({"authorization": "Bearer x"}).tenant == "dev"
    assert development.faults == ()


def test_metadata_names_another_tenant_or_user() -> None:
    """Isolation can be tried without credentials."""
    development = DevelopmentAuthenticator("acme", "ana")
    assert development.authenticate({}) == Principal("acme", "ana", Role.SERVICE)
    assert development.authenticate({TENANT_KEY: "globex"}) == Principal(
        "globex", "ana", Role.SERVICE
    )
    assert development.authenticate({USER_KEY: "bob"}) == Principal("acme", "bob", Role.MEMBER)


def test_malformed_names_are_refused() -> None:
    """A malformed name is refused from the metadata and from the code."""
    with pytest.raises(Unauthenticated) as caught:
        DevelopmentAuthenticator().authenticate({USER_KEY: "a b"})
    assert caught.value.reason is Reason.PRINCIPAL_INVALID
    with pytest.raises(ValueError, match=r"^tenant must be"):
        DevelopmentAuthenticator(tenant="*")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:50051",
        "127.0.0.1",
        "127.255.0.9:0",
        "[::1]:50051",
        "[::1]",
        "localhost:50051",
        "localhost",
        "unix:/run/hilvan.sock",
        "unix:///run/hilvan.sock",
    ],
)
def test_loopback_addresses_are_accepted(address: str) -> None:
    """What only this machine can reach may be listened on."""
    require_loopback(address)


@pytest.mark.parametrize(
    "address",
    [
        "",
        ":50051",
        "0.0.0.0:50051",
        "[::]:50051",
        "::1:50051",
        "[::ffff:127.0.0.1]:1",
        "10.0.0.1:50051",
        "128.0.0.1:1",
        "127.1:50051",
        "127.0.0.1.example.com:1",
        "127.0.0.1:1,0.0.0.0:1",
        "127.0.0.1:port",
        "hilvan.internal:50051",
        "localhost.example.com:1",
        "Localhost:1",
        "localhost:1\n",
        "dns:///localhost:1",
        "ipv4:127.0.0.1:1",
        "unix:",
        "vsock:1:1",
    ],
)
def test_any_other_address_is_refused_with_advice(address: str) -> None:
    """What others might reach is refused by name, and the message says what to do."""
    with pytest.raises(AuthMisconfigured, match=r"listen on 127\.0\.0\.1") as caught:
        require_loopback(address)
    assert repr(address) in str(caught.value)


@given(st.ip_addresses(v=4))
def test_of_ipv4_exactly_127_is_loopback(address: object) -> None:
    """An IPv4 address is accepted when its first octet is 127, and only then."""
    try:
        require_loopback(f"{address}:50051")
    except AuthMisconfigured:
        assert not str(address).startswith("127.")
    else:
        assert str(address).startswith("127.")
