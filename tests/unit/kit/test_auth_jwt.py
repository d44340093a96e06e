"""JSON Web Tokens and the keys that verify them."""

import base64
import hashlib
import hmac
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from hilvan_kit.auth import (
    AuthMisconfigured,
    ClaimNames,
    Grant,
    JwtVerifier,
    Reason,
    Role,
    Unauthenticated,
    WatchedFile,
    parse_jwks,
    shared_secret,
)
from hilvan_kit.auth.json_web_tokens import LEEWAY_SECONDS

NOW = 1_000_000_000.0  # in 2001: the machine's own clock would call every token here expired
SECRET = b"0123456789abcdef0123456789abcdef"
CLAIMS = {"tenant": "acme", "sub": "ana", "role": "member", "exp": NOW + 60}
ANA = Grant("acme", "ana", Role.MEMBER)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: float = NOW

    def __call__(self) -> float:
        """The time it was set to."""
        return self.now


@pytest.fixture(scope="module")
def rsa_key() -> rsa.RSAPrivateKey:
    """A signing key for RS256."""
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture(scope="module")
def ec_key() -> ec.EllipticCurvePrivateKey:
    """A signing key for ES256."""
    return ec.generate_private_key(ec.SECP256R1())


def rsa_jwk(key: rsa.RSAPrivateKey, kid: str = "r1", **more: object) -> dict[str, Any]:
    """The public half of an RSA key as a JWK."""
    return {**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, **more}


def ec_jwk(key: ec.EllipticCurvePrivateKey, kid: str = "e1", **more: object) -> dict[str, Any]:
    """The public half of an elliptic key as a JWK."""
    return {**ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, **more}


def jwks(*keys: object) -> str:
    """The text of a JWKS file."""
    return json.dumps({"keys": keys})


def b64(data: bytes) -> str:
    """Base64url without padding, as in tokens."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign(claims: object, secret: bytes = SECRET, **header: object) -> str:
    """A token signed with HMAC by hand: PyJWT's encoder refuses much of what is tried here."""
    parts = ({"alg": "HS256", **header}, claims)
    signed = ".".join(b64(json.dumps(part).encode()) for part in parts)
    return f"{signed}.{b64(hmac.digest(secret, signed.encode(), hashlib.sha256))}"


def hs256(changes: Mapping[str, object] = {}) -> str:
    """A token of the usual claims with these changes, signed with the shared secret."""
    return sign({**CLAIMS, **changes})


def secret_verifier(clock: Clock | None = None, **more: Any) -> JwtVerifier:
    """A verifier of HS256 tokens only."""
    return JwtVerifier(clock=clock or Clock(), secret=shared_secret(SECRET), **more)


def refusal(verifier: JwtVerifier, token: str) -> Reason:
    """Why the token is refused; the message repeats nothing of it."""
    with pytest.raises(Unauthenticated) as caught:
        verifier.verify(token)
    assert not any(part in str(caught.value) for part in token.split(".") if part)
    assert caught.value.__cause__ is None
    return caught.value.reason


def test_each_algorithm_gives_the_grant_of_its_claims(
    rsa_key: rsa.RSAPrivateKey, ec_key: ec.EllipticCurvePrivateKey
) -> None:
    """HS256 by the secret, RS256 and ES256 by kid, side by side."""
    keys = parse_jwks(jwks(rsa_jwk(rsa_key), ec_jwk(ec_key)))
    verifier = secret_verifier(jwks=lambda: keys)
    assert verifier.verify(hs256()) == ANA
    assert verifier.verify(jwt.encode(CLAIMS, rsa_key, "RS256", {"kid": "r1"})) == ANA
    assert verifier.verify(jwt.encode(CLAIMS, ec_key, "ES256", {"kid": "e1"})) == ANA


def test_a_token_signed_by_another_key_is_refused(
    rsa_key: rsa.RSAPrivateKey, ec_key: ec.EllipticCurvePrivateKey
) -> None:
    """Wrong secret, wrong kid, no kid and a kid of the other algorithm are all invalid."""
    keys = parse_jwks(jwks(rsa_jwk(rsa_key), ec_jwk(ec_key)))
    verifier = secret_verifier(jwks=lambda: keys)
    for token in (
        sign(CLAIMS, b"x" * 32),
        jwt.encode(CLAIMS, rsa_key, "RS256", {"kid": "r2"}),
        jwt.encode(CLAIMS, rsa_key, "RS256"),
        jwt.encode(CLAIMS, rsa_key, "RS256", {"kid": "e1"}),
        jwt.encode(CLAIMS, rsa_key, "RS384", {"kid": "r1"}),
        jwt.encode(CLAIMS, rsa_key, "PS256", {"kid": "r1"}),
        jwt.encode(CLAIMS, SECRET * 2, "HS512"),
    ):
        assert refusal(verifier, token) is Reason.CREDENTIAL_INVALID


