"""`AssemblerService` on the wire."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.assembler.v1 import assembler_service_pb2_grpc as rpc
from hilvan_assembler.model.turn import Caller
from hilvan_assembler.rpc import codec, validation
from hilvan_assembler.rpc.validation import Validator
from hilvan_assembler.usecases.assembly import Assembler
from hilvan_assembler.usecases.session import Starter
from hilvan_kit.deadlines import Deadline
from hilvan_kit.guards import credentials, principal
from hilvan_kit.validation import InvalidRequest

Context = Any
"""grpc.aio's servicer context; its generics say nothing that is used here."""


@dataclass(frozen=True, slots=True)
class UseCases:
    """The use cases behind the wire, and the clock of the edge."""

    assembler: Assembler
    starter: Starter
    validator: Validator
    now: Callable[[], datetime]
    default_deadline_seconds: float

    def deadline(self, context: Context) -> Deadline:
        """The call's deadline."""
        return Deadline.of(context, self.default_deadline_seconds)


class AssemblerServicer(rpc.AssemblerServiceServicer):
    """Translates, validates, delegates."""

    def __init__(self, uses: UseCases) -> None:
        """Take the use cases."""
        self._uses = uses

    async def Assemble(self, request: pb.AssembleRequest, context: Context) -> pb.AssembleResponse:
        """See the proto."""
        return await self._assemble(request, context, preview=False)

    async def StartSession(
        self, request: pb.StartSessionRequest, context: Context
    ) -> pb.StartSessionResponse:
        """See the proto."""
        return await self._start(request, context, preview=False)

    async def Recall(self, request: pb.RecallRequest, context: Context) -> pb.RecallResponse:
        """See the proto."""
        return await self._recall(request, context, preview=False)

    async def Search(self, request: pb.SearchRequest, context: Context) -> pb.SearchResponse:
        """See the proto."""
        wanted, fusion, limit = validation.search(request)
        found = await self._uses.assembler.search(
            _caller(), wanted, fusion, request.min_semantic, limit, self._uses.deadline(context)
        )
        return codec.searched(found, request.query)

    async def Preview(self, request: pb.PreviewRequest, context: Context) -> pb.PreviewResponse:
        """See the proto."""
        call = request.WhichOneof("call")
        if call is None:
            raise InvalidRequest([("call", "is required")])
        try:
            return await self._preview(call, request, context)
        except InvalidRequest as error:
            raise InvalidRequest([(f"{call}.{path}", why) for path, why in error.pairs]) from error

    async def _preview(
        self, call: str, request: pb.PreviewRequest, context: Context
    ) -> pb.PreviewResponse:
        if call == "assemble":
            answer = await self._assemble(request.assemble, context, preview=True)
            return pb.PreviewResponse(assemble=answer)
        if call == "start_session":
            start = await self._start(request.start_session, context, preview=True)
            return pb.PreviewResponse(start_session=start)
        return pb.PreviewResponse(recall=await self._recall(request.recall, context, preview=True))

    async def _assemble(
        self, request: pb.AssembleRequest, context: Context, *, preview: bool
    ) -> pb.AssembleResponse:
        wanted, options, tokenizer = self._uses.validator.assemble(request, self._uses.now())
        explained = request.view == pb.VIEW_FULL
        found = await self._uses.assembler.assemble(
            _caller(),
            wanted,
            options,
            tokenizer,
            self._uses.deadline(context),
            explained=explained,
            preview=preview,
        )
        return codec.assembled(found, tokenizer.name, options.as_of, explained=explained)

    async def _recall(
        self, request: pb.RecallRequest, context: Context, *, preview: bool
    ) -> pb.RecallResponse:
        wanted, options, budget, tokenizer = self._uses.validator.recall(request, self._uses.now())
        found = await self._uses.assembler.recall(
            _caller(),
            wanted,
            options,
            budget,
            tokenizer,
            self._uses.deadline(context),
            explained=request.view == pb.VIEW_FULL,
            preview=preview,
        )
        return codec.recalled(found)

    async def _start(
        self, request: pb.StartSessionRequest, context: Context, *, preview: bool
    ) -> pb.StartSessionResponse:
        validation.start_session(request)
        found = await self._uses.starter.start(
            _caller(), request.scope.project_id, self._uses.deadline(context), preview=preview
        )
        return codec.started(found, bodies=request.include_bodies)


def _caller() -> Caller:
    who = principal()
    return Caller(who.tenant, who.user, credentials())
