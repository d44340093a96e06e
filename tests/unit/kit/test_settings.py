"""Settings: read once from the environment, every fault told at once by its variable's name."""

import os

import pytest
from pydantic import ValidationError
from pydantic_settings import SettingsConfigDict

from hilvan_kit.auth import AuthMode
from hilvan_kit.settings import (
    CredentialSettings,
    ServerSettings,
    SettingsError,
    read_settings,
    setting_error,
)


class Settings(ServerSettings):
    """A service's settings, derived as each service does it."""

    model_config = SettingsConfigDict(env_prefix="HILVAN_KITTEST_", frozen=True, extra="forbid")

    workers: int = 1


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of our own variables is set."""
    for name in os.environ:
        if name.startswith("HILVAN_"):
            monkeypatch.delenv(name)


def set_variables(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Set variables of the settings above."""
    for name, value in values.items():
        monkeypatch.setenv(f"HILVAN_KITTEST_{name}", value)


def test_a_variable_sets_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefix and field name make the variable; the others keep their defaults."""
    set_variables(monkeypatch, LISTEN="127.0.0.1:0", WORKERS="3", READY_FILE="/tmp/ready")  # noqa: S108 (not opened)
    settings = read_settings(Settings)
    assert (settings.listen, settings.workers, settings.metrics_port) == ("127.0.0.1:0", 3, 0)
    assert str(settings.ready_file) == "/tmp/ready"  # noqa: S108 (not opened)


def test_every_bad_variable_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line a variable with its full name: missing, out of bounds, unknown."""
    set_variables(
        monkeypatch,
        WORKERS="many",
        METRICS_PORT="70000",
        DRAIN_SECONDS="-1",
        STOP_GRACE_SECONDS="nan",
        DEFAULT_DEADLINE_SECONDS="0",
        LOG_LEVEL="loud",
    )
    with pytest.raises(SettingsError) as caught:
        read_settings(Settings)
    named = {fault.partition(": ")[0] for fault in caught.value.faults}
    assert named == {
        f"HILVAN_KITTEST_{name}"
        for name in (
            "LISTEN",
            "WORKERS",
            "METRICS_PORT",
            "DRAIN_SECONDS",
            "STOP_GRACE_SECONDS",
            "DEFAULT_DEADLINE_SECONDS",
            "LOG_LEVEL",
        )
    }
    assert str(caught.value).splitlines() == list(caught.value.faults)


def test_a_fault_does_not_repeat_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was set is not printed: the next variable may be a secret."""
    set_variables(monkeypatch, LISTEN="127.0.0.1:0", LOG_LEVEL="hunter2")
    with pytest.raises(SettingsError) as caught:
        read_settings(Settings)
    assert "hunter2" not in str(caught.value)


def test_an_empty_variable_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compose files set variables to nothing: that means the default, or missing."""
    set_variables(monkeypatch, LISTEN="127.0.0.1:0", READY_FILE="", WORKERS="")
    settings = read_settings(Settings)
    assert (settings.ready_file, settings.workers) == (None, 1)
    set_variables(monkeypatch, LISTEN="")
    with pytest.raises(SettingsError, match="HILVAN_KITTEST_LISTEN: Field required"):
        read_settings(Settings)
    monkeypatch.setenv("HILVAN_AUTH_MODE", "credentials")
    monkeypatch.setenv("HILVAN_AUTH_API_KEYS_FILE", "")
    assert read_settings(CredentialSettings).to_auth().api_keys_file == ""


def test_unknown_variables_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kubernetes puts such variables into every container; they are no settings of ours."""
    set_variables(
        monkeypatch, LISTEN="127.0.0.1:0", PORT="tcp://10.0.0.1:7701", SERVICE_HOST="10.0.0.1"
    )
    assert read_settings(Settings).listen == "127.0.0.1:0"


def test_unknown_names_in_code_are_refused() -> None:
    """A misspelt keyword is an error, not a setting."""
    with pytest.raises(ValidationError, match="lisen"):
        Settings(listen="127.0.0.1:0", lisen="x")  # type: ignore[call-arg]  # the very mistake


def test_settings_are_frozen() -> None:
    """Nothing changes a setting after it was read."""
    settings = Settings(listen="127.0.0.1:0")
    with pytest.raises(ValidationError, match="frozen"):
        settings.workers = 2


def test_a_setting_that_fails_later_is_named_alike() -> None:
    """What turns out at the start, such as a taken port, is told by its variable too."""
    error = setting_error(Settings(listen="127.0.0.1:0"), "ready_file", "can't be written")
    assert error.faults == ("HILVAN_KITTEST_READY_FILE: can't be written",)


@pytest.mark.parametrize(
    ("listen", "good"),
    [
        ("127.0.0.1:0", True),
        ("[::1]:65535", True),
        ("localhost:7701", True),
        ("unix:/run/hilvan.sock", True),
        ("127.0.0.1:65536", False),
        ("127.0.0.1:99999", False),
        ("127.0.0.1", False),
        (":7701", False),
        ("127.0.0.1:", False),
        ("127.0.0.1:x", False),
        ("unix:", False),
    ],
)
def test_an_address_has_a_host_and_a_port(
    monkeypatch: pytest.MonkeyPatch, listen: str, *, good: bool
) -> None:
    """What is no address is told at once; gRPC itself would listen on some other port."""
    set_variables(monkeypatch, LISTEN=listen)
    if good:
        assert read_settings(Settings).listen == listen
        return
    with pytest.raises(SettingsError, match=r"HILVAN_KITTEST_LISTEN: .*host:port"):
        read_settings(Settings)


def test_credentials_need_a_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody runs without authentication by forgetting to set it up."""
    with pytest.raises(SettingsError, match="HILVAN_AUTH_MODE: is required"):
        read_settings(CredentialSettings).to_auth()
    monkeypatch.setenv("HILVAN_AUTH_MODE", "none")
    with pytest.raises(SettingsError, match="HILVAN_AUTH_MODE: "):
        read_settings(CredentialSettings)


def test_credentials_are_handed_on_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every variable of authentication reaches the authenticator's settings."""
    values = {
        "API_KEYS_FILE": "keys.yaml",
        "API_KEYS": "inline",
        "JWT_SECRET": "s" * 32,
        "JWKS_FILE": "jwks.json",
        "ISSUER": "issuer",
        "AUDIENCE": "audience",
    }
    monkeypatch.setenv("HILVAN_AUTH_MODE", "credentials")
    for name, value in values.items():
        monkeypatch.setenv(f"HILVAN_AUTH_{name}", value)
    auth = read_settings(CredentialSettings).to_auth()
    assert auth.mode is AuthMode.CREDENTIALS
    assert [
        auth.api_keys_file,
        auth.api_keys_inline,
        auth.jwt_secret,
        auth.jwks_file,
        auth.issuer,
        auth.audience,
    ] == list(values.values())