def test_the_public_key_is_no_hmac_secret(rsa_key: rsa.RSAPrivateKey) -> None:
    """The algorithm confusion attack: HS256 with the bytes of the public key is refused."""
    keys = parse_jwks(jwks(rsa_jwk(rsa_key)))
    public = rsa_key.public_key()
    pem = public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    forged = sign(CLAIMS, pem, kid="r1")
    for verifier in (
        JwtVerifier(clock=Clock(), jwks=lambda: keys),
        secret_verifier(jwks=lambda: keys),
    ):
        assert refusal(verifier, forged) is Reason.CREDENTIAL_INVALID


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "", None, [], {}, 1])
def test_an_unsigned_token_is_refused(rsa_key: rsa.RSAPrivateKey, alg: object) -> None:
    """No spelling of ``none`` in the header gets a token past a key."""
    keys = parse_jwks(jwks(rsa_jwk(rsa_key)))
    header = b64(json.dumps({"alg": alg, "kid": "r1"}).encode())
    token = f"{header}.{b64(json.dumps(CLAIMS).encode())}."
    for verifier in (JwtVerifier(clock=Clock(), jwks=lambda: keys), secret_verifier()):
        assert refusal(verifier, token) is Reason.CREDENTIAL_INVALID


def test_without_a_secret_no_hs256_token_is_good() -> None:
    """A verifier that was given no key accepts nothing."""
    assert refusal(JwtVerifier(clock=Clock()), hs256()) is Reason.CREDENTIAL_INVALID


def test_a_token_expires_at_its_time_also_when_remembered() -> None:
    """``exp`` is exclusive and exact, for new and for remembered tokens."""
    clock = Clock(NOW + 59.999)
    verifier = secret_verifier(clock)
    assert verifier.verify(hs256()) == ANA
    clock.now = NOW + 60
    assert refusal(verifier, hs256()) is Reason.CREDENTIAL_EXPIRED
    assert refusal(secret_verifier(clock), hs256()) is Reason.CREDENTIAL_EXPIRED


def test_expiry_is_told_only_to_who_has_a_good_signature() -> None:
    """A forged token that is expired too is just invalid."""
    assert refusal(secret_verifier(Clock(NOW + 99)), sign(CLAIMS, b"x" * 32)) is (
        Reason.CREDENTIAL_INVALID
    )


@pytest.mark.parametrize("name", ["nbf", "iat"])
def test_the_issuers_clock_may_be_half_a_minute_ahead(name: str) -> None:
    """``nbf`` and ``iat`` up to 30 s in the future are good, more is not."""
    assert secret_verifier().verify(hs256({name: NOW + LEEWAY_SECONDS})) == ANA
    late = hs256({name: NOW + LEEWAY_SECONDS + 0.001})
    assert refusal(secret_verifier(), late) is Reason.CREDENTIAL_INVALID


@pytest.mark.parametrize(
    "exp", [None, "9999999999", True, float("nan"), float("inf"), 10**400, 2**53, [], {}]
)
def test_exp_must_be_a_time(exp: object) -> None:
    """A token whose ``exp`` is no finite number never expires, so it never starts."""
    assert refusal(secret_verifier(), hs256({"exp": exp})) is Reason.CREDENTIAL_INVALID


@pytest.mark.parametrize("missing", CLAIMS)
def test_each_claim_is_required(missing: str) -> None:
    """A token without tenant, user, role or expiry is refused."""
    claims = {name: value for name, value in CLAIMS.items() if name != missing}
    token = sign(claims)
    assert refusal(secret_verifier(), token) is Reason.CREDENTIAL_INVALID


@pytest.mark.parametrize(
    "change",
    [
        {"tenant": "a b"},
        {"tenant": 7},
        {"tenant": ["acme"]},
        {"tenant": "*"},
        {"sub": ""},
        {"sub": 7},
        {"role": "root"},
        {"role": ["admin"]},
    ],
)
def test_each_claim_must_make_a_grant(change: dict[str, object]) -> None:
    """Malformed ids, unknown roles and people of every tenant are refused."""
    assert refusal(secret_verifier(), hs256(change)) is Reason.CREDENTIAL_INVALID


