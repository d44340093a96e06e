"""API keys: making, storing and checking them."""

import json
import re
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilvan_kit.auth import (
    ANY_TENANT,
    ApiKey,
    ApiKeyVerifier,
    AuthMisconfigured,
    Grant,
    Reason,
    Role,
    Unauthenticated,
    WatchedFile,
    generate,
    parse_api_keys,
)

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
GOOD = {"key_id": "k1", "tenant": "acme", "user": "ana", "role": "member", "sha256": "a" * 64}


def verifier(*records: ApiKey, now: datetime = NOW) -> ApiKeyVerifier:
    """A verifier of these records whose clock stands at ``now``."""
    keys = {record.key_id: record for record in records}
    return ApiKeyVerifier(lambda: keys, now.timestamp)


def refusal(check: ApiKeyVerifier, token: str) -> Reason:
    """Why the token is refused."""
    with pytest.raises(Unauthenticated) as caught:
        check.verify(token)
    assert token not in str(caught.value)
    return caught.value.reason


def faults_of(text: str) -> tuple[str, ...]:
    """What is wrong with a key file."""
    with pytest.raises(AuthMisconfigured) as caught:
        parse_api_keys(text)
    return caught.value.faults


def lines(*records: object) -> str:
    """A key file with a record a line."""
    return "\n".join(f"- {json.dumps(record)}" for record in records)


def test_a_generated_key_opens_what_it_was_made_for() -> None:
    """The text of a new key is accepted against its record and gives its grant."""
    text, record = generate("acme", "ana", Role.ADMIN)
    assert re.fullmatch(r"hv_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", text)
    assert verifier(record).verify(text) == Grant("acme", "ana", Role.ADMIN)


def test_the_record_holds_no_secret_and_no_two_keys_are_alike() -> None:
    """The stored line has the hash and not the secret; each key has its own id and secret."""
    made = [generate("acme", "ana", Role.MEMBER) for _ in range(50)]
    assert all(text.split("_", 2)[2] not in record.to_line() for text, record in made)
    assert len({record.key_id for _, record in made}) == 50
    assert len({record.sha256 for _, record in made}) == 50


def test_generate_refuses_what_could_never_be_used() -> None:
    """Malformed ids, a person of every tenant and an expiry without time zone make no key."""
    with pytest.raises(ValueError, match=r"^user must be"):
        generate("acme", "a b", Role.MEMBER)
    with pytest.raises(ValueError, match="service"):
        generate(ANY_TENANT, "ana", Role.ADMIN)
    with pytest.raises(ValueError, match="time zone"):
        generate("acme", "ana", Role.MEMBER, NOW.replace(tzinfo=None))


def test_wrong_unknown_and_disabled_keys_are_refused_alike() -> None:
    """Wrong secret, unknown id, disabled record and another key's secret: one reason for all."""
    text, record = generate("acme", "ana", Role.MEMBER)
    other_text, other = generate("acme", "bob", Role.MEMBER)
    secret = text.split("_", 2)[2]
    disabled = ApiKey("off", record.grant, record.sha256, disabled=True)
    check = verifier(record, other, disabled)
    for token in (
        text[:-2] + "!!",
        text + "A",
        f"hv_{record.key_id}_{other_text.split('_', 2)[2]}",
        f"hv_unknown_{secret}",
        f"hv_off_{secret}",
    ):
        assert refusal(check, token) is Reason.CREDENTIAL_INVALID


@pytest.mark.parametrize(
    "token", ["hv_", "hv_k1", "hv_k1_", "hv__" + "A" * 43, "xx_k1_" + "A" * 43]
)
def test_what_has_not_the_form_of_a_key_is_refused(token: str) -> None:
    """Prefix, key id and secret are all needed."""
    assert refusal(verifier(), token) is Reason.CREDENTIAL_INVALID


def test_a_short_secret_is_refused_even_with_the_right_hash() -> None:
    """A secret shorter than 32 random bytes was made up by hand, and a plain hash is too weak."""
    digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"  # of "hello"
    check = verifier(ApiKey("k1", Grant("acme", "ana", Role.MEMBER), digest))
    assert refusal(check, "hv_k1_hello") is Reason.CREDENTIAL_INVALID


