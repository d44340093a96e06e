"""The package as others import it: service configs, error texts, lazy names."""

import json
import subprocess
import sys

import pytest
from support.paths import ROOT

import hilvan_client
from hilvan_client.errors import Failure, HilvanError, InvalidRequest, Violation
from hilvan_client.service_config import Service, load, parse


@pytest.mark.parametrize("service", Service)
def test_packaged_configs_are_those_beside_the_protos(service: Service) -> None:
    """The client carries copies; they must not drift from the contract."""
    name = f"{service}_service_grpc_service_config.json"
    original = ROOT / "proto" / "hilvan" / service / "v1" / name
    copy = ROOT / "clients/python/src/hilvan_client/service_configs" / f"{service}.json"
    assert copy.read_bytes() == original.read_bytes()


@pytest.mark.parametrize("service", Service)
def test_channels_get_everything_but_the_timeouts(service: Service) -> None:
    """Balancing, health and retries stay; timeouts go to the calls."""
    config = load(service)
    channel = json.loads(config.channel)
    assert channel["loadBalancingConfig"] == [{"round_robin": {}}]
    assert channel["healthCheckConfig"] == {"serviceName": service.full_name}
    assert channel["methodConfig"]
    assert all("retryPolicy" in item for item in channel["methodConfig"])
    assert "timeout" not in config.channel
    assert config.timeout(f"/{service.full_name}/Anything") == 30


def test_a_method_has_its_own_timeout_or_that_of_its_service() -> None:
    """The more exact name wins."""
    config = parse(
        {
            "methodConfig": [
                {"name": [{"service": "s", "method": "Fast"}], "timeout": "0.5s"},
                {"name": [{"service": "s"}], "timeout": "30s"},
            ]
        }
    )
    assert config.timeout("/s/Fast") == 0.5
    assert config.timeout("/s/Slow") == 30
    assert json.loads(config.channel)["methodConfig"] == []


def test_error_texts_name_reason_and_every_violation() -> None:
    """One line says what went wrong, for logs."""
    failure = Failure(
        "INVALID_ARGUMENT", "bad", "INVALID_FIELD", violations=(Violation("a.b", "is missing"),)
    )
    assert str(InvalidRequest(failure)) == "INVALID_FIELD: bad; a.b: is missing"
    assert str(HilvanError(Failure("UNKNOWN", ""))) == "UNKNOWN"


@pytest.mark.parametrize("name", hilvan_client.__all__)
def test_every_public_name_is_there(name: str) -> None:
    """Names that are imported when first used exist."""
    assert getattr(hilvan_client, name) is not None


def test_unknown_names_are_attribute_errors() -> None:
    """The lazy module behaves like any other."""
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = hilvan_client.nothing_such


def test_help_needs_neither_grpc_nor_rich() -> None:
    """The command's help stays fast because it does not import what it does not need."""
    code = (
        "import sys; from hilvan_client.cli.main import main; sys.argv=['hilvan','--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('grpc','google','rich','asyncio') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "assemble" in done.stdout