def test_claims_may_have_other_names() -> None:
    """An issuer's own claim names are configured, and then only those count."""
    verifier = secret_verifier(claims=ClaimNames("org", "email", "https://hilvan/role"))
    named = {"org": "globex", "email": "bob@globex.com", "https://hilvan/role": "admin"}
    assert verifier.verify(hs256(named)) == Grant("globex", "bob@globex.com", Role.ADMIN)
    assert refusal(verifier, hs256()) is Reason.CREDENTIAL_INVALID


def test_issuer_and_audience_are_compared_when_configured() -> None:
    """A configured issuer or audience must be in the token; without one nothing is compared."""
    strict = secret_verifier(issuer="https://id", audience="hilvan")
    good = {"iss": "https://id", "aud": "hilvan"}
    assert strict.verify(hs256(good)) == ANA
    assert strict.verify(hs256({**good, "aud": ["other", "hilvan"]})) == ANA
    for name in good:
        for bad in ({name: "other"}, {name: 7}, {name: None}, {name: ""}):
            assert refusal(strict, hs256({**good, **bad})) is Reason.CREDENTIAL_INVALID
        without = {key: value for key, value in good.items() if key != name}
        assert refusal(strict, hs256(without)) is Reason.CREDENTIAL_INVALID
    assert secret_verifier().verify(hs256({"iss": "whoever", "aud": "whatever"})) == ANA


def test_a_rotated_jwks_is_followed(tmp_path: Path, rsa_key: rsa.RSAPrivateKey) -> None:
    """A new key is good after the next look at the file, and the old one's tokens are not.

    Not even those that were verified before.
    """
    clock = Clock()
    new_key = rsa.generate_private_key(65537, 2048)
    old, new = (
        jwt.encode(CLAIMS, key, "RS256", {"kid": kid})
        for key, kid in ((rsa_key, "r1"), (new_key, "r2"))
    )
    path = tmp_path / "jwks.json"
    path.write_text(jwks(rsa_jwk(rsa_key)), encoding="utf-8")
    verifier = JwtVerifier(clock=clock, jwks=WatchedFile(path, parse_jwks, clock))
    assert verifier.verify(old) == ANA
    assert refusal(verifier, new) is Reason.CREDENTIAL_INVALID

    path.write_text(jwks(rsa_jwk(rsa_key), rsa_jwk(new_key, "r2")), encoding="utf-8")
    clock.now += 1
    assert verifier.verify(old) == verifier.verify(new) == ANA

    path.write_text(jwks(rsa_jwk(new_key, "r2")), encoding="utf-8")
    clock.now += 1
    assert refusal(verifier, old) is Reason.CREDENTIAL_INVALID
    assert verifier.verify(new) == ANA


def test_remembered_tokens_are_bounded_and_the_least_used_goes_first() -> None:
    """No more than the bound is kept, and a token in use stays."""
    verifier = secret_verifier(remembered=3)
    used = hs256()
    for number in range(5):
        verifier.verify(hs256({"jti": str(number)}))
        verifier.verify(used)
    kept = [hs256({"jti": "3"}), hs256({"jti": "4"}), used]
    assert list(verifier._verified) == [hashlib.sha256(t.encode()).digest() for t in kept]


def test_bad_tokens_are_not_remembered() -> None:
    """Neither invalid nor expired tokens take a place from good ones."""
    verifier = secret_verifier()
    for token in (sign(CLAIMS, b"x" * 32), hs256({"exp": NOW})):
        refusal(verifier, token)
    assert not verifier._verified


@given(header=anything, payload=anything, signature=st.binary(max_size=40))
def test_no_unsigned_bytes_break_the_verifier(
    header: object, payload: object, signature: bytes
) -> None:
    """Whatever JSON the three parts hold, the answer is Unauthenticated."""
    token = ".".join(
        b64(part) for part in (json.dumps(header).encode(), json.dumps(payload).encode(), signature)
    )
    with pytest.raises(Unauthenticated):
        secret_verifier().verify(token)


@given(
    st.dictionaries(
        st.sampled_from(["tenant", "sub", "role", "exp", "nbf", "iat", "iss", "aud", "jti"]),
        anything,
    )
)
def test_no_signed_claims_break_the_verifier(claims: dict[str, object]) -> None:
    """Whatever a trusted issuer signs, the answer is a grant or Unauthenticated."""
    token = hs256(claims)
    try:
        grant = secret_verifier(issuer="https://id").verify(token)
    except Unauthenticated:
        return
    assert isinstance(grant, Grant)


def test_deeply_nested_json_does_not_break_the_verifier() -> None:
    """A header of a thousand brackets is invalid, not a crash."""
    assert refusal(secret_verifier(), f"{b64(b'[' * 5000)}.e30.e30") is Reason.CREDENTIAL_INVALID


