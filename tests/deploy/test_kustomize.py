"""The base is what Kubernetes takes, and says of the services what their code says."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from support.deploy.deployment import (
    BIN,
    HEALTH_NAMES,
    PORTS,
    SETTINGS,
    VERSION,
    container,
    image_environment,
    known_variables,
    objects,
    pod,
    pod_environment,
    rendered,
    steps,
)

from hilvan_kit.server import LIVENESS
from hilvan_kit.settings import CredentialSettings, read_settings

SERVICES = sorted(SETTINGS)
# The oldest and the newest release that the manifests are for.
RELEASES = ("1.30", "1.37")


def validate(manifests: Path, release: str) -> str:
    """What the schemas of a release say against a file; "" when nothing."""
    done = subprocess.run(
        [BIN / "kubernetes-validate", "--strict", "--quiet", "-k", release, manifests],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert bool(done.returncode) == ("ERROR" in done.stdout), done.stderr
    return done.stdout


@pytest.mark.parametrize("release", RELEASES)
def test_the_schemas_take_every_object(release: str, tmp_path: Path) -> None:
    """Each rendered object is valid, without a field that Kubernetes does not know."""
    (tmp_path / "base.yaml").write_text(rendered())
    assert validate(tmp_path / "base.yaml", release) == ""


@pytest.mark.parametrize("release", RELEASES)
def test_the_schemas_refuse_a_misspelt_field(release: str, tmp_path: Path) -> None:
    """The check bites: one letter more is a fault."""
    broken = rendered().replace("readOnlyRootFilesystem:", "readOnlyRootFileSystem:", 1)
    (tmp_path / "base.yaml").write_text(broken)
    assert "readOnlyRootFileSystem" in validate(tmp_path / "base.yaml", release)


@pytest.mark.parametrize("service", SERVICES)
def test_probes_ask_for_the_names_that_the_server_has(service: str) -> None:
    """Liveness asks no engine, readiness is the service's own name, on its own port."""
    own = container(service)
    port = PORTS[service]
    assert own["ports"] == [{"containerPort": port, "name": "grpc"}]
    assert own["startupProbe"]["grpc"] == {"port": port, "service": LIVENESS}
    assert own["livenessProbe"]["grpc"] == {"port": port, "service": LIVENESS}
    assert own["readinessProbe"]["grpc"] == {"port": port, "service": HEALTH_NAMES[service]}


