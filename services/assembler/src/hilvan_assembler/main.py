"""The composition root of the assembler: the only place that reads settings and joins parts."""

import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

import grpc
import uvloop

from hilvan.assembler.v1 import assembler_service_pb2_grpc as rpc
from hilvan_assembler.adapters.contradiction import evidence_judge
from hilvan_assembler.adapters.services.curation import GrpcCuration
from hilvan_assembler.adapters.services.retrieval import GrpcRetrieval
from hilvan_assembler.rpc.errors import TABLE
from hilvan_assembler.rpc.servicer import AssemblerServicer, UseCases
from hilvan_assembler.rpc.validation import Validator
from hilvan_assembler.settings import AssemblerSettings
from hilvan_assembler.usecases.assembly import Assembler
from hilvan_assembler.usecases.session import Starter
from hilvan_kit.auth import AuthMisconfigured, build_authenticator
from hilvan_kit.channels import open_channel
from hilvan_kit.guards import standard_guards
from hilvan_kit.logs import configure_logging
from hilvan_kit.server import Server
from hilvan_kit.settings import CredentialSettings, SettingsError, read_settings
from hilvan_kit.tokens import Tokenizers, TokenizerUnusable

SERVICE = "hilvan.assembler.v1.AssemblerService"


@asynccontextmanager
async def open_service(settings: AssemblerSettings) -> AsyncIterator[UseCases]:
    """Open the channels and load the tokenizer, and close all of it at the end."""
    tokenizers = Tokenizers(settings.tokenizer, settings.tokenizers_dir)
    async with AsyncExitStack() as stack:
        retrieval = GrpcRetrieval(open_channel(settings.retrieval_target))
        stack.push_async_callback(retrieval.close)
        curation = GrpcCuration(open_channel(settings.curation_target))
        stack.push_async_callback(curation.close)
        assembler = Assembler(retrieval, curation, evidence_judge)
        stack.push_async_callback(assembler.close)
        yield UseCases(
            assembler=assembler,
            starter=Starter(retrieval, curation),
            validator=Validator(tokenizers),
            now=lambda: datetime.now(UTC),
            default_deadline_seconds=settings.default_deadline_seconds,
        )


async def serve() -> None:
    """Run the service until it is told to stop."""
    settings = read_settings(AssemblerSettings)
    configure_logging(settings.log_level, "assembler")
    auth = read_settings(CredentialSettings).to_auth()
    authenticator = build_authenticator(auth, settings.listen, time.time)
    async with open_service(settings) as uses:

        def add_to(server: grpc.aio.Server) -> None:
            rpc.add_AssemblerServiceServicer_to_server(AssemblerServicer(uses), server)

        async def ping() -> None:
            """Always ready: without the other services it still answers, and says so."""

        guards = standard_guards(authenticator, TABLE)
        await Server(settings, {SERVICE: add_to}, guards, ping).run()


def main() -> None:
    """Entry point: what can't be used is said in one message, with exit code 1."""
    try:
        uvloop.run(serve())
    except (SettingsError, AuthMisconfigured, TokenizerUnusable) as error:
        sys.exit(f"hilvan-assembler: {error}")


if __name__ == "__main__":
    main()
