"""`AssemblerService` on the wire."""

from typing import Any

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.assembler.v1 import assembler_service_pb2_grpc as rpc
from hilvan_assembler.model.turn import Caller
from hilvan_assembler.rpc import codec
from hilvan_assembler.rpc.validation import Call, Validator
from hilvan_assembler.usecases import UseCases
from hilvan_kit.deadlines import Deadline
from hilvan_kit.guards import credentials, principal
from hilvan_kit.validation import InvalidRequest

Context = Any
"""grpc.aio's servicer context; its generics say nothing that is used here."""


class AssemblerServicer(rpc.AssemblerServiceServicer):
    """Translates, validates, delegates."""

    def __init__(self, use_cases: UseCases, default_deadline_seconds: float) -> None:
        """Calls that set no deadline get the default one."""
        self._use_cases = use_cases
        self._validator = Validator(use_cases.tokenizers, use_cases.clock)
        self._default_deadline_seconds = default_deadline_seconds

    async def Assemble(self, request: pb.AssembleRequest, context: Context) -> pb.AssembleResponse:
        """The structured system prompt for one turn."""
        return await self._assemble(request, self._call(context))

    async def StartSession(
        self, request: pb.StartSessionRequest, context: Context
    ) -> pb.StartSessionResponse:
        """What a session begins with."""
        return await self._start(request, self._call(context))

    async def Recall(self, request: pb.RecallRequest, context: Context) -> pb.RecallResponse:
        """A bundle of passages with their sources."""
        return await self._recall(request, self._call(context))

    async def Search(self, request: pb.SearchRequest, context: Context) -> pb.SearchResponse:
        """Ranked hits, muted ones included."""
        query = self._validator.search(request, self._call(context))
        return codec.searched(await self._use_cases.searcher.search(query), request.query)

    async def Preview(self, request: pb.PreviewRequest, context: Context) -> pb.PreviewResponse:
        """What another call would answer; nothing is counted or written."""
        name = request.WhichOneof("call")
        if name is None:
            raise InvalidRequest([("call", "is required")])
        try:
            return await self._preview(name, request, self._call(context, preview=True))
        except InvalidRequest as error:
            raise InvalidRequest([(f"{name}.{path}", why) for path, why in error.pairs]) from error

    async def _preview(
        self, name: str, request: pb.PreviewRequest, call: Call
    ) -> pb.PreviewResponse:
        if name == "assemble":
            return pb.PreviewResponse(assemble=await self._assemble(request.assemble, call))
        if name == "start_session":
            return pb.PreviewResponse(start_session=await self._start(request.start_session, call))
        return pb.PreviewResponse(recall=await self._recall(request.recall, call))

    async def _assemble(self, request: pb.AssembleRequest, call: Call) -> pb.AssembleResponse:
        turn = self._validator.assemble(request, call)
        return codec.assembled(await self._use_cases.assembler.assemble(turn), turn)

    async def _recall(self, request: pb.RecallRequest, call: Call) -> pb.RecallResponse:
        turn, budget = self._validator.recall(request, call)
        return codec.recalled(await self._use_cases.recaller.recall(turn, budget))

    async def _start(self, request: pb.StartSessionRequest, call: Call) -> pb.StartSessionResponse:
        session_call = self._validator.start_session(request, call)
        start = await self._use_cases.session_starter.start(session_call)
        return codec.started(start, bodies=request.include_bodies)

    def _call(self, context: Context, *, preview: bool = False) -> Call:
        who = principal()
        caller = Caller(who.tenant, who.user, credentials())
        return Call(caller, Deadline.of(context, self._default_deadline_seconds), preview)