def test_an_unknown_key_id_costs_the_same_work_as_a_known_one() -> None:
    """The C functions that a refusal calls don't depend on whether the key id exists."""
    _, record = generate("acme", "ana", Role.MEMBER)
    check = verifier(record)

    def work(key_id: str) -> Counter[str]:
        calls: Counter[str] = Counter()

        def count(_: FrameType, event: str, function: object) -> None:
            if event == "c_call":
                calls[getattr(function, "__name__", "")] += 1

        sys.setprofile(count)
        try:
            check.verify(f"hv_{key_id}_" + "A" * 43)
        except Unauthenticated:
            pass
        finally:
            sys.setprofile(None)
        return calls

    known = work(record.key_id)
    assert known["openssl_sha256"] == 1
    assert known["compare_digest"] == 1
    assert work("unknown") == known


def test_a_key_expires_at_its_time_and_not_before() -> None:
    """A key is good until its expiry, exclusive; only who has the secret is told of it."""
    text, record = generate("acme", "ana", Role.MEMBER, NOW)
    assert verifier(record, now=NOW - timedelta(milliseconds=1)).verify(text)
    late = verifier(record, now=NOW)
    assert refusal(late, text) is Reason.CREDENTIAL_EXPIRED
    assert refusal(late, f"hv_{record.key_id}_" + "A" * 43) is Reason.CREDENTIAL_INVALID


@given(
    role=st.sampled_from(Role),
    expires=st.none() | st.datetimes(timezones=st.just(timezone(timedelta(hours=-3)))),
    disabled=st.booleans(),
)
def test_a_record_survives_its_line(
    role: Role,
    expires: datetime | None,
    disabled: bool,  # noqa: FBT001 - drawn by hypothesis
) -> None:
    """Reading the line of a record gives the record."""
    record = ApiKey("k1", Grant("acme", "ana", role), "0" * 64, expires, disabled)
    assert parse_api_keys(record.to_line()) == {"k1": record}


def test_yaml_and_json_say_the_same() -> None:
    """A key file may be a YAML list or a JSON list, also on one line as in an environment."""
    records = [GOOD, {**GOOD, "key_id": "k2", "disabled": True, "expires": "2026-06-01T00:00:00Z"}]
    keys = parse_api_keys(lines(*records))
    assert (
        keys == parse_api_keys(json.dumps(records)) == parse_api_keys(json.dumps(records, indent=2))
    )
    assert keys["k2"].disabled
    assert keys["k2"].expires == datetime(2026, 6, 1, tzinfo=UTC)
    assert not keys["k1"].disabled


def test_scalars_are_the_text_that_was_written() -> None:
    """A tenant called 007 and a user called on need no quotes."""
    text = f"- {{key_id: 12, tenant: 007, user: on, role: member, sha256: {'1' * 64}}}"
    assert parse_api_keys(text)["12"].grant == Grant("007", "on", Role.MEMBER)


def test_a_list_without_keys_is_a_key_set() -> None:
    """Taking the last key out leaves an empty list, which revokes it."""
    assert parse_api_keys("[]") == {}


@pytest.mark.parametrize("text", ["", "# nothing", "{}", "hv_k1_secret", "keys: []"])
def test_what_is_no_list_is_no_key_file(text: str) -> None:
    """An empty file is half a write, not an empty list."""
    assert faults_of(text) == ("line 1: expected a list of keys",)


@pytest.mark.parametrize(
    ("text", "line"), [("- [", 2), ("- a\n- b: c: d\n- e", 2), ("- a: b: c", 1)]
)
def test_what_is_no_yaml_is_told_with_its_line(text: str, line: int) -> None:
    """A fault of the syntax names the line."""
    assert faults_of(text) == (f"line {line}: not well-formed YAML",)


