"""API keys: ``hv_<key id>_<secret>``, of which only a hash of the secret is stored.

The hash is a plain SHA-256. Slow, salted hashes protect secrets that people choose, because those
can be guessed; 32 random bytes can't be, however fast the hash is.
"""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

import yaml

from hilvan_kit.auth.errors import AuthMisconfigured, Reason, Unauthenticated
from hilvan_kit.auth.principal import ANY_TENANT, Clock, Grant, Role, check_id

PREFIX = "hv_"

_SECRET_BYTES = 32
# base64url of 32 bytes has 43 characters: a shorter secret was not made by `generate`, and is
# refused even when its hash was written into the file.
_KEY = re.compile(PREFIX + r"([A-Za-z0-9]{1,64})_([A-Za-z0-9_-]{43,})")
_KEY_ID = re.compile(r"[A-Za-z0-9]{1,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NO_DIGEST = "0" * 64


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A stored key: what it grants and the SHA-256 (hex) of its secret, never the secret."""

    key_id: str
    grant: Grant
    sha256: str
    expires: datetime | None = None
    disabled: bool = False

    def to_line(self) -> str:
        """The key as one line of a key file: an item of a YAML list, written as JSON."""
        record = {
            "key_id": self.key_id,
            "tenant": self.grant.tenant,
            "user": self.grant.user,
            "role": self.grant.role.value,
            "sha256": self.sha256,
        }
        if self.expires:
            record["expires"] = self.expires.isoformat()
        if self.disabled:
            record["disabled"] = "true"
        return f"- {json.dumps(record)}"


KeySet = Mapping[str, ApiKey]
"""API keys by their id."""


def generate(
    tenant: str, user: str, role: Role, expires: datetime | None = None
) -> tuple[str, ApiKey]:
    """Make a key: its text, to be shown once and never stored, and its record.

    Raises ValueError for malformed ids, a person of every tenant or an expiry without time zone.
    """
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(_SECRET_BYTES)
    grant = Grant(tenant, user, role)
    record = ApiKey(key_id, grant, _digest(secret), _aware(expires) if expires else None)
    return f"{PREFIX}{key_id}_{secret}", record


class ApiKeyVerifier:
    """Checks keys against a key set that may change from call to call."""

    def __init__(self, keys: Callable[[], KeySet], clock: Clock) -> None:
        """Take the key set's source: a `WatchedFile`, or a function that returns a constant."""
        self._keys, self._clock = keys, clock

    def verify(self, token: str) -> Grant:
        """What the key grants; Unauthenticated when it is unknown, wrong, disabled or expired.

        An unknown key id costs the same hash and comparison as a known one, so that the time of
        a refusal doesn't tell which ids exist. Expiry is only told to who has the secret.
        """
        parts = _KEY.fullmatch(token)
        if not parts:
            raise Unauthenticated(Reason.CREDENTIAL_INVALID)
        record = self._keys().get(parts[1])
        expected = record.sha256 if record else _NO_DIGEST
        matches = hmac.compare_digest(_digest(parts[2]), expected)
        if not record or not matches or record.disabled:
            raise Unauthenticated(Reason.CREDENTIAL_INVALID)
        if record.expires and self._clock() >= record.expires.timestamp():
            raise Unauthenticated(Reason.CREDENTIAL_EXPIRED)
        return record.grant


def parse_api_keys(text: str) -> KeySet:
    """Read a YAML (or JSON) list of records ``{key_id, tenant, user, role, sha256}``.

    Each may have ``expires`` (ISO 8601 with a time zone) and ``disabled`` (true or false).
    AuthMisconfigured lists every fault with its line and repeats no value.
    """
    try:
        # Composed, not loaded: nodes know their lines, and scalars stay the text that was
        # written, so that a tenant called 007 or `on` needs no quotes.
        root = yaml.compose(text, Loader=yaml.CBaseLoader)
    except (yaml.YAMLError, UnicodeError) as error:
        mark = getattr(error, "problem_mark", None)  # not every fault has a place
        where = f"line {mark.line + 1}: " if mark else ""
        raise AuthMisconfigured([f"{where}not well-formed YAML"]) from None
    if not isinstance(root, yaml.SequenceNode):
        raise AuthMisconfigured(["line 1: expected a list of keys"])
    faults: list[str] = []
    keys: dict[str, ApiKey] = {}
    for node in root.value:
        key = _read_key(node, faults)
        if key and key.key_id in keys:
            faults.append(f"{_line(node)}: this key_id was used before")
        elif key:
            keys[key.key_id] = key
    if faults:
        raise AuthMisconfigured(faults)
    return MappingProxyType(keys)


def _read_key(node: yaml.Node, faults: list[str]) -> ApiKey | None:
    """One record, or None after adding what is wrong with it to ``faults``."""
    if not isinstance(node, yaml.MappingNode):
        faults.append(f"{_line(node)}: expected a mapping with {', '.join(_REQUIRED)}")
        return None
    seen: set[str] = set()
    found: list[str] = []
    fields: dict[str, str] = {}
    for name, value in node.value:
        fault = _field_fault(name.value, value, seen)
        if fault:
            found.append(f"{_line(name)}: {fault}")
        else:
            fields[name.value] = value.value
    missing = [name for name in _REQUIRED if name not in seen]
    found += [f"{_line(node)}: {name} is missing" for name in missing]
    if not found:
        try:
            return _make_key(fields)
        except ValueError as error:
            found.append(f"{_line(node)}: {error}")
    faults += found
    return None


def _field_fault(name: object, value: yaml.Node, seen: set[str]) -> str:
    """What is wrong with one field, or nothing; marks its name as seen."""
    if not isinstance(name, str) or name not in _CHECKS:
        return f"unknown field; known are {', '.join(_CHECKS)}"
    if name in seen:
        return f"{name} is given twice"
    seen.add(name)
    if not isinstance(value, yaml.ScalarNode):
        return f"{name} must be a single value"
    try:
        _CHECKS[name](value.value)
    except ValueError as error:
        return str(error)
    return ""


def _make_key(fields: Mapping[str, str]) -> ApiKey:
    return ApiKey(
        key_id=fields["key_id"],
        grant=Grant(fields["tenant"], fields["user"], Role(fields["role"])),
        sha256=fields["sha256"],
        expires=_time(fields["expires"]) if "expires" in fields else None,
        disabled=fields.get("disabled") == "true",
    )


def _check_tenant(value: str) -> None:
    if value != ANY_TENANT:
        check_id("tenant", value)


def _check_match(name: str, pattern: re.Pattern[str], meaning: str) -> Callable[[str], None]:
    def check(value: str) -> None:
        if not pattern.fullmatch(value):
            raise ValueError(f"{name} must be {meaning}")

    return check


def _time(value: str) -> datetime:
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("expires must be a time in ISO 8601") from None
    return _aware(time)


def _aware(time: datetime) -> datetime:
    if time.tzinfo is None:
        raise ValueError("expires must have a time zone")
    return time


def _line(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}"


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


_REQUIRED = ("key_id", "tenant", "user", "role", "sha256")
_CHECKS: Mapping[str, Callable[[str], object]] = {
    "key_id": _check_match("key_id", _KEY_ID, "1 to 64 letters and digits"),
    "tenant": _check_tenant,
    "user": lambda value: check_id("user", value),
    "role": _check_match("role", re.compile("|".join(Role)), " or ".join(Role)),
    "sha256": _check_match("sha256", _DIGEST, "64 lower-case hexadecimal digits"),
    "expires": _time,
    "disabled": _check_match("disabled", re.compile("true|false"), "true or false"),
}
