"""Retrieval's process: the only place that reads settings."""

import sys
import time

import grpc
import uvloop
from threadpoolctl import threadpool_limits

from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as rpc
from hilvan_kit.auth import AuthMisconfigured, build_authenticator
from hilvan_kit.guards import standard_guards
from hilvan_kit.logs import configure_logging
from hilvan_kit.server import Server
from hilvan_kit.settings import CredentialSettings, SettingsError, read_settings
from hilvan_retrieval.adapters.record import migrate, open_record
from hilvan_retrieval.composition import open_service
from hilvan_retrieval.errors import RetrievalError
from hilvan_retrieval.rpc.errors import TABLE
from hilvan_retrieval.rpc.servicer import RetrievalServicer
from hilvan_retrieval.settings import RetrievalSettings

SERVICE = "hilvan.retrieval.v1.RetrievalService"


async def serve() -> None:
    """Run the service until it is told to stop."""
    # With a thread a core, numpy's products take 45 ms of processor time a call instead of 30.
    threadpool_limits(1)
    settings = read_settings(RetrievalSettings)
    configure_logging(settings.log_level, "retrieval")
    auth = read_settings(CredentialSettings).to_auth()
    authenticator = build_authenticator(auth, settings.listen, time.time)
    async with open_service(settings) as (uses, ping):

        def add_to(server: grpc.aio.Server) -> None:
            rpc.add_RetrievalServiceServicer_to_server(RetrievalServicer(uses), server)

        guards = standard_guards(authenticator, TABLE)
        await Server(settings, {SERVICE: add_to}, guards, ping).run()


async def migrate_only() -> None:
    """Bring the record to this release's schema, and nothing else."""
    settings = read_settings(RetrievalSettings)
    configure_logging(settings.log_level, "retrieval")
    database = open_record(settings.record_url, settings.data_dir)
    try:
        await migrate(database)
    finally:
        await database.close()


def main() -> None:
    """Entry point: what can't be used or opened is said in one message, with exit code 1.

    With ``--migrate-only`` the record is brought to this release's schema, and nothing is served.
    """
    try:
        uvloop.run(migrate_only() if "--migrate-only" in sys.argv[1:] else serve())
    except (SettingsError, AuthMisconfigured, RetrievalError) as error:
        sys.exit(f"hilvan-retrieval: {error}")


if __name__ == "__main__":
    main()
