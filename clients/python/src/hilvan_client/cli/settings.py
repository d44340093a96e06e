"""What the options and the environment say, and which addresses follow from that."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from hilvan_client.cli import dev_state
from hilvan_client.service_config import Service

DEFAULT_ADDRESSES: Mapping[Service, str] = MappingProxyType(
    {
        Service.RETRIEVAL: "127.0.0.1:7701",
        Service.CURATION: "127.0.0.1:7702",
        Service.ASSEMBLER: "127.0.0.1:7703",
    }
)
# Whom a server in development mode takes a caller for that names nobody.
DEVELOPMENT_USER = "dev"


@dataclass(frozen=True, slots=True)
class Settings:
    """The root options. ``given`` are addresses by service; ``timeout`` is in seconds."""

    home: Path
    given: Mapping[Service, str]
    api_key: str | None = None
    tenant: str | None = None
    user: str | None = None
    timeout: float | None = None
    json: bool = False
    debug: bool = False

    def addresses(self) -> dict[Service, str]:
        """Where the services are: as given, else as `hilvan dev up` left them, else defaults."""
        state = dev_state.load(self.home)
        return {
            service: self.given.get(service)
            or (state[service].address if service in state else default)
            for service, default in DEFAULT_ADDRESSES.items()
        }