@pytest.mark.parametrize("service", SERVICES)
def test_every_variable_is_one_that_the_service_reads(service: str) -> None:
    """A misspelt setting would be ignored without a word."""
    assert set(pod_environment(service)) <= known_variables(service)


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_starts_with_its_variables(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Image and pod together are settings that can be read, with credentials."""
    for name, value in (image_environment(service) | pod_environment(service)).items():
        url = "postgresql://user:word@host:5432/name"
        monkeypatch.setenv(name, url if value in {"record-url", "metadata-url"} else value)
    assert read_settings(SETTINGS[service]).listen == f"0.0.0.0:{PORTS[service]}"
    assert read_settings(CredentialSettings).to_auth().api_keys_file.startswith("/etc/hilvan/")


@pytest.mark.parametrize("service", SERVICES)
def test_a_pod_has_no_rights(service: str) -> None:
    """Not root, a read-only root, no capability, seccomp, no token, as the image's own user."""
    spec, own = pod(service), container(service)
    user = f"{spec['securityContext']['runAsUser']}:{spec['securityContext']['runAsGroup']}"
    assert user == dict(steps(service))["USER"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert own["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not spec["automountServiceAccountToken"]
    assert not objects("ServiceAccount")[spec["serviceAccountName"]]["automountServiceAccountToken"]
    assert not spec["enableServiceLinks"]


@pytest.mark.parametrize("service", SERVICES)
def test_a_pod_asks_for_what_it_needs_and_its_memory_is_bounded(service: str) -> None:
    """Requests for both, a limit for memory alone: a limit of the processor only adds waits."""
    resources = container(service)["resources"]
    assert set(resources["requests"]) == {"cpu", "memory"}
    assert set(resources["limits"]) == {"memory"}


@pytest.mark.parametrize("service", SERVICES)
def test_a_pod_is_killed_later_than_it_drains(service: str) -> None:
    """The server's own drain and grace fit into Kubernetes' patience; no hook delays SIGTERM."""
    environment = pod_environment(service)
    prefix = f"HILVAN_{service.upper()}"
    seconds = [float(environment[f"{prefix}_{name}_SECONDS"]) for name in ("DRAIN", "STOP_GRACE")]
    assert pod(service)["terminationGracePeriodSeconds"] >= sum(seconds) + 10
    # A client that does not watch health learns by the readiness probe at the latest.
    readiness = container(service)["readinessProbe"]
    assert seconds[0] > readiness["periodSeconds"] + readiness["timeoutSeconds"]
    assert "lifecycle" not in container(service)


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_headless_and_finds_its_pods(service: str) -> None:
    """Its name resolves to every pod, since calls are balanced by the clients."""
    spec = objects("Service")[f"hilvan-{service}"]["spec"]
    deployment = objects("Deployment")[f"hilvan-{service}"]["spec"]
    (port,) = spec["ports"]
    assert spec["clusterIP"] == "None"
    assert (port["port"], port["targetPort"]) == (PORTS[service], "grpc")
    assert spec["selector"] == deployment["selector"]["matchLabels"]
    assert spec["selector"].items() <= deployment["template"]["metadata"]["labels"].items()


def test_services_find_each_other() -> None:
    """Each target is the name and the port of a Service, resolved by DNS."""
    names = {
        f"dns:///{name}:{each['spec']['ports'][0]['port']}"
        for name, each in objects("Service").items()
    }
    targets = {
        value
        for service in SERVICES
        for name, value in pod_environment(service).items()
        if name.endswith("_TARGET")
    }
    assert targets == names - {f"dns:///hilvan-assembler:{PORTS['assembler']}"}


@pytest.mark.parametrize("service", SERVICES)
def test_an_image_has_the_packages_version(service: str) -> None:
    """A tag that moves would make two pods of one Deployment differ."""
    assert container(service)["image"] == f"hilvan-{service}:{VERSION}"


def test_secrets_are_named_and_not_kept() -> None:
    """The base holds no Secret, and no password or key in a plain value."""
    assert objects("Secret") == {}
    plain = [
        name for service in SERVICES for name in objects("ConfigMap")[_config(service)]["data"]
    ]
    assert not [name for name in plain if re.search("KEY|SECRET|RECORD_URL|METADATA_URL", name)]


def test_curation_runs_once_on_the_vaults_volume() -> None:
    """Two of them would write into one vault; the volume is where vaults may be taken in."""
    spec = objects("Deployment")["hilvan-curation"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    (claimed,) = [
        each["name"] for each in pod("curation")["volumes"] if "persistentVolumeClaim" in each
    ]
    (mount,) = [each for each in container("curation")["volumeMounts"] if each["name"] == claimed]
    assert mount["mountPath"] == pod_environment("curation")["HILVAN_CURATION_VAULT_ROOTS"]
    assert pod("curation")["securityContext"]["fsGroup"] == 10001


def test_an_overlay_can_move_the_base(tmp_path: Path) -> None:
    """Namespace, registry, an engine's address and a patch by the container's name all take."""
    # kustomize refuses absolute paths.
    up = "../" * len(tmp_path.resolve().parts[1:])
    base = Path(__file__).resolve().parents[2] / "deploy/k8s/base"
    overlay = {
        "namespace": "memory",
        "resources": [f"{up}{base.relative_to('/')}"],
        "images": [{"name": "hilvan-retrieval", "newName": "registry.example/hilvan-retrieval"}],
        "configMapGenerator": [
            {
                "name": "hilvan-retrieval",
                "behavior": "merge",
                "literals": ["HILVAN_RETRIEVAL_QDRANT_URL=vectors:6334"],
            }
        ],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    made = list(yaml.safe_load_all(rendered(tmp_path)))
    assert {each["metadata"]["namespace"] for each in made} == {"memory"}
    text = yaml.safe_dump_all(made)
    assert f"image: registry.example/hilvan-retrieval:{VERSION}" in text
    assert "HILVAN_RETRIEVAL_QDRANT_URL: vectors:6334" in text


def _config(service: str) -> str:
    (source,) = container(service)["envFrom"]
    return str(source["configMapRef"]["name"])