@pytest.mark.parametrize("text", ["\x00", "- \ud800", "\x01"])
def test_characters_outside_yaml_are_told(text: str) -> None:
    """NUL, control characters and lone surrogates are a fault like any other."""
    assert faults_of(text) == ("not well-formed YAML",)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"key_id": "a_b"}, "key_id must be 1 to 64 letters and digits"),
        ({"tenant": "a b"}, "tenant must be 1 to 128"),
        ({"user": ""}, "user must be 1 to 128"),
        ({"role": "root"}, "role must be member or admin or service"),
        ({"sha256": "A" * 64}, "sha256 must be 64 lower-case hexadecimal digits"),
        ({"sha256": "a" * 63}, "sha256 must be 64 lower-case hexadecimal digits"),
        ({"expires": "soon"}, "expires must be a time in ISO 8601"),
        ({"expires": "2026-05-01"}, "expires must have a time zone"),
        ({"disabled": "yes"}, "disabled must be true or false"),
        ({"secret": "x"}, "unknown field; known are key_id, tenant"),
        ({"tenant": "*"}, "tenant '\\*' is for the role 'service' only"),
        ({"user": ["ana"]}, "user must be a single value"),
    ],
)
def test_each_fault_of_a_record_is_named(change: dict[str, object], fault: str) -> None:
    """A record with one thing wrong gives one fault, with its line, that says what is right."""
    (found,) = faults_of(lines(GOOD, {**GOOD, "key_id": "k2", **change}))
    assert re.match(f"line 2: {fault}", found)


def test_every_fault_of_one_record_is_told() -> None:
    """A record in which nothing is right has a fault for each field, in their order."""
    bad = {
        "key_id": "_",
        "tenant": "a b",
        "user": "",
        "role": "root",
        "sha256": "x",
        "expires": "soon",
        "disabled": "maybe",
    }
    assert [fault.split()[2] for fault in faults_of(lines(bad))] == list(bad)


@pytest.mark.parametrize("missing", GOOD)
def test_each_required_field_is_missed(missing: str) -> None:
    """Leaving out a required field is told by its name."""
    record = {name: value for name, value in GOOD.items() if name != missing}
    assert faults_of(lines(record)) == (f"line 1: {missing} is missing",)


def test_every_fault_is_told_at_once_and_no_value_is_repeated() -> None:
    """All faults of all records come together, each with its line, and nothing of the values."""
    text = "\n".join(
        [
            lines(GOOD),
            "- hv_k1_pasted",
            "- key_id: k2",
            "  tenant: hv_k2_pasted",
            "  tenant: acme",
            "  [hv_pasted]: x",
            "  role: hv pasted",
            lines(GOOD),
        ]
    )
    faults = faults_of(text)
    assert [fault.split(";")[0] for fault in faults] == [
        "line 2: expected a mapping with key_id, tenant, user, role, sha256",
        "line 5: tenant is given twice",
        "line 6: unknown field",
        "line 7: role must be member or admin or service",
        "line 3: user is missing",
        "line 3: sha256 is missing",
        "line 8: this key_id was used before",
    ]
    assert "pasted" not in str(faults)


@given(st.text() | st.recursive(st.text(), st.lists).map(json.dumps))
def test_no_text_breaks_the_reader(text: str) -> None:
    """Any text is a key set or AuthMisconfigured with at least one fault."""
    try:
        parse_api_keys(text)
    except AuthMisconfigured as error:
        faults = error.faults
    else:
        faults = ("none",)
    assert faults


def test_deep_nesting_does_not_break_the_reader() -> None:
    """A file of ten thousand brackets is a fault, not a crash."""
    assert faults_of("[" * 10_000)
    assert faults_of("- " * 10_000)


def test_a_key_that_left_the_file_is_refused(tmp_path: Path) -> None:
    """A key is revoked by the next look at the file; a broken file revokes and admits nobody."""
    now = NOW.timestamp()
    (ana_text, ana), (bob_text, bob) = (generate("acme", u, Role.MEMBER) for u in ("ana", "bob"))
    path = tmp_path / "keys.yaml"
    path.write_text(f"{ana.to_line()}\n{bob.to_line()}\n", encoding="utf-8")
    file = WatchedFile(path, parse_api_keys, lambda: now)
    check = ApiKeyVerifier(file, lambda: now)
    assert check.verify(ana_text).user == "ana"

    path.write_text(bob.to_line(), encoding="utf-8")
    now += 1
    assert refusal(check, ana_text) is Reason.CREDENTIAL_INVALID
    assert check.verify(bob_text).user == "bob"

    path.write_text("- broken", encoding="utf-8")
    now += 1
    assert check.verify(bob_text).user == "bob"
    assert refusal(check, ana_text) is Reason.CREDENTIAL_INVALID
    assert file.faults
