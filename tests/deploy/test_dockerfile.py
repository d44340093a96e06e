"""The Dockerfile builds what the code needs, small, and not as root."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.deploy.deployment import (
    BIN,
    DOCKERFILE,
    PORTS,
    SETTINGS,
    VERSION,
    image_check,
    image_environment,
    known_variables,
    stages,
    steps,
)
from support.paths import ROOT

SERVICES = sorted(SETTINGS)
LEFT_OUT = set(
    re.findall(r"^NOT_IN_IMAGES := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0].split()
)


def test_hadolint_finds_nothing() -> None:
    """The linter has no word to say, not even for information."""
    done = subprocess.run(
        [BIN / "hadolint", "--no-color", DOCKERFILE],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_every_stage_begins_from_one_pinned_image() -> None:
    """The base is a patch release of the Python that the locks were resolved for."""
    ((_, argument),) = stages()[""].steps
    assert re.fullmatch(r"PYTHON_IMAGE=python:3\.11\.\d+-slim-bookworm", argument)
    bases = {stage.base for name, stage in stages().items() if name}
    assert bases <= {"${PYTHON_IMAGE}", *stages()}


def test_every_command_is_in_exec_form() -> None:
    """No shell stands between Docker and a program, so signals reach it."""
    commands = [
        rest
        for stage in stages().values()
        for word, rest in stage.steps
        if word in {"RUN", "CMD", "ENTRYPOINT"}
    ]
    assert commands
    for command in commands:
        assert all(isinstance(each, str) for each in json.loads(command)), command


@pytest.mark.parametrize("service", SERVICES)
def test_an_image_runs_its_service_as_a_user_with_a_number(service: str) -> None:
    """The image ends as a fixed user who is not root, with the service's own program."""
    last = dict(steps(service))
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    (program,) = json.loads(last["ENTRYPOINT"])
    assert scripts[program] == f"hilvan_{service}.main:main"
    assert re.fullmatch(r"[1-9]\d{4}:[1-9]\d{4}", last["USER"])
    assert last["STOPSIGNAL"] == "SIGTERM"


@pytest.mark.parametrize("service", SERVICES)
def test_an_image_listens_on_the_port_that_it_exposes(service: str) -> None:
    """It listens beyond loopback, with credentials, on the service's usual port."""
    environment = image_environment(service)
    assert environment[f"HILVAN_{service.upper()}_LISTEN"] == f"0.0.0.0:{PORTS[service]}"
    assert dict(steps(service))["EXPOSE"] == str(PORTS[service])
    assert environment["HILVAN_AUTH_MODE"] == "credentials"
    named = {name for name in environment if name.startswith("HILVAN_")}
    assert named <= known_variables(service)


@pytest.mark.parametrize("service", SERVICES)
def test_an_image_keeps_numeric_libraries_to_one_thread(service: str) -> None:
    """Their threads would only get in the way of the embedding's."""
    environment = image_environment(service)
    assert environment["OPENBLAS_NUM_THREADS"] == environment["OMP_NUM_THREADS"] == "1"


def test_an_image_sends_no_telemetry() -> None:
    """The runtime of models would tell its maker of every start."""
    assert image_environment("retrieval")["ORT_DISABLE_TELEMETRY"] == "1"


@pytest.mark.parametrize("service", SERVICES)
def test_an_image_asks_its_own_service_for_health(service: str) -> None:
    """HEALTHCHECK runs the script that the image carries, for this service."""
    copied = [rest.split()[-1] for word, rest in steps(service) if word == "COPY"]
    assert image_check(service) == ["python", "/opt/hilvan/health.py", service]
    assert "/opt/hilvan/health.py" in copied


def test_the_model_that_retrieval_reads_is_in_its_image_alone() -> None:
    """It is copied from the stage that makes it to where the settings look."""
    folder = image_environment("retrieval")["HILVAN_RETRIEVAL_MODEL_DIR"]
    (made,) = [rest for word, rest in stages()["model"].steps if "embedding.prepare" in rest]
    assert json.loads(made)[-1] == folder
    assert ("COPY", f"--from=model {folder} {folder}") in steps("retrieval")
    others = [rest for service in ("curation", "assembler") for _, rest in steps(service)]
    assert not [rest for rest in others if "models" in rest]


def test_what_is_copied_is_there_and_nothing_else_is_sent() -> None:
    """.dockerignore leaves all out but the sources that some COPY names."""
    copied = {
        source.rstrip("/")
        for stage in stages().values()
        for word, rest in stage.steps
        if word == "COPY" and not rest.startswith("--from=")
        for source in rest.split()[:-1]
    }
    lines = [each for each in (ROOT / ".dockerignore").read_text().splitlines() if each[0] != "#"]
    allowed = {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert lines[0] == "*"
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(source == each or source.startswith(f"{each}/") for each in allowed), source
    for each in allowed:
        assert any(source == each or source.startswith(f"{each}/") for source in copied), each


def test_the_version_is_the_packages() -> None:
    """Label, installed wheel and the tags of `make images` are of the version in pyproject.toml."""
    text = DOCKERFILE.read_text()
    assert set(re.findall(r'hilvan==([\d.]+)"', text)) == {VERSION}
    assert re.findall(r'image\.version="([\d.]+)"', text) == [VERSION]
    assert re.findall(r"hilvan-\$\$each:(\S+)", (ROOT / "Makefile").read_text()) == [VERSION]


def pins(path: Path) -> dict[str, tuple[str, ...]]:
    """Of each package of a lock: its version and its hashes."""
    block = re.compile(r"^([a-z0-9._-]+)==(\S+)((?:.*\n\s+--hash=\S+)+)", re.MULTILINE)
    return {
        name: (version, *sorted(re.findall(r"--hash=(\S+)", hashes)))
        for name, version, hashes in block.findall(path.read_text())
    }


def test_the_images_packages_are_those_of_the_lock() -> None:
    """requirements-run.lock is a part of requirements.lock, to the last hash."""
    whole, part = pins(ROOT / "requirements.lock"), pins(ROOT / "requirements-run.lock")
    assert len(part) == (ROOT / "requirements-run.lock").read_text().count("==")
    assert part.items() <= whole.items()


def test_the_images_carry_every_run_time_package_and_no_tools() -> None:
    """They have what requirements.in lists for run time, less what only makes the model."""
    run, _, tools = (ROOT / "requirements.in").read_text().partition("# Building and testing")
    names = [
        {re.split(r"[\[=<>~!]", line)[0] for line in part.splitlines()[1:] if line}
        for part in (run, tools)
    ]
    carried = set(pins(ROOT / "requirements-run.lock"))
    assert names[0] - carried <= LEFT_OUT
    assert not carried & (names[1] | LEFT_OUT)


# Hides every module that no package of a lock owns, then imports what the images run.
IMPORT_WITH_CARRIED = """
import sys
from importlib.metadata import packages_distributions
carried = set(sys.argv[1].split())
for module, owners in packages_distributions().items():
    names = {each.lower().replace("_", "-").replace(".", "-") for each in owners}
    if not names & carried:
        sys.modules[module] = None
import hilvan_assembler.main, hilvan_curation.main, hilvan_retrieval.main
import hilvan_client.cli.main, hilvan_client.health
"""


def test_the_services_need_only_what_the_images_carry() -> None:
    """The three programs, the command and the health check import without the other packages."""
    carried = " ".join(["hilvan", *pins(ROOT / "requirements-run.lock")])
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_WITH_CARRIED, carried],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
