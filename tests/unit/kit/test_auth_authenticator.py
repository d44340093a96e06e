"""From settings to the principal of a call."""

import json
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm

from hilvan_kit.auth import (
    ANY_TENANT,
    TENANT_KEY,
    USER_KEY,
    Authenticator,
    AuthError,
    AuthMisconfigured,
    AuthMode,
    AuthSettings,
    ClaimNames,
    PermissionDenied,
    Principal,
    Reason,
    Role,
    build_authenticator,
    generate,
)

NOW = 1_000_000_000.0
SECRET = "0123456789abcdef0123456789abcdef"
ANYWHERE = "0.0.0.0:50051"
CLAIMS = {"tenant": "acme", "sub": "ana", "role": "member", "exp": NOW + 60}
ANA = Principal("acme", "ana", Role.MEMBER)


def build(**settings: Any) -> Authenticator:
    """An authenticator of these settings whose clock stands still."""
    return build_authenticator(AuthSettings(**settings), ANYWHERE, lambda: NOW)


def bearer(token: str) -> dict[str, str]:
    """The metadata of a call with this credential."""
    return {"authorization": f"Bearer {token}"}


def faults_of(listen: str = ANYWHERE, **settings: Any) -> tuple[str, ...]:
    """What is wrong with the settings."""
    with pytest.raises(AuthMisconfigured) as caught:
        build_authenticator(AuthSettings(**settings), listen, lambda: NOW)
    return caught.value.faults


def refusal(authenticator: Authenticator, metadata: dict[str, str]) -> Reason:
    """Why the call has no principal."""
    with pytest.raises(AuthError) as caught:
        authenticator.authenticate(metadata)
    return caught.value.reason


def test_keys_and_tokens_are_accepted_side_by_side() -> None:
    """The prefix of the credential tells a key from a token."""
    text, record = generate("globex", "bob", Role.ADMIN)
    both = build(api_keys_inline=record.to_line(), jwt_secret=SECRET)
    assert both.authenticate(bearer(text)) == Principal("globex", "bob", Role.ADMIN)
    assert both.authenticate(bearer(jwt.encode(CLAIMS, SECRET, "HS256"))) == ANA
    assert both.faults == ()


def test_a_kind_that_is_not_set_up_is_refused() -> None:
    """A token without token settings, and a key without key settings, are just invalid."""
    text, record = generate("acme", "ana", Role.MEMBER)
    token = jwt.encode(CLAIMS, SECRET, "HS256")
    assert refusal(build(api_keys_inline="[]"), bearer(token)) is Reason.CREDENTIAL_INVALID
    assert refusal(build(jwt_secret=SECRET), bearer(text)) is Reason.CREDENTIAL_INVALID
    assert refusal(build(api_keys_inline="[]"), bearer(text)) is Reason.CREDENTIAL_INVALID
    assert build(api_keys_inline=record.to_line()).authenticate(bearer(text)) == ANA


def test_a_call_without_credential_is_told_how_to_send_one() -> None:
    """A missing header has a reason of its own."""
    with pytest.raises(AuthError, match="authorization: Bearer") as caught:
        build(jwt_secret=SECRET).authenticate({TENANT_KEY: "acme", USER_KEY: "ana"})
    assert caught.value.reason is Reason.CREDENTIAL_MISSING


@pytest.mark.parametrize("scheme", ["bearer ", "BEARER ", "Bearer   "])
def test_the_scheme_is_read_in_any_case(scheme: str) -> None:
    """RFC 9110 compares the scheme without case and lets it be followed by spaces."""
    token = jwt.encode(CLAIMS, SECRET, "HS256")
    assert build(jwt_secret=SECRET).authenticate({"authorization": scheme + token}) == ANA


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic {}", "{}", "Bearer {} {}"])
def test_any_other_header_is_invalid(header: str) -> None:
    """Another scheme, no scheme, no credential and two credentials are refused."""
    token = jwt.encode(CLAIMS, SECRET, "HS256")
    metadata = {"authorization": header.format(token, token)}
    assert refusal(build(jwt_secret=SECRET), metadata) is Reason.CREDENTIAL_INVALID


