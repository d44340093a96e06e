"""Reads candidates from retrieval's columns, and entries from their messages."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from google.protobuf.timestamp_pb2 import Timestamp

from hilvan.common.v1 import entry_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.entry import Entry, Origin
from hilvan_assembler.model.kind import Layer

LAYERS = {
    entry_pb2.LAYER_MEMORY: Layer.MEMORY,
    entry_pb2.LAYER_EPISODE: Layer.EPISODE,
    entry_pb2.LAYER_PROCEDURE: Layer.PROCEDURE,
    entry_pb2.LAYER_NOTE: Layer.NOTE,
}
AXIS_NAMES = {
    entry_pb2.AXIS_USER: "user",
    entry_pb2.AXIS_PROJECT: "project",
    entry_pb2.AXIS_SPACE: "space",
}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOTHING = pb.RowDetails()
_NOWHERE = Origin()


def candidates(columns: pb.CandidateColumns) -> tuple[Candidate, ...]:
    """The candidates, a row each."""
    owners = [f"{AXIS_NAMES[each.axis]}:{each.id}" for each in columns.owners]
    details: Mapping[int, pb.RowDetails] = {each.row: each for each in columns.details}
    origins = _origins(columns)
    layers, owner_index = list(columns.layer), list(columns.owner_index)
    rows = zip(
        columns.id,
        columns.text,
        columns.create_micros,
        columns.update_micros,
        columns.category,
        columns.title,
        columns.importance,
        columns.confidence,
        columns.access_count,
        columns.reinforcement_count,
        columns.last_access_micros,
        columns.version,
        columns.superseded_by,
        columns.content_hash,
        columns.cosine,
        columns.similarity,
        columns.vector_rank,
        columns.bm25,
        columns.keyword_rank,
        columns.muted,
        strict=True,
    )
    found = []
    for row, (
        entry_id, text, created, updated, category, title, importance, confidence, accesses,
        reinforcements, accessed, version, superseded_by, content_hash, cosine, similarity,
        vector_rank, bm25, keyword_rank, muted,
    ) in enumerate(rows):  # fmt: skip
        more = details.get(row, _NOTHING)
        extra = more is not _NOTHING
        found.append(
            Candidate(
                id=entry_id,
                layer=LAYERS[layers[row]],
                owner=owners[owner_index[row]],
                text=text,
                create_time=_time(created),
                update_time=_time(updated),
                category=category,
                title=title,
                importance=_known(importance),
                confidence=_known(confidence),
                access_count=accesses,
                reinforcement_count=reinforcements,
                last_access_time=None if accessed < 0 else _time(accessed),
                valid_from=_given(more, "valid_from_time") if extra else None,
                valid_until=_given(more, "valid_until_time") if extra else None,
                supersede_time=_given(more, "supersede_time") if extra else None,
                topics=tuple(more.topics) if extra else (),
                outcome=more.outcome if extra else "",
                steps=tuple(more.steps) if extra else (),
                tags=tuple(more.tags) if extra else (),
                origin=origins[row],
                superseded_by=superseded_by,
                content_hash=content_hash,
                cosine=_known(cosine),
                similarity=_known(similarity),
                vector_rank=vector_rank or None,
                bm25=_known(bm25),
                keyword_rank=keyword_rank or None,
                muted=muted,
                etag=str(version),
            )
        )
    return tuple(found)


def _origins(columns: pb.CandidateColumns) -> Sequence[Origin]:
    rows = zip(
        columns.origin_kind,
        columns.origin_uri,
        columns.origin_thread,
        columns.origin_position,
        strict=True,
    )
    return [
        Origin(kind, uri, thread, None if position < 0 else position)
        if position >= 0 or kind or uri or thread
        else _NOWHERE
        for kind, uri, thread, position in rows
    ]


def _known(value: float) -> float | None:
    """The value; NaN, which equals nothing, is none."""
    return value if value == value else None  # noqa: PLR0124 (the test for NaN)


def _time(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def _given(message: pb.RowDetails | entry_pb2.Entry, name: str) -> datetime | None:
    return moment(getattr(message, name)) if message.HasField(name) else None  # type: ignore[arg-type]


def moment(stamp: Timestamp) -> datetime:
    """A timestamp to the microsecond."""
    return _EPOCH + timedelta(seconds=stamp.seconds, microseconds=stamp.nanos // 1000)


def entry(message: entry_pb2.Entry) -> Entry:
    """An entry from its own message."""
    origin = message.origin
    return Entry(
        id=message.id,
        layer=LAYERS[message.layer],
        owner=f"{AXIS_NAMES[message.owner.axis]}:{message.owner.id}",
        text=message.text,
        create_time=moment(message.create_time),
        update_time=moment(message.update_time),
        category=message.category,
        title=message.title,
        importance=message.importance if message.HasField("importance") else None,
        confidence=message.confidence if message.HasField("confidence") else None,
        access_count=message.access_count,
        reinforcement_count=message.reinforcement_count,
        last_access_time=_given(message, "last_access_time"),
        valid_from=_given(message, "valid_from_time"),
        valid_until=_given(message, "valid_until_time"),
        superseded_by=message.superseded_by,
        supersede_time=_given(message, "supersede_time"),
        topics=tuple(message.topics),
        outcome=message.outcome,
        steps=tuple(message.steps),
        tags=tuple(message.tags),
        origin=Origin(
            origin.kind,
            origin.uri,
            origin.thread,
            origin.position if origin.HasField("position") else None,
        ),
        content_hash=message.content_hash,
        etag=message.etag,
    )
