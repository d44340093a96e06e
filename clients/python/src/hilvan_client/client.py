"""The client: three typed stubs over channels that balance, watch health and retry."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import grpc
from grpc import aio

from hilvan.assembler.v1 import assembler_service_pb2_grpc
from hilvan.curation.v1 import curation_service_pb2_grpc
from hilvan.retrieval.v1 import retrieval_service_pb2_grpc
from hilvan_client import import_stream
from hilvan_client.calls import CallingChannel, Metadata
from hilvan_client.import_stream import ImportProgress, ImportSummary, Records
from hilvan_client.service_config import Service, load

if TYPE_CHECKING:
    # Only the type stubs know these names.
    from hilvan.assembler.v1.assembler_service_pb2_grpc import AssemblerServiceAsyncStub
    from hilvan.curation.v1.curation_service_pb2_grpc import CurationServiceAsyncStub
    from hilvan.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceAsyncStub

CHANNEL_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.enable_retries", 1),
    # A new replica is found after at most this long; gRPC's own default is 30 s.
    ("grpc.dns_min_time_between_resolutions_ms", 5_000),
    # A page of 1,000 entries or 100 candidates of every layer is above gRPC's 4 MiB.
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
)

_STUBS: Mapping[Service, Callable[[Any], Any]] = {
    Service.RETRIEVAL: retrieval_service_pb2_grpc.RetrievalServiceStub,
    Service.CURATION: curation_service_pb2_grpc.CurationServiceStub,
    Service.ASSEMBLER: assembler_service_pb2_grpc.AssemblerServiceStub,
}


class Hilvan:
    """The three services. Made by `Hilvan.connect`; safe to share between tasks of one loop."""

    def __init__(self, stubs: Mapping[Service, Any]) -> None:
        self._stubs = stubs

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        retrieval: str | None = None,
        curation: str | None = None,
        assembler: str | None = None,
        *,
        credential: str | None = None,
        tenant: str | None = None,
        user: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - a default for calls, not of this one
        channel_credentials: grpc.ChannelCredentials | None = None,
    ) -> AsyncIterator["Hilvan"]:
        """Open channels to the services whose gRPC targets are given; none is called yet.

        Args:
            retrieval: A target such as ``127.0.0.1:7701`` or ``dns:///retrieval:7701``.
            curation: The same for curation.
            assembler: The same for assembler.
            credential: An API key or token, sent as ``authorization: Bearer …``.
            tenant: Whom to act for, where the credential allows it.
            user: Whom to act for, where the credential allows it.
            timeout: Seconds for calls that bring none; absent: those of the service config.
            channel_credentials: For TLS; absent: plain text.
        """
        targets = {
            Service.RETRIEVAL: retrieval,
            Service.CURATION: curation,
            Service.ASSEMBLER: assembler,
        }
        metadata = _metadata(credential, tenant, user)
        async with AsyncExitStack() as stack:
            stubs = {}
            for service, target in targets.items():
                if target:
                    channel = _open(service, target, channel_credentials)
                    stack.push_async_callback(channel.close)
                    stubs[service] = _stub(service, channel, metadata, timeout)
            yield cls(stubs)

    @property
    def retrieval(self) -> "RetrievalServiceAsyncStub":
        """The methods of `hilvan.retrieval.v1.RetrievalService`."""
        return cast("RetrievalServiceAsyncStub", self._stub(Service.RETRIEVAL))

    @property
    def curation(self) -> "CurationServiceAsyncStub":
        """The methods of `hilvan.curation.v1.CurationService`."""
        return cast("CurationServiceAsyncStub", self._stub(Service.CURATION))

    @property
    def assembler(self) -> "AssemblerServiceAsyncStub":
        """The methods of `hilvan.assembler.v1.AssemblerService`."""
        return cast("AssemblerServiceAsyncStub", self._stub(Service.ASSEMBLER))

    async def import_entries(
        self,
        records: Records,
        batch_size: int = 200,
        window: int = 4,
        on_progress: Callable[[ImportProgress], None] | None = None,
        *,
        wait: bool = False,
    ) -> ImportSummary:
        """Store many entries; see `hilvan_client.import_stream.import_entries`."""
        return await import_stream.import_entries(
            self.retrieval,
            records,
            batch_size=batch_size,
            window=window,
            on_progress=on_progress,
            wait=wait,
        )

    def _stub(self, service: Service) -> Any:
        if service not in self._stubs:
            raise ValueError(f"Hilvan.connect was given no address of {service}")
        return self._stubs[service]


def _open(
    service: Service, target: str, channel_credentials: grpc.ChannelCredentials | None
) -> aio.Channel:
    options = (*CHANNEL_OPTIONS, ("grpc.service_config", load(service).channel))
    if channel_credentials:
        return aio.secure_channel(target, channel_credentials, options)
    return aio.insecure_channel(target, options)


def _stub(service: Service, channel: aio.Channel, metadata: Metadata, timeout: float | None) -> Any:
    seconds = load(service).timeout if timeout is None else lambda _method: timeout
    return _STUBS[service](CallingChannel(channel, seconds, metadata))


def _metadata(credential: str | None, tenant: str | None, user: str | None) -> Metadata:
    pairs = (
        ("authorization", f"Bearer {credential}" if credential else None),
        ("hilvan-tenant", tenant),
        ("hilvan-user", user),
    )
    return tuple((key, value) for key, value in pairs if value)