def test_an_endless_credential_is_not_even_looked_at() -> None:
    """A good token of more than 8 KiB is refused for its length."""
    long = jwt.encode({**CLAIMS, "jti": "x" * 8192}, SECRET, "HS256")
    assert refusal(build(jwt_secret=SECRET), bearer(long)) is Reason.CREDENTIAL_INVALID


def test_the_metadata_names_whom_a_service_acts_for() -> None:
    """A service's credential takes the call's tenant and user, a person's does not."""
    text, record = generate(ANY_TENANT, "assembler", Role.SERVICE)
    both = build(api_keys_inline=record.to_line(), jwt_secret=SECRET)
    named = {TENANT_KEY: "acme", USER_KEY: "eva"}
    assert both.authenticate({**bearer(text), **named}) == Principal("acme", "eva", Role.MEMBER)
    with pytest.raises(PermissionDenied):
        both.authenticate({**bearer(jwt.encode(CLAIMS, SECRET, "HS256")), **named})


def test_files_are_followed_and_their_faults_exposed(tmp_path: Path) -> None:
    """Both files are read at the start and again when they change; a broken one is told."""
    now = NOW
    key = ec.generate_private_key(ec.SECP256R1())
    token = jwt.encode(CLAIMS, key, "ES256", {"kid": "e1"})
    text, record = generate("acme", "ana", Role.MEMBER)
    keys, jwks = tmp_path / "keys.yaml", tmp_path / "jwks.json"
    keys.write_text(record.to_line(), encoding="utf-8")
    public = {**ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "e1"}
    jwks.write_text(json.dumps({"keys": [public]}), encoding="utf-8")
    settings = AuthSettings(api_keys_file=str(keys), jwks_file=str(jwks))
    both = build_authenticator(settings, ANYWHERE, lambda: now)
    assert both.authenticate(bearer(text)) == both.authenticate(bearer(token)) == ANA

    keys.write_text("[]", encoding="utf-8")
    jwks.write_text("[]", encoding="utf-8")
    now += 1
    assert refusal(both, bearer(text)) is Reason.CREDENTIAL_INVALID
    assert both.authenticate(bearer(token)) == ANA
    assert both.faults == (f"{jwks}: expected an object with a list of 'keys'",)
    keys.write_text("", encoding="utf-8")
    now += 1
    assert refusal(both, bearer(text)) is Reason.CREDENTIAL_INVALID
    assert both.faults[0] == f"{keys}: line 1: expected a list of keys"


def test_token_settings_reach_the_verifier() -> None:
    """Issuer, audience and claim names of the settings are the ones that count."""
    strict = build(
        jwt_secret=SECRET, issuer="https://id", audience="hilvan", claims=ClaimNames(tenant="org")
    )
    good = {**CLAIMS, "org": "globex", "iss": "https://id", "aud": "hilvan"}
    assert strict.authenticate(bearer(jwt.encode(good, SECRET, "HS256"))).tenant == "globex"
    for name in ("org", "iss", "aud"):
        token = jwt.encode({**good, name: "a b"}, SECRET, "HS256")
        assert refusal(strict, bearer(token)) is Reason.CREDENTIAL_INVALID


def test_the_secret_is_the_bytes_that_were_set() -> None:
    """Bytes of the environment that are not UTF-8 arrive as surrogates and are taken back."""
    raw = b"\xff" * 32
    token = jwt.encode(CLAIMS, raw, "HS256")
    secret = raw.decode("utf-8", "surrogateescape")
    assert build(jwt_secret=secret).authenticate(bearer(token)) == ANA


def test_nothing_set_up_is_a_fault() -> None:
    """The default is to ask for credentials, and then some kind of them must be known."""
    (fault,) = faults_of()
    assert fault.startswith("mode: credentials need at least one of api_keys_file, ")


