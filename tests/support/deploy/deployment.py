"""What deploy/ holds, read for tests that compare it with the code."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic_settings import BaseSettings
from support.paths import ROOT

from hilvan_assembler import composition as assembler
from hilvan_assembler.settings import AssemblerSettings
from hilvan_curation import main as curation
from hilvan_curation.settings import CurationSettings
from hilvan_kit.settings import CredentialSettings, ServerSettings
from hilvan_retrieval import main as retrieval
from hilvan_retrieval.settings import RetrievalSettings

BIN = Path(sys.executable).parent
COMPOSE = ROOT / "deploy/compose/compose.yaml"
DOCKERFILE = ROOT / "deploy/images/Dockerfile"
KUSTOMIZE = ROOT / "deploy/k8s/base"

SETTINGS: Mapping[str, type[ServerSettings]] = {
    "retrieval": RetrievalSettings,
    "curation": CurationSettings,
    "assembler": AssemblerSettings,
}
HEALTH_NAMES = {
    "retrieval": retrieval.SERVICE,
    "curation": curation.SERVICE,
    "assembler": assembler.SERVICE,
}
PORTS = {
    name: int(kind.model_fields["listen"].default.rpartition(":")[2])
    for name, kind in SETTINGS.items()
}
VERSION = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[0]


def variables(kind: type[BaseSettings]) -> set[str]:
    """The names of the environment that a class of settings reads."""
    return {f"{kind.model_config['env_prefix']}{name}".upper() for name in kind.model_fields}


def known_variables(service: str) -> set[str]:
    """Every variable that a service reads."""
    return variables(SETTINGS[service]) | variables(CredentialSettings)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of the Dockerfile, without those that it begins from."""

    name: str
    base: str
    steps: tuple[tuple[str, str], ...]


@cache
def stages() -> dict[str, Stage]:
    """The stages of the Dockerfile by name; "" has what stands before the first one."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE)
    found = {"": Stage("", "", ())}
    current = ""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            base, _, current = rest.partition(" AS ")
            found[current] = Stage(current, base, ())
        elif word:
            stage = found[current]
            found[current] = Stage(current, stage.base, (*stage.steps, (word, rest.strip())))
    return found


def steps(target: str) -> list[tuple[str, str]]:
    """The instructions of an image, those of the stages that it begins from first."""
    stage = stages()[target]
    return [*(steps(stage.base) if stage.base in stages() else []), *stage.steps]


def image_environment(target: str) -> dict[str, str]:
    """What ENV sets in an image."""
    text = " ".join(rest for word, rest in steps(target) if word == "ENV")
    return dict(re.findall(r"(\w+)=(\S+)", text))


def image_check(target: str) -> list[str]:
    """The command of HEALTHCHECK."""
    found = [rest for word, rest in steps(target) if word == "HEALTHCHECK"]
    command: list[str] = json.loads(found[-1].partition("CMD ")[2])
    return command


@cache
def compose() -> dict[str, Any]:
    """compose.yaml, with its variables not yet filled in."""
    document: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return document


@cache
def rendered(folder: Path = KUSTOMIZE) -> str:
    """What kustomize makes of a folder; skips the test where there is no kustomize."""
    for program in (["kustomize", "build"], ["kubectl", "kustomize"]):
        if shutil.which(program[0]):
            done = subprocess.run(
                [*program, str(folder)], capture_output=True, text=True, timeout=60, check=False
            )
            assert done.returncode == 0, done.stderr
            return done.stdout
    pytest.skip("neither kustomize nor kubectl is installed")


def objects(kind: str) -> dict[str, dict[str, Any]]:
    """The rendered objects of a kind, by name."""
    found = [each for each in yaml.safe_load_all(rendered()) if each["kind"] == kind]
    return {each["metadata"]["name"]: each for each in found}


def pod(service: str) -> dict[str, Any]:
    """The pod's specification of a service."""
    spec: dict[str, Any] = objects("Deployment")[f"hilvan-{service}"]["spec"]["template"]["spec"]
    return spec


def container(service: str) -> dict[str, Any]:
    """The one container of a service's pod."""
    (found,) = pod(service)["containers"]
    return dict(found)


def pod_environment(service: str) -> dict[str, str]:
    """What a container is given; a value out of a Secret is that key's name."""
    environment: dict[str, str] = {}
    for source in container(service)["envFrom"]:
        environment |= objects("ConfigMap")[source["configMapRef"]["name"]]["data"]
    for each in container(service)["env"]:
        secret = each.get("valueFrom", {}).get("secretKeyRef", {})
        environment[each["name"]] = each.get("value") or secret["key"]
    return environment
