"""The service configs that stand beside the protos, as this package carries them.

The channel gets the load balancing, the health check and the retries. The timeouts are taken out
and given with each call instead: gRPC takes the shorter of the two, so a timeout that stayed in
the channel could never be made longer by a caller.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Service(StrEnum):
    """The three services."""

    RETRIEVAL = "retrieval"
    CURATION = "curation"
    ASSEMBLER = "assembler"

    @property
    def full_name(self) -> str:
        """The name on the wire, which is also the name that health is asked for."""
        return f"hilvan.{self}.v1.{self.capitalize()}Service"


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """``channel`` is the JSON for `grpc.service_config`; ``timeouts`` are seconds by method.

    A method is ``/service/method``; ``/service/`` stands for all others of that service.
    """

    channel: str
    timeouts: Mapping[str, float]

    def timeout(self, method: str) -> float:
        """Seconds that a call of ``/service/method`` may take unless its caller says otherwise."""
        service = method.rpartition("/")[0] + "/"
        return self.timeouts.get(method, self.timeouts[service])


def load(service: Service) -> ServiceConfig:
    """Read the config of a service out of the package."""
    from importlib.resources import files

    path = files("hilvan_client") / "service_configs" / f"{service}.json"
    return parse(json.loads(path.read_text(encoding="utf-8")))


def parse(config: dict[str, Any]) -> ServiceConfig:
    """Split a service config into what the channel gets and what each call gets."""
    timeouts: dict[str, float] = {}
    methods: list[dict[str, Any]] = []
    for item in config["methodConfig"]:
        seconds = float(item["timeout"].removesuffix("s"))
        for name in item["name"]:
            timeouts[f"/{name['service']}/{name.get('method', '')}"] = seconds
        rest = {key: value for key, value in item.items() if key != "timeout"}
        if rest.keys() > {"name"}:
            methods.append(rest)
    return ServiceConfig(json.dumps({**config, "methodConfig": methods}), timeouts)
