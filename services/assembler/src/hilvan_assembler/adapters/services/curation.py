"""`Curation` over gRPC."""

from datetime import UTC
from typing import Any

import grpc

from hilvan.common.v1 import entry_pb2
from hilvan.curation.v1 import curation_service_pb2 as pb
from hilvan.curation.v1 import curation_service_pb2_grpc as rpc
from hilvan.curation.v1 import error_reason_pb2
from hilvan.curation.v1.error_reason_pb2 import ErrorReason
from hilvan_assembler.adapters.services.call import Known, Service, reason_name
from hilvan_assembler.errors import ProjectNotFound
from hilvan_assembler.model.curation import (
    Curated,
    CurationAnswer,
    Element,
    IdentityBlock,
    PinnedNote,
)
from hilvan_assembler.model.kind import ElementKind, ElementVerdict, NoteChange, Reason
from hilvan_assembler.model.session import Brief, Category, NoteDelta, Project, SessionOpening
from hilvan_assembler.model.turn import Caller
from hilvan_kit.deadlines import Deadline
from hilvan_kit.together import together

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


_KINDS = {
    pb.ELEMENT_KIND_PIN: ElementKind.PIN,
    pb.ELEMENT_KIND_SET_ITEM: ElementKind.SET_ITEM,
    pb.ELEMENT_KIND_MEMORY_CATEGORY: ElementKind.MEMORY_CATEGORY,
}
_VERDICTS = {
    pb.VERDICT_LOADED: ElementVerdict.LOADED,
    pb.VERDICT_OVER_BUDGET: ElementVerdict.OVER_BUDGET,
    pb.VERDICT_AFTER_CUT: ElementVerdict.AFTER_CUT,
    pb.VERDICT_OVER_ITEM_LIMIT: ElementVerdict.OVER_ITEM_LIMIT,
    pb.VERDICT_DUPLICATE: ElementVerdict.DUPLICATE,
    pb.VERDICT_MUTED: ElementVerdict.MUTED,
    pb.VERDICT_MISSING: ElementVerdict.MISSING,
}
_CHANGES = {
    pb.NOTE_CHANGE_ADDED: NoteChange.ADDED,
    pb.NOTE_CHANGE_CHANGED: NoteChange.CHANGED,
    pb.NOTE_CHANGE_REMOVED: NoteChange.REMOVED,
}
_NO_PROJECT: Known = {
    reason_name(ErrorReason.Name(error_reason_pb2.ERROR_REASON_PROJECT_NOT_FOUND)): ProjectNotFound
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
            self._stub.ResolveScope, request, caller, deadline, _NO_PROJECT
        )
        return CurationAnswer(_curated(answer), tuple(_element(each) for each in answer.elements))

    async def open_session(
        self, caller: Caller, project_id: str, *, preview: bool, deadline: Deadline
    ) -> SessionOpening:
        """Open a session of a scope."""
        request = pb.OpenSessionRequest(scope=pb.Scope(project_id=project_id), preview=preview)
        answer = await self._service.call(
            self._stub.OpenSession, request, caller, deadline, _NO_PROJECT
        )
        return SessionOpening(
            session_id=answer.session_id,
            since=answer.since_time.ToDatetime(UTC) if answer.HasField("since_time") else None,
            note_count=answer.note_count,
            folders=tuple(answer.folders),
            tags=tuple(answer.tags),
            changed_notes=tuple(
                NoteDelta(note.note_id, note.title, _CHANGES[note.change]) for note in answer.notes
            ),
        )

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
                _NO_PROJECT,
            ),
        )
        return Brief(
            tuple(_project(message) for message in projects.projects),
            tuple(_category(message) for message in categories.categories),
        )

    async def close(self) -> None:
        """Close the channel."""
        await self._service.close()
        await self._channel.close()


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
        muted=frozenset((_owner_key(message.owner), message.category) for message in answer.muted),
    )


def _element(message: pb.Element) -> Element:
    return Element(
        note_id=message.note_id,
        kind=_KINDS[message.kind],
        verdict=_VERDICTS[message.verdict],
        title=message.title,
        token_count=message.token_count,
        order=message.order,
        text=message.text,
        space_id=message.space_id,
        path=message.path,
        owner=_owner_key(message.owner) if message.HasField("owner") else "",
    )


def _project(message: pb.Project) -> Project:
    return Project(
        id=message.id,
        name=message.name,
        handle=message.handle,
        space_id=message.space_id,
        folder=message.folder,
        note_count=message.note_count,
    )


def _category(message: pb.Category) -> Category:
    until = message.mute_until_time
    return Category(
        category=message.category,
        owner=_owner_key(message.owner),
        summary=message.summary,
        note_id=message.note_id,
        muted=message.muted,
        muted_until=until.ToDatetime(UTC) if message.HasField("mute_until_time") else None,
    )


def _owner_key(owner: entry_pb2.Owner) -> str:
    return f"{_AXIS_NAMES[owner.axis]}:{owner.id}"
