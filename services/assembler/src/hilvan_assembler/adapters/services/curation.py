"""`Curation` over gRPC."""

from datetime import UTC
from typing import Any

import grpc

from hilvan.common.v1 import entry_pb2
from hilvan.curation.v1 import curation_service_pb2 as pb
from hilvan.curation.v1 import curation_service_pb2_grpc as rpc
from hilvan_assembler.adapters.services.call import Service
from hilvan_assembler.errors import ProjectNotFound
from hilvan_assembler.model.curation import (
    Curated,
    CurationAnswer,
    Element,
    IdentityBlock,
    PinnedNote,
)
from hilvan_assembler.model.kind import Reason
from hilvan_assembler.model.session import Brief, SessionOpening
from hilvan_assembler.model.turn import Caller
from hilvan_assembler.usecases.together import together
from hilvan_kit.deadlines import Deadline

_AXIS_NAMES = {
    entry_pb2.AXIS_USER: "user",
    entry_pb2.AXIS_PROJECT: "project",
    entry_pb2.AXIS_SPACE: "space",
}
_GROUPS = {
    pb.IDENTITY_GROUP_SOUL: "soul",
    pb.IDENTITY_GROUP_STYLE: "style",
    pb.IDENTITY_GROUP_CONTEXT: "context",
}
_REASONS = {
    pb.VERDICT_LOADED: Reason.RENDERED,
    pb.VERDICT_OVER_BUDGET: Reason.OVER_BUDGET,
    pb.VERDICT_OVER_ITEM_LIMIT: Reason.OVER_BUDGET,
    pb.VERDICT_AFTER_CUT: Reason.AFTER_CUT,
    pb.VERDICT_DUPLICATE: Reason.DUPLICATE_OF,
    pb.VERDICT_MUTED: Reason.MUTED,
    pb.VERDICT_MISSING: Reason.MISSING,
}


class GrpcCuration:
    """Asks curation, with the caller's own credential."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Take a channel over; `close` closes it."""
        self._channel = channel
        self._service = Service("curation")
        self._stub: Any = rpc.CurationServiceStub(channel)

    async def resolve(
        self, caller: Caller, project_id: str, tokenizer: str, deadline: Deadline
    ) -> CurationAnswer:
        """What loads in a scope, with bodies."""
        request = pb.ResolveScopeRequest(
            scope=pb.Scope(project_id=project_id), include_bodies=True, tokenizer=tokenizer
        )
        answer = await self._service.call(
            self._stub.ResolveScope, request, caller, deadline, _no_project
        )
        return CurationAnswer(_curated(answer), tuple(_element(each) for each in answer.elements))

    async def open_session(
        self, caller: Caller, project_id: str, *, preview: bool, deadline: Deadline
    ) -> SessionOpening:
        """Open a session of a scope."""
        request = pb.OpenSessionRequest(scope=pb.Scope(project_id=project_id), preview=preview)
        answer = await self._service.call(
            self._stub.OpenSession, request, caller, deadline, _no_project
        )
        since = answer.since_time.ToDatetime(UTC) if answer.HasField("since_time") else None
        return SessionOpening(answer.session_id, since, answer)

    async def brief(self, caller: Caller, project_id: str, deadline: Deadline) -> Brief:
        """The caller's projects, and the categories of a scope."""
        scope = pb.Scope(project_id=project_id)
        projects, categories = await together(
            self._service.call(self._stub.ListProjects, pb.ListProjectsRequest(), caller, deadline),
            self._service.call(
                self._stub.ListCategories,
                pb.ListCategoriesRequest(scope=scope),
                caller,
                deadline,
                _no_project,
            ),
        )
        return Brief(
            tuple(projects.projects),
            tuple((each.category, each.muted, each) for each in categories.categories),
        )

    async def close(self) -> None:
        """Close the channel."""
        await self._service.close()
        await self._channel.close()


def _no_project(error: grpc.aio.AioRpcError) -> Exception | None:
    return ProjectNotFound() if error.code() is grpc.StatusCode.NOT_FOUND else None


def _curated(answer: pb.ResolveScopeResponse) -> Curated:
    return Curated(
        pins=tuple(
            PinnedNote(
                each.note_id,
                each.title,
                each.text,
                loaded=each.verdict == pb.VERDICT_LOADED,
                reason=_REASONS[each.verdict],
            )
            for each in answer.elements
            if each.kind != pb.ELEMENT_KIND_MEMORY_CATEGORY
        ),
        identity=tuple(
            IdentityBlock(
                each.id, _GROUPS[each.group], each.kind, each.text, each.active, each.order
            )
            for each in answer.identity
        ),
        muted=frozenset(
            (f"{_AXIS_NAMES[each.owner.axis]}:{each.owner.id}", each.category)
            for each in answer.muted
        ),
    )


def _element(message: pb.Element) -> Element:
    return Element(
        message.note_id,
        message.kind == pb.ELEMENT_KIND_MEMORY_CATEGORY,
        message.verdict == pb.VERDICT_MUTED,
        message,
    )
