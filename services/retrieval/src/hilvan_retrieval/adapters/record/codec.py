"""Between the model and rows."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import orjson

from hilvan_retrieval.adapters.record.tables import entries
from hilvan_retrieval.model.embedding import Vector
from hilvan_retrieval.model.entry import Answer, Entry, Layer, Origin, Owner, entry_uid
from hilvan_retrieval.model.policy import CategoryMute, EntryMute, SpacePolicy

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

# Looked up once a row: calling an enum costs ten times as much.
_LAYERS = {layer.value: layer for layer in Layer}
_owner = lru_cache(maxsize=4096)(Owner.parse)

ENTRY_COLUMNS = tuple(column for column in entries.c if column.name not in ("uid", "tenant"))
_TEXT = ENTRY_COLUMNS.index(entries.c.text)
_DETAILS = ENTRY_COLUMNS.index(entries.c.details)

REMEMBERED_ROWS = 4096
REMEMBERED_CHARACTERS = 2048


def micros(time: datetime | None) -> int | None:
    """Microseconds since 1970."""
    return None if time is None else (time - _EPOCH) // _MICROSECOND


def moment(value: int | None) -> datetime | None:
    """The inverse of `micros`."""
    return None if value is None else _EPOCH + timedelta(microseconds=value)


def entry_row(entry: Entry) -> dict[str, Any]:
    """The columns of an entry, without its keys across tenants."""
    origin = entry.origin
    details = (
        entry.topics,
        entry.outcome,
        entry.steps,
        entry.tags,
        (origin.kind, origin.uri, origin.thread, origin.position),
    )
    return {
        "id": entry.id,
        "layer": entry.layer.value,
        "owner": entry.owner.key,
        "category": entry.category,
        "title": entry.title,
        "text": entry.text,
        "importance": entry.importance,
        "confidence": entry.confidence,
        "access_count": entry.access_count,
        "reinforcement_count": entry.reinforcement_count,
        "create_us": micros(entry.create_time),
        "update_us": micros(entry.update_time),
        "last_access_us": micros(entry.last_access_time),
        "valid_from_us": micros(entry.valid_from),
        "valid_until_us": micros(entry.valid_until),
        "superseded_by": entry.superseded_by,
        "supersede_us": micros(entry.supersede_time),
        "details": orjson.dumps(details).decode(),
        "decay_us": micros(entry.decay_time),
        "version": entry.version,
    }


def stored_row(tenant: str, entry: Entry) -> dict[str, Any]:
    """All columns of an entry."""
    return {"uid": entry_uid(tenant, entry.id), "tenant": tenant, **entry_row(entry)}


def row_entry(row: tuple[Any, ...]) -> Entry:
    """Read a row of `ENTRY_COLUMNS`, in their order.

    A user's calls read the same rows again and again, so short ones are remembered: an equal row
    is an equal entry, whatever was written in between. With its bounds the memory is some 20 MB.
    """
    is_short = len(row[_TEXT]) + len(row[_DETAILS]) <= REMEMBERED_CHARACTERS
    return _remembered_entry(row) if is_short else _read_entry(row)


def _read_entry(row: tuple[Any, ...]) -> Entry:
    (
        entry_id, layer, owner, category, title, text, importance, confidence, access_count,
        reinforcement_count, create_us, update_us, last_access_us, valid_from_us, valid_until_us,
        superseded_by, supersede_us, details_text, decay_us, version,
    ) = row  # fmt: skip
    topics, outcome, steps, tags, origin = orjson.loads(details_text)
    return Entry(
        id=entry_id,
        layer=_LAYERS[layer],
        owner=_owner(owner),
        category=category,
        title=title,
        text=text,
        importance=importance,
        confidence=confidence,
        access_count=access_count,
        reinforcement_count=reinforcement_count,
        create_time=_EPOCH + timedelta(microseconds=create_us),
        update_time=_EPOCH + timedelta(microseconds=update_us),
        last_access_time=moment(last_access_us),
        valid_from=moment(valid_from_us),
        valid_until=moment(valid_until_us),
        superseded_by=superseded_by,
        supersede_time=moment(supersede_us),
        topics=tuple(topics),
        outcome=outcome,
        steps=tuple(steps),
        tags=tuple(tags),
        origin=Origin(*origin),
        decay_time=moment(decay_us),
        version=version,
    )


_remembered_entry = lru_cache(maxsize=REMEMBERED_ROWS)(_read_entry)


def text_hash(entry: Entry) -> str:
    """What a vector is made of, as 64 hexadecimal digits."""
    return hashlib.sha256(entry.searchable_text.encode()).hexdigest()


def vector_blob(vector: Vector) -> bytes:
    """Half precision: half the bytes, and a cosine's error stays near 1e-4."""
    return vector.astype("<f2").tobytes()


def blob_vector(blob: bytes) -> Vector:
    """The inverse of `vector_blob`, in float32."""
    return np.frombuffer(blob, dtype="<f2").astype(np.float32)


def blob_vectors(blobs: Sequence[bytes | None]) -> list[Vector | None]:
    """`blob_vector` of many, None for None: one conversion for all of them."""
    present = [blob for blob in blobs if blob is not None]
    if not present:
        return [None] * len(blobs)
    matrix = np.frombuffer(b"".join(present), dtype="<f2").astype(np.float32)
    rows = iter(matrix.reshape(len(present), -1))
    return [None if blob is None else next(rows) for blob in blobs]


def answer_text(answer: Answer) -> str:
    """An answer as JSON."""
    row = entry_row(answer.entry) if answer.entry else None
    return orjson.dumps([answer.outcome, row, answer.similarity]).decode()


def text_answer(text: str) -> Answer:
    """The inverse of `answer_text`."""
    outcome, row, similarity = orjson.loads(text)
    entry = None if row is None else row_entry(tuple(row[c.name] for c in ENTRY_COLUMNS))
    return Answer(outcome, entry, similarity)


def policy_text(policy: SpacePolicy) -> str:
    """A space's policy as JSON."""
    mutes = [[mute.owner.key, mute.category, micros(mute.until)] for mute in policy.mutes]
    sets = (policy.readers, policy.writers, policy.project_ids)
    return orjson.dumps([policy.space_id, *(sorted(each) for each in sets), mutes]).decode()


def text_policy(text: str) -> SpacePolicy:
    """The inverse of `policy_text`."""
    space_id, readers, writers, projects, mutes = orjson.loads(text)
    return SpacePolicy(
        space_id,
        frozenset(readers),
        frozenset(writers),
        frozenset(projects),
        tuple(CategoryMute(Owner.parse(owner), name, moment(us)) for owner, name, us in mutes),
    )


def mutes_text(mutes: Mapping[str, EntryMute]) -> str:
    """A user's muted entries as JSON."""
    return orjson.dumps([[m.entry_id, micros(m.until)] for m in mutes.values()]).decode()


def text_mutes(text: str) -> tuple[EntryMute, ...]:
    """The inverse of `mutes_text`."""
    return tuple(EntryMute(entry_id, moment(us)) for entry_id, us in orjson.loads(text))
