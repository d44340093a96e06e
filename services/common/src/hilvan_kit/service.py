"""A service as every composition root gives it, and the one way to serve it."""

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TypeVar

import grpc

from hilvan_kit.auth import build_authenticator
from hilvan_kit.failures import ErrorTable
from hilvan_kit.guards import standard_guards
from hilvan_kit.logs import configure_logging
from hilvan_kit.server import Server
from hilvan_kit.settings import CredentialSettings, ServerSettings, read_settings

Ping = Callable[[], Awaitable[None]]

S = TypeVar("S", bound=ServerSettings)


@dataclass(frozen=True, slots=True)
class Service:
    """An open service.

    Attributes:
        servicers: by the full name of a service of the wire, what adds its servicer to a server.
        errors: what a caller sees of the service's exceptions.
        ping: returns when the service can serve, raises while one of its adapters can't.
    """

    servicers: Mapping[str, Callable[[grpc.aio.Server], None]]
    errors: ErrorTable
    ping: Ping


async def serve(
    name: str, settings: S, open_service: Callable[[S], AbstractAsyncContextManager[Service]]
) -> None:
    """Open the service, serve it until the process is told to stop, and close it.

    ``name`` is what the log calls it. Raises SettingsError, AuthMisconfigured, and what
    ``open_service`` raises.
    """
    configure_logging(settings.log_level, name)
    credentials = read_settings(CredentialSettings).to_auth()
    authenticator = build_authenticator(credentials, settings.listen, time.time)
    async with open_service(settings) as service:
        guards = standard_guards(authenticator, service.errors)
        await Server(settings, service.servicers, guards, service.ping).run()