def test_an_unknown_mode_is_a_fault() -> None:
    """A misspelt mode is told with the known ones."""
    assert faults_of(mode="dev") == ("mode: must be development or credentials",)


def test_every_fault_of_the_settings_is_told_at_once(tmp_path: Path) -> None:
    """All faults come in one error, each led by its setting, and no secret is repeated."""
    gone, jwks = tmp_path / "gone", tmp_path / "jwks.json"
    jwks.write_text("{}", encoding="utf-8")
    faults = faults_of(
        api_keys_file=str(gone),
        api_keys_inline="- hv_pasted\n- hv_pasted",
        jwt_secret="pasted",
        jwks_file=str(jwks),
    )
    required = "key_id, tenant, user, role, sha256"
    assert faults == (
        "api_keys_inline: can't be combined with api_keys_file",
        f"api_keys_file: {gone}: can't be read (No such file or directory)",
        f"api_keys_inline: line 1: expected a mapping with {required}",
        f"api_keys_inline: line 2: expected a mapping with {required}",
        "jwt_secret: must have at least 32 bytes",
        f"jwks_file: {jwks}: expected an object with a list of 'keys'",
    )


@pytest.mark.parametrize("name", ["api_keys_file", "jwks_file"])
def test_a_file_alone_is_enough_of_a_configuration(tmp_path: Path, name: str) -> None:
    """With one file set, the only thing that can be wrong is the file."""
    gone = tmp_path / "gone"
    fault = f"{name}: {gone}: can't be read (No such file or directory)"
    assert faults_of(**{name: str(gone)}) == (fault,)


def test_the_message_of_a_misconfiguration_joins_its_faults() -> None:
    """What is printed at the start holds every fault."""
    assert str(AuthMisconfigured(["one", "two"])) == "one; two"


def test_issuer_and_audience_without_tokens_are_faults() -> None:
    """A setting that would not be used is a mistake somewhere else."""
    assert faults_of(api_keys_inline="[]", issuer="i", audience="a") == (
        "issuer: is only used with jwt_secret or jwks_file",
        "audience: is only used with jwt_secret or jwks_file",
    )


def test_development_mode_is_for_loopback_only() -> None:
    """Development mode is built for a loopback address and for no other, not even none."""
    settings = AuthSettings(mode=AuthMode.DEVELOPMENT)
    development = build_authenticator(settings, "127.0.0.1:50051", lambda: NOW)
    assert development.authenticate({}) == Principal("dev", "dev", Role.SERVICE)
    for address in (ANYWHERE, ""):
        (fault,) = faults_of(address, mode="development")
        assert fault.startswith(f"listen: {address!r} can be reached")


def test_development_mode_does_not_ignore_credentials_silently() -> None:
    """Who set up credentials meant them: development mode refuses, with all other faults."""
    names = ["api_keys_file", "api_keys_inline", "jwt_secret", "jwks_file"]
    faults = faults_of(mode="development", **dict.fromkeys(names, "x"))
    assert [fault.split(":")[0] for fault in faults] == [*names, "listen"]


def test_settings_hide_their_secrets() -> None:
    """Printing the settings shows neither the secret nor the keys."""
    shown = repr(AuthSettings(jwt_secret="hidden1", api_keys_inline="hidden2"))
    assert "hidden" not in shown


garbage = st.text() | st.from_regex(r"(?i)bearer (hv_[a-z0-9]*_)?[ -~]*", fullmatch=True)


@given(st.dictionaries(st.sampled_from(["authorization", TENANT_KEY, USER_KEY, "other"]), garbage))
def test_no_header_gets_anything_but_an_auth_error(metadata: dict[str, str]) -> None:
    """Without a good credential every call ends in AuthError, whatever it sends."""
    _, record = generate("acme", "ana", Role.MEMBER)
    both = build(api_keys_inline=record.to_line(), jwt_secret=SECRET)
    with pytest.raises(AuthError) as caught:
        both.authenticate(metadata)
    assert caught.value.reason in Reason
