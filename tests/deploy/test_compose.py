"""compose.yaml says what the specification takes and what the services read."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator  # type: ignore[import-untyped]  # has no types of its own
from support.deploy.deployment import (
    COMPOSE,
    PORTS,
    SETTINGS,
    VERSION,
    compose,
    image_environment,
    known_variables,
)

from hilvan_kit.auth import build_authenticator
from hilvan_kit.settings import CredentialSettings, read_settings

SERVICES = sorted(SETTINGS)
ENGINES = ("opensearch", "postgres", "qdrant")
TEMPORARY = ("/tmp", "/data")  # noqa: S108 (in the container)
SCHEMA = Path(__file__).parent / "compose-spec/compose-spec.json"
VARIABLE = re.compile(r"\$\{(\w+)(:-|:\?)?[^}]*\}")


def service(name: str) -> dict[str, Any]:
    """One service of the file."""
    found: dict[str, Any] = compose()["services"][name]
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with compose.yaml, made ready by the script."""
    for name in ("compose.yaml", "prepare.py", "curation.sql"):
        shutil.copy(COMPOSE.parent / name, tmp_path / name)
    prepare(tmp_path).check_returncode()
    return tmp_path


def prepare(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run the script of a folder."""
    return subprocess.run(
        [sys.executable, folder / "prepare.py"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def written(folder: Path) -> dict[str, str]:
    """The variables of .env."""
    lines = (folder / ".env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_the_schema_of_compose_takes_the_file() -> None:
    """Every key and value is one of the Compose Specification."""
    faults = Draft7Validator(json.loads(SCHEMA.read_text())).iter_errors(compose())
    assert [f"{fault.json_path}: {fault.message}" for fault in faults] == []


def test_docker_compose_takes_the_file(folder: Path) -> None:
    """Docker's own reading of the file, with what the script wrote, finds no fault."""
    command = ["docker", "compose"]
    if (
        not shutil.which("docker")
        or subprocess.run(
            [*command, "version"], capture_output=True, timeout=60, check=False
        ).returncode
    ):
        pytest.skip("docker compose is not installed")
    done = subprocess.run(
        [*command, "--file", folder / "compose.yaml", "config", "--quiet"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_image_has_a_version() -> None:
    """Ours have the package's, the engines one with a minor release; none is `latest`."""
    for name in SERVICES:
        assert service(name)["image"] == f"hilvan-{name}:{VERSION}"
        assert service(name)["build"]["target"] == name
    for name in ENGINES:
        assert re.fullmatch(r"[a-z/]+:v?\d+\.\d+[\w.-]*", service(name)["image"])


def test_only_our_ports_are_open_and_only_on_loopback() -> None:
    """A service is reached from this machine alone, an engine from its network alone."""
    for name in SERVICES:
        assert service(name)["ports"] == [f"127.0.0.1:{PORTS[name]}:{PORTS[name]}"]
    for name in ENGINES:
        assert "ports" not in service(name)
        assert service(name)["networks"] == ["engines"]
    assert compose()["networks"]["engines"]["internal"]


def test_every_container_has_bounds() -> None:
    """Processor, memory and processes are limited, and nobody gains rights."""
    assert sorted(compose()["services"]) == sorted([*SERVICES, *ENGINES])
    for each in compose()["services"].values():
        assert set(each["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}
        assert each["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_no_rights_and_a_read_only_root(name: str) -> None:
    """It writes into memory file systems, and curation into the vaults."""
    each = service(name)
    assert each["cap_drop"] == ["ALL"]
    assert each["read_only"]
    assert set(each["tmpfs"]) == set(TEMPORARY)
    writable = [mount for mount in each["volumes"] if not mount.endswith(":ro")]
    assert writable == (["${VAULTS:-./vaults}:/vaults"] if name == "curation" else [])


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_checked_and_waited_for(name: str) -> None:
    """It has a health check in exec form, and who needs it starts after it is healthy."""
    assert service(name)["healthcheck"]["test"][0] == "CMD"
    needing = {"postgres": ("retrieval", "curation")}.get(name, ("retrieval",))
    for each in needing:
        assert service(each)["depends_on"][name] == {"condition": "service_healthy"}


@pytest.mark.parametrize("name", SERVICES)
def test_a_stop_is_waited_for(name: str) -> None:
    """Docker kills later than a service drains and ends its calls by itself."""
    fields = SETTINGS[name].model_fields
    own = fields["drain_seconds"].default + fields["stop_grace_seconds"].default
    assert float(service(name)["stop_grace_period"].removesuffix("s")) >= 2 * own


@pytest.mark.parametrize("name", SERVICES)
def test_every_variable_is_one_that_the_service_reads(name: str) -> None:
    """A misspelt setting would be ignored without a word."""
    assert set(service(name)["environment"]) <= known_variables(name)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_starts_with_its_variables(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Image and file together are settings that can be read, with keys, beyond loopback."""
    values = written(folder)
    for variable, value in (image_environment(name) | service(name)["environment"]).items():
        monkeypatch.setenv(variable, VARIABLE.sub(lambda match: values[match[1]], value))
    monkeypatch.setenv("HILVAN_AUTH_API_KEYS_FILE", str(folder / "keys/api-keys.yaml"))
    settings = read_settings(SETTINGS[name])
    auth = read_settings(CredentialSettings).to_auth()
    assert settings.listen == f"0.0.0.0:{PORTS[name]}"
    assert build_authenticator(auth, settings.listen, lambda: 0.0)


def test_services_find_each_other_and_the_engines() -> None:
    """Each address names a service of the file and the port that it listens on."""
    ports = PORTS | {"qdrant": 6334, "opensearch": 9200, "postgres": 5432}
    found = 0
    for name in SERVICES:
        for variable, value in service(name)["environment"].items():
            if variable.endswith(("_URL", "_TARGET")):
                host, port = re.findall(r"(?:^|[/@])([a-z]+):(\d+)(?:/|$)", value)[0]
                assert ports[host] == int(port), variable
                assert set(service(name)["networks"]) & set(service(host)["networks"])
                found += 1
    assert found == 7


def test_no_secret_stands_in_the_file(folder: Path) -> None:
    """Passwords and keys are variables that the script makes, and without it nothing starts."""
    text = COMPOSE.read_text()
    assert not re.findall(r"(?:PASSWORD|KEY): (?!\$\{)", text)
    needed = {name for name, kind in VARIABLE.findall(text) if kind != ":-"}
    assert needed <= set(written(folder))
    secret = {name for name, kind in VARIABLE.findall(text) if kind == ":?"}
    assert secret == needed


def test_the_script_keeps_secrets_to_their_owner(folder: Path) -> None:
    """.env is for its owner; the file of keys has hashes alone."""
    assert (folder / ".env").stat().st_mode & 0o077 == 0
    assert written(folder)["RETRIEVAL_KEY"] not in (folder / "keys/api-keys.yaml").read_text()


def test_the_script_does_not_lock_volumes_out(folder: Path) -> None:
    """A second run changes nothing: the volumes know the first passwords."""
    before = written(folder)
    again = prepare(folder)
    assert (again.returncode, again.stdout) == (1, "")
    assert ".env exists" in again.stderr
    assert written(folder) == before


def test_git_ignores_what_the_script_makes() -> None:
    """No secret is committed by accident."""
    done = subprocess.run(
        ["git", "check-ignore", ".env", "keys/api-keys.yaml", "vaults/note.md"],
        cwd=COMPOSE.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == [".env", "keys/api-keys.yaml", "vaults/note.md"]
