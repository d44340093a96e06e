"""Values that retrieval or curation gave, as the messages that callers know from them."""

from datetime import datetime

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from hilvan.common.v1 import entry_pb2
from hilvan.curation.v1 import curation_service_pb2 as curation_pb
from hilvan_assembler.model.curation import Element
from hilvan_assembler.model.entry import Entry, Origin
from hilvan_assembler.model.session import Category, NoteDelta, Project
from hilvan_assembler.rpc import names

_NO_ORIGIN = Origin()


def entry_message(entry: Entry) -> entry_pb2.Entry:
    """An entry as retrieval would have written it."""
    return entry_pb2.Entry(
        id=entry.id,
        layer=names.LAYER_NUMBERS[entry.layer],
        owner=owner_message(entry.owner),
        category=entry.category,
        title=entry.title,
        text=entry.text,
        importance=entry.importance,
        confidence=entry.confidence,
        access_count=entry.access_count,
        reinforcement_count=entry.reinforcement_count,
        create_time=stamp(entry.create_time),
        update_time=stamp(entry.update_time),
        last_access_time=_stamp_or_none(entry.last_access_time),
        valid_from_time=_stamp_or_none(entry.valid_from),
        valid_until_time=_stamp_or_none(entry.valid_until),
        supersede_time=_stamp_or_none(entry.supersede_time),
        superseded_by=entry.superseded_by,
        topics=entry.topics,
        outcome=entry.outcome,
        steps=entry.steps,
        tags=entry.tags,
        origin=origin_message(entry.origin),
        content_hash=entry.content_hash,
        etag=entry.etag,
    )


def origin_message(origin: Origin) -> entry_pb2.Origin | None:
    """Where an entry came from; None leaves the field unset, as nothing is known."""
    if origin == _NO_ORIGIN:
        return None
    return entry_pb2.Origin(
        kind=origin.kind, uri=origin.uri, thread=origin.thread, position=origin.position
    )


def owner_message(key: str) -> entry_pb2.Owner:
    """An owner by its key, such as ``user:ana``."""
    axis, _, owner_id = key.partition(":")
    return entry_pb2.Owner(axis=names.AXES[axis], id=owner_id)


def element_message(element: Element, *, bodies: bool) -> curation_pb.Element:
    """An element of a scope, its text only with ``bodies``."""
    return curation_pb.Element(
        kind=names.ELEMENT_KINDS[element.kind],
        note_id=element.note_id,
        title=element.title,
        token_count=element.token_count,
        order=element.order,
        verdict=names.ELEMENT_VERDICTS[element.verdict],
        text=element.text if bodies else "",
        space_id=element.space_id,
        path=element.path,
        owner=owner_message(element.owner) if element.owner else None,
    )


def project_message(project: Project) -> curation_pb.Project:
    """A project."""
    return curation_pb.Project(
        id=project.id,
        name=project.name,
        handle=project.handle,
        space_id=project.space_id,
        folder=project.folder,
        note_count=project.note_count,
    )


def category_message(category: Category) -> curation_pb.Category:
    """A category of memory."""
    return curation_pb.Category(
        owner=owner_message(category.owner),
        category=category.category,
        summary=category.summary,
        note_id=category.note_id,
        muted=category.muted,
        mute_until_time=_stamp_or_none(category.muted_until),
    )


def note_delta_message(delta: NoteDelta) -> curation_pb.NoteDelta:
    """A note that changed."""
    return curation_pb.NoteDelta(
        note_id=delta.note_id, title=delta.title, change=names.NOTE_CHANGES[delta.change]
    )


def stamp(time: datetime) -> Timestamp:
    """A timestamp to the microsecond."""
    message = Timestamp()
    message.FromDatetime(time)
    return message


def duration(seconds: float) -> Duration:
    """A duration to the nanosecond."""
    whole = int(seconds)
    return Duration(seconds=whole, nanos=int((seconds - whole) * 1e9))


def _stamp_or_none(time: datetime | None) -> Timestamp | None:
    return None if time is None else stamp(time)
