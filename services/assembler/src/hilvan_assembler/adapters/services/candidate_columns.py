"""Reads candidates from retrieval's columns, and writes an entry of a row as its message again."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from google.protobuf.timestamp_pb2 import Timestamp

from hilvan.common.v1 import entry_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_assembler.model.candidate import Candidate, Origin
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


class Row:
    """One row, as what a candidate hands on to a caller who wants the whole entry."""

    __slots__ = ("_columns", "_details", "_row")

    def __init__(self, columns: pb.CandidateColumns, row: int, details: pb.RowDetails) -> None:
        """Keep where the row is; nothing is read before `message`."""
        self._columns, self._row, self._details = columns, row, details

    def message(self) -> entry_pb2.Entry:
        """The entry as retrieval would have written it."""
        c, row, details = self._columns, self._row, self._details
        importance, confidence = c.importance[row], c.confidence[row]
        never = c.last_access_micros[row] < 0
        return entry_pb2.Entry(
            id=c.id[row],
            layer=c.layer[row],
            owner=c.owners[c.owner_index[row]],
            category=c.category[row],
            title=c.title[row],
            text=c.text[row],
            importance=_known(importance),
            confidence=_known(confidence),
            access_count=c.access_count[row],
            reinforcement_count=c.reinforcement_count[row],
            create_time=_stamp(c.create_micros[row]),
            update_time=_stamp(c.update_micros[row]),
            last_access_time=None if never else _stamp(c.last_access_micros[row]),
            valid_from_time=_given(details, "valid_from_time"),
            valid_until_time=_given(details, "valid_until_time"),
            supersede_time=_given(details, "supersede_time"),
            superseded_by=c.superseded_by[row],
            topics=details.topics,
            outcome=details.outcome,
            steps=details.steps,
            tags=details.tags,
            origin=self._origin(),
            content_hash=c.content_hash[row],
            etag=str(c.version[row]),
        )

    def _origin(self) -> entry_pb2.Origin | None:
        c, row = self._columns, self._row
        position = c.origin_position[row]
        texts = (c.origin_kind[row], c.origin_uri[row], c.origin_thread[row])
        if position < 0 and not any(texts):
            return None
        kind, uri, thread = texts
        return entry_pb2.Origin(
            kind=kind, uri=uri, thread=thread, position=None if position < 0 else position
        )


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
        superseded_by, content_hash, cosine, similarity, vector_rank, bm25, keyword_rank, muted,
    ) in enumerate(rows):  # fmt: skip
        more = details.get(row, _NOTHING)
        extra = more is not _NOTHING
        found.append(
            Candidate(
                id=entry_id,
                layer=LAYERS[layers[row]],
                owner=owners[owner_index[row]],
                text=text,
                create_time=_EPOCH + timedelta(microseconds=created),
                update_time=_EPOCH + timedelta(microseconds=updated),
                category=category,
                title=title,
                importance=_known(importance),
                confidence=_known(confidence),
                access_count=accesses,
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
                wire=Row(columns, row, more),
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


def _stamp(micros: int) -> Timestamp:
    seconds, rest = divmod(micros, 1_000_000)
    return Timestamp(seconds=seconds, nanos=rest * 1000)


def _given(details: pb.RowDetails, name: str) -> Timestamp | None:
    return getattr(details, name) if details.HasField(name) else None  # type: ignore[arg-type]
