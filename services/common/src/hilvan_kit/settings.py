"""Settings that every service has; each service adds its own and reads them once, in `main`."""

import re
from pathlib import Path
from typing import TypeVar

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from hilvan_kit.auth import AuthMode, AuthSettings

_ADDRESS = re.compile(r"unix:.+|.+:(?P<port>[0-9]{1,5})")
_MOST_PORT = 65_535


class ServerSettings(BaseSettings):
    """Where a service listens and how it stops. A subclass sets the environment prefix."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_ignore_empty=True)

    listen: str = Field(description="Address to listen on, host:port; port 0 picks a free one.")
    metrics_port: int = Field(
        default=0,
        ge=0,
        le=_MOST_PORT,
        description="Port of the Prometheus page; 0: none.",
    )
    metrics_host: str = Field(
        default="127.0.0.1",
        description="Address of that page; it asks for no credential, so loopback or a pod's own.",
    )
    ready_file: Path | None = Field(
        default=None,
        description="File that is written with the address and pid once the service serves.",
    )
    drain_seconds: float = Field(
        default=0.5, ge=0, le=60, description="How long to serve on after saying NOT_SERVING."
    )
    stop_grace_seconds: float = Field(
        default=5.0, ge=0, le=60, description="How long running calls may take to end at a stop."
    )
    default_deadline_seconds: float = Field(
        default=10.0, gt=0, le=600, description="Deadline of a call whose caller set none."
    )
    log_level: str = Field(
        default="info", pattern="^(debug|info|warning|error)$", description="Lowest level logged."
    )

    @field_validator("listen")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        """Know what gRPC would take otherwise: it reads port 99999 as 34463."""
        parts = _ADDRESS.fullmatch(value)
        if not parts or int(parts["port"] or 0) > _MOST_PORT:
            raise ValueError("must be host:port with a port from 0 to 65535, or unix:path")
        return value


class CredentialSettings(BaseSettings):
    """How calls get their principal; one set of variables for all services."""

    model_config = SettingsConfigDict(
        env_prefix="HILVAN_AUTH_", frozen=True, extra="forbid", env_ignore_empty=True
    )

    mode: AuthMode | None = Field(
        default=None,
        description="`development` (a fixed principal, loopback only) or `credentials`.",
    )
    api_keys_file: Path | None = Field(
        default=None, description="YAML or JSON file of hashed API keys; reloaded when it changes."
    )
    api_keys: str = Field(default="", description="The same list, inline.")
    jwt_secret: str = Field(default="", description="Shared secret of HS256 tokens, 32 bytes up.")
    jwks_file: Path | None = Field(
        default=None, description="JWKS file of RS256/ES256 keys; reloaded when it changes."
    )
    issuer: str = Field(default="", description="Issuer that tokens must name; empty: any.")
    audience: str = Field(default="", description="Audience that tokens must name; empty: any.")

    def to_auth(self) -> AuthSettings:
        """The kit's own form. Raises SettingsError when no mode is set."""
        if self.mode is None:
            raise SettingsError(
                ["HILVAN_AUTH_MODE: is required: `development` (your own machine) or `credentials`"]
            )
        return AuthSettings(
            mode=self.mode,
            api_keys_file=str(self.api_keys_file or ""),
            api_keys_inline=self.api_keys,
            jwt_secret=self.jwt_secret,
            jwks_file=str(self.jwks_file or ""),
            issuer=self.issuer,
            audience=self.audience,
        )


class SettingsError(Exception):
    """The environment can't be used; ``faults`` names every variable and what is wrong with it."""

    def __init__(self, faults: list[str]) -> None:
        """Keep every fault; the message has one a line."""
        self.faults = tuple(faults)
        super().__init__("\n".join(faults))


S = TypeVar("S", bound=BaseSettings)


def read_settings(kind: type[S]) -> S:
    """Read the environment once. Raises SettingsError with every fault at once.

    An empty variable counts as absent. Variables that no setting has are ignored, whatever their
    prefix: Kubernetes puts the likes of ``HILVAN_RETRIEVAL_PORT`` into every container.
    """
    try:
        return kind()
    except ValidationError as error:
        raise SettingsError(
            [
                f"{_variable(kind, '_'.join(map(str, fault['loc'])))}: {fault['msg']}"
                for fault in error.errors()
            ]
        ) from error


def setting_error(settings: BaseSettings, name: str, fault: str) -> SettingsError:
    """Tell, by its variable's name, that a setting turned out to be unusable."""
    return SettingsError([f"{_variable(type(settings), name)}: {fault}"])


def _variable(kind: type[BaseSettings], name: str) -> str:
    return f"{kind.model_config.get('env_prefix', '')}{name}".upper()
