"""Between the model and messages."""

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from hilvan.common.v1 import entry_pb2
from hilvan.curation.v1 import curation_service_pb2 as pb
from hilvan_curation.core.access import PIN_TAG, Vaults
from hilvan_curation.core.scope import Element, ElementKind, Resolution, Verdict, is_muted, owner_of
from hilvan_curation.core.session import NoteChange, NoteDelta
from hilvan_curation.model.category import CategoryNote
from hilvan_curation.model.identity import IdentityBlock, IdentityGroup
from hilvan_curation.model.note import Fault, Note
from hilvan_curation.model.space import Project
from hilvan_curation.model.vault import SpaceSnapshot
from hilvan_kit.auth import Principal

_AXES = {
    "user": entry_pb2.AXIS_USER,
    "project": entry_pb2.AXIS_PROJECT,
    "space": entry_pb2.AXIS_SPACE,
}
_KINDS = {
    ElementKind.PIN: pb.ELEMENT_KIND_PIN,
    ElementKind.SET_ITEM: pb.ELEMENT_KIND_SET_ITEM,
    ElementKind.MEMORY_CATEGORY: pb.ELEMENT_KIND_MEMORY_CATEGORY,
}
_VERDICTS = {
    Verdict.LOADED: pb.VERDICT_LOADED,
    Verdict.OVER_BUDGET: pb.VERDICT_OVER_BUDGET,
    Verdict.AFTER_CUT: pb.VERDICT_AFTER_CUT,
    Verdict.OVER_ITEM_LIMIT: pb.VERDICT_OVER_ITEM_LIMIT,
    Verdict.DUPLICATE: pb.VERDICT_DUPLICATE,
    Verdict.MUTED: pb.VERDICT_MUTED,
    Verdict.MISSING: pb.VERDICT_MISSING,
}
_GROUPS = {
    IdentityGroup.SOUL: pb.IDENTITY_GROUP_SOUL,
    IdentityGroup.STYLE: pb.IDENTITY_GROUP_STYLE,
    IdentityGroup.CONTEXT: pb.IDENTITY_GROUP_CONTEXT,
}
_CHANGES = {
    NoteChange.ADDED: pb.NOTE_CHANGE_ADDED,
    NoteChange.CHANGED: pb.NOTE_CHANGE_CHANGED,
    NoteChange.REMOVED: pb.NOTE_CHANGE_REMOVED,
}


def owner(key: str) -> entry_pb2.Owner:
    """An owner by its key."""
    axis, _, owner_id = key.partition(":")
    return entry_pb2.Owner(axis=_AXES[axis], id=owner_id)


def stamp(time: datetime | None) -> Timestamp | None:
    """A timestamp; None leaves a field unset."""
    if time is None:
        return None
    message = Timestamp()
    message.FromDatetime(time)
    return message


def moment(message: Timestamp) -> datetime:
    """A time to the microsecond."""
    return message.ToDatetime(UTC)


def resolution(
    value: Resolution, readable: list[str], now: datetime, *, bodies: bool
) -> pb.ResolveScopeResponse:
    """What loads in a scope."""
    return pb.ResolveScopeResponse(
        elements=[element(each, bodies=bodies) for each in value.elements],
        token_count=value.token_count,
        token_budget=value.budget.tokens,
        identity=[identity(each) for each in value.identity],
        muted=[category(each, now) for each in value.muted],
        readable_owners=[owner(each) for each in readable],
    )


def element(value: Element, *, bodies: bool) -> pb.Element:
    """One element at its place."""
    return pb.Element(
        kind=_KINDS[value.kind],
        note_id=value.note_id,
        title=value.title,
        token_count=value.token_count,
        order=value.order,
        verdict=_VERDICTS[value.verdict],
        text=value.text if bodies and value.verdict is Verdict.LOADED else "",
        space_id=value.space_id,
        path=value.path,
        owner=owner(value.owner) if value.owner else None,
    )


def space(value: SpaceSnapshot, vaults: Vaults, who: Principal) -> pb.Space:
    """A space as the caller may know it."""
    return pb.Space(
        id=value.space.id,
        name=value.space.name,
        owner=value.space.owner,
        note_count=len(value.notes),
        writable=vaults.can_write(who, value.space),
    )


def project(value: Project, note_count: int) -> pb.Project:
    """A project."""
    return pb.Project(
        id=value.id,
        name=value.name,
        handle=value.handle,
        space_id=value.space_id,
        folder=value.folder,
        note_count=note_count,
    )


def note(value: Note, snapshot: SpaceSnapshot, *, body: bool = False) -> pb.Note:
    """A note."""
    pinnable = not owner_of(snapshot, value).startswith("space:")
    return pb.Note(
        id=value.id,
        space_id=value.space_id,
        path=value.path,
        title=value.title,
        tags=value.tags,
        project_id=value.project_id,
        body=value.body if body else "",
        update_time=stamp(value.modified_time),
        etag=value.content_hash,
        pinned=pinnable and PIN_TAG in value.tags,
    )


def category(value: CategoryNote, now: datetime) -> pb.Category:
    """A category on its axis."""
    muted = is_muted(value, now)
    return pb.Category(
        owner=owner(f"{value.axis.value}:{value.owner_id}"),
        category=value.category,
        summary=value.summary,
        note_id=value.note_id,
        muted=muted,
        mute_until_time=stamp(value.muted_until) if muted else None,
    )


def identity(value: IdentityBlock) -> pb.IdentityBlock:
    """An identity block."""
    return pb.IdentityBlock(
        id=value.id,
        group=_GROUPS[value.group],
        kind=value.kind,
        text=value.text,
        active=value.active,
        order=value.order,
    )


def fault(value: Fault, space_id: str) -> pb.Fault:
    """Something wrong in a file."""
    return pb.Fault(space_id=space_id, path=value.path, line=value.line, description=value.message)


def delta(value: NoteDelta) -> pb.NoteDelta:
    """A note that changed."""
    return pb.NoteDelta(note_id=value.note_id, title=value.title, change=_CHANGES[value.change])