def test_a_secret_has_32_bytes_at_least() -> None:
    """A shorter secret is refused at the start; 32 bytes are enough, of whatever value."""
    with pytest.raises(AuthMisconfigured, match="at least 32 bytes"):
        shared_secret(b"x" * 31)
    assert shared_secret(bytes(range(32))).algorithm_name == "HS256"


def test_a_key_file_in_place_of_a_secret_is_refused(rsa_key: rsa.RSAPrivateKey) -> None:
    """A PEM key is public or was meant for another setting: it is no shared secret."""
    pem = rsa_key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with pytest.raises(AuthMisconfigured, match="not a PEM or SSH key"):
        shared_secret(pem)


def test_keys_for_others_are_passed_over(
    rsa_key: rsa.RSAPrivateKey, ec_key: ec.EllipticCurvePrivateKey
) -> None:
    """Encryption keys, other algorithms and unknown types don't disturb a set that serves us."""
    others = [
        rsa_jwk(rsa_key, "enc", use="enc"),
        rsa_jwk(rsa_key, "rs512", alg="RS512"),
        {**ec_jwk(ec_key, "p384"), "crv": "P-384"},
        {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": "x"},
        {"kty": "oct", "kid": "hs", "k": b64(SECRET)},
        {"kty": "OKP", "crv": "P-256", "kid": "mixed", "x": "x"},
        {"kty": ["RSA"], "kid": "odd"},
        "odd",
    ]
    ours = [rsa_jwk(rsa_key, use="sig", alg="RS256"), ec_jwk(ec_key, use="sig", alg="ES256")]
    assert list(parse_jwks(jwks(*others, *ours))) == ["r1", "e1"]
    with pytest.raises(AuthMisconfigured, match="no key for RS256 or ES256"):
        parse_jwks(jwks(*others))


def test_every_fault_of_a_jwks_is_told_at_once(
    rsa_key: rsa.RSAPrivateKey, ec_key: ec.EllipticCurvePrivateKey
) -> None:
    """Each bad key is named by its index, and no part of a key is repeated."""
    weak = rsa.generate_private_key(65537, 1024)  # noqa: S505 - what the test is about
    private = RSAAlgorithm.to_jwk(rsa_key, as_dict=True)
    text = jwks(
        rsa_jwk(rsa_key),
        rsa_jwk(rsa_key),
        rsa_jwk(rsa_key, kid=""),
        {**private, "kid": "private"},
        rsa_jwk(weak, "weak"),
        {**rsa_jwk(rsa_key, "broken"), "n": "!"},
        {"kty": "RSA", "kid": "empty"},
        ec_jwk(ec_key, kid="off-curve", y="AA"),
        {**rsa_jwk(rsa_key), "kid": 7},
    )
    with pytest.raises(AuthMisconfigured) as caught:
        parse_jwks(text)
    assert caught.value.faults == (
        "keys[1]: this kid was used before",
        "keys[2]: kid is missing",
        "keys[3]: this is a private key; a JWKS holds public keys only",
        "keys[4]: an RSA key must have at least 2048 bits",
        "keys[5]: not a valid RS256 key",
        "keys[6]: not a valid RS256 key",
        "keys[7]: not a valid ES256 key",
        "keys[8]: kid is missing",
    )
    with pytest.raises(AuthMisconfigured, match=r"^keys\[0\]: kid is missing$"):
        parse_jwks(jwks(rsa_jwk(rsa_key, kid="")))


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "NaN-"])
def test_what_is_no_json_is_no_jwks(text: str) -> None:
    """A fault of the syntax is told."""
    with pytest.raises(AuthMisconfigured, match=r"^not JSON$"):
        parse_jwks(text)


@pytest.mark.parametrize("text", ["[]", "{}", '{"keys": {}}', "7"])
def test_what_holds_no_list_of_keys_is_no_jwks(text: str) -> None:
    """A fault of the shape is told."""
    with pytest.raises(AuthMisconfigured, match="a list of 'keys'"):
        parse_jwks(text)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"kty": st.sampled_from(["RSA", "EC"]), "kid": st.text(min_size=1)},
            optional={
                "crv": st.just("P-256"),
                **dict.fromkeys(("n", "e", "x", "y"), st.binary(max_size=40).map(b64) | anything),
                **dict.fromkeys(("use", "alg", "key_ops"), anything),
            },
        ),
        max_size=3,
    )
)
def test_no_key_breaks_the_reader(keys: list[object]) -> None:
    """Whatever the parts of a key hold, it is a key or a fault."""
    try:
        found: Collection[str] = parse_jwks(jwks(*keys))
    except AuthMisconfigured as error:
        found = error.faults
    assert found
