"""The composition root of curation: the only place that reads settings and joins parts."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

import grpc
import uvloop

from hilvan.curation.v1 import curation_service_pb2_grpc as rpc
from hilvan_curation.adapters.metadata import NoMetadata, SqlMetadata
from hilvan_curation.adapters.notes import FileNoteSource
from hilvan_curation.adapters.services.retrieval import GrpcRetrieval
from hilvan_curation.errors import CurationError
from hilvan_curation.ports.metadata import MetadataStore
from hilvan_curation.rpc.errors import TABLE
from hilvan_curation.rpc.servicer import CurationServicer
from hilvan_curation.settings import CurationSettings
from hilvan_curation.usecases.curating import Curator
from hilvan_curation.usecases.publication import Publisher
from hilvan_curation.usecases.vault import Catalogue
from hilvan_kit.auth import AuthMisconfigured, build_authenticator
from hilvan_kit.channels import open_channel
from hilvan_kit.guards import standard_guards
from hilvan_kit.logs import configure_logging
from hilvan_kit.server import Server
from hilvan_kit.settings import CredentialSettings, SettingsError, read_settings, setting_error
from hilvan_kit.tokens import Tokenizers, TokenizerUnusable

Ping = Callable[[], Awaitable[None]]
SERVICE = "hilvan.curation.v1.CurationService"


async def open_metadata(settings: CurationSettings) -> MetadataStore:
    """The metadata store that the settings name."""
    if settings.metadata == "none":
        if settings.metadata_url:
            raise setting_error(settings, "metadata_url", "says where, and metadata says `none`")
        return NoMetadata(settings.fixed_vaults)
    may_change = settings.metadata_migrate
    if settings.metadata_url:
        return await SqlMetadata.open_postgres(
            settings.metadata_url, settings.metadata_connections, may_change=may_change
        )
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    file = settings.data_dir / "metadata.sqlite"
    return await SqlMetadata.open_sqlite(file, may_change=may_change)


@asynccontextmanager
async def open_service(settings: CurationSettings) -> AsyncIterator[tuple[CurationServicer, Ping]]:
    """Open every adapter, start the workers, and close all of it at the end."""
    async with AsyncExitStack() as stack:
        metadata = await open_metadata(settings)
        stack.push_async_callback(metadata.close)
        retrieval = GrpcRetrieval(open_channel(settings.retrieval_target), settings.retrieval_key)
        stack.push_async_callback(retrieval.close)
        publisher = Publisher(retrieval)
        catalogue = Catalogue(metadata, FileNoteSource, publisher, settings.roots)
        stack.push_async_callback(catalogue.close)
        await catalogue.open()
        worker = asyncio.create_task(publisher.run())
        stack.push_async_callback(_cancelled, worker)
        tokenizers = Tokenizers(folder=settings.tokenizers_dir)
        curator = Curator(catalogue, metadata, lambda: datetime.now(UTC))
        yield CurationServicer(curator, tokenizers), catalogue.ping


async def serve() -> None:
    """Run the service until it is told to stop."""
    settings = read_settings(CurationSettings)
    configure_logging(settings.log_level, "curation")
    auth = read_settings(CredentialSettings).to_auth()
    authenticator = build_authenticator(auth, settings.listen, time.time)
    async with open_service(settings) as (servicer, ping):

        def add_to(server: grpc.aio.Server) -> None:
            rpc.add_CurationServiceServicer_to_server(servicer, server)

        guards = standard_guards(authenticator, TABLE)
        await Server(settings, {SERVICE: add_to}, guards, ping).run()


async def _cancelled(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def migrate_only() -> None:
    """Bring the metadata to this release's schema, and nothing else."""
    settings = read_settings(CurationSettings)
    configure_logging(settings.log_level, "curation")
    allowed = settings.model_copy(update={"metadata_migrate": True})
    await (await open_metadata(allowed)).close()


def main() -> None:
    """Entry point: what can't be used or opened is said in one message, with exit code 1.

    With ``--migrate-only`` the metadata is brought to this release's schema, and nothing is served.
    """
    try:
        uvloop.run(migrate_only() if "--migrate-only" in sys.argv[1:] else serve())
    except (SettingsError, AuthMisconfigured, CurationError, TokenizerUnusable) as error:
        sys.exit(f"hilvan-curation: {error}")


if __name__ == "__main__":
    main()
