"""How the assembler's parts are joined, in production and in tests."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

import grpc

from hilvan.assembler.v1 import assembler_service_pb2_grpc as rpc
from hilvan_assembler.adapters.contradiction import evidence_judge
from hilvan_assembler.adapters.services.curation import GrpcCuration
from hilvan_assembler.adapters.services.retrieval import GrpcRetrieval
from hilvan_assembler.ports import Ports
from hilvan_assembler.rpc.errors import TABLE
from hilvan_assembler.rpc.servicer import AssemblerServicer
from hilvan_assembler.settings import AssemblerSettings
from hilvan_assembler.usecases import UseCases
from hilvan_assembler.usecases.assembly import Assembler
from hilvan_assembler.usecases.recall import Recaller
from hilvan_assembler.usecases.report import TurnReports
from hilvan_assembler.usecases.search import Searcher
from hilvan_assembler.usecases.services import Services
from hilvan_assembler.usecases.session import SessionStarter
from hilvan_kit.channels import open_channel
from hilvan_kit.service import Service
from hilvan_kit.tokens import Tokenizers

SERVICE = "hilvan.assembler.v1.AssemblerService"


def compose(ports: Ports, clock: Callable[[], datetime]) -> UseCases:
    """Join the use cases over the ports; ``clock`` gives aware times in UTC."""
    services = Services(ports.retrieval, ports.curation)
    reports = TurnReports(ports.retrieval)
    return UseCases(
        assembler=Assembler(services, ports.judge, reports),
        recaller=Recaller(services, ports.judge, reports),
        searcher=Searcher(services),
        session_starter=SessionStarter(ports.retrieval, ports.curation),
        reports=reports,
        tokenizers=ports.tokenizers,
        clock=clock,
    )


def served(use_cases: UseCases, default_deadline_seconds: float) -> Service:
    """The use cases as a service; calls that set no deadline get the default one."""
    servicer = AssemblerServicer(use_cases, default_deadline_seconds)

    def add_to(server: grpc.aio.Server) -> None:
        rpc.add_AssemblerServiceServicer_to_server(servicer, server)

    async def ping() -> None:
        """Always ready: without the other services it still answers, and says so."""

    return Service({SERVICE: add_to}, TABLE, ping)


@asynccontextmanager
async def open_service(settings: AssemblerSettings) -> AsyncIterator[Service]:
    """Open the channels and load the tokenizers, and close all of it at the end.

    Raises TokenizerUnusable.
    """
    tokenizers = Tokenizers(settings.tokenizer, settings.tokenizers_dir)
    async with AsyncExitStack() as stack:
        retrieval = GrpcRetrieval(open_channel(settings.retrieval_target))
        stack.push_async_callback(retrieval.close)
        curation = GrpcCuration(open_channel(settings.curation_target))
        stack.push_async_callback(curation.close)
        ports = Ports(retrieval, curation, evidence_judge, tokenizers)
        use_cases = compose(ports, lambda: datetime.now(UTC))
        stack.push_async_callback(use_cases.close)
        yield served(use_cases, settings.default_deadline_seconds)
