"""Bounds of requests. Every fault of a request is found before any is told."""

import re
import uuid
from datetime import datetime

import numpy as np
from google.protobuf.message import Message

from hilvan.common.v1 import entry_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_kit.validation import Faults, refuse, scan
from hilvan_retrieval.core.filter import ALL_SOURCES, CandidateRequest
from hilvan_retrieval.model.embedding import EmbeddingModel, Vector
from hilvan_retrieval.model.entry import Layer, Owner
from hilvan_retrieval.rpc import codec
from hilvan_retrieval.rpc.numbers import LAYERS, SOURCES

QUERY_MOST = 8_192
TEXT_MOST = 32_768
SHORT_MOST = 4_096
LIST_MOST = 32
STEPS_MOST = 128
OWNERS_MOST = 100
IDS_MOST = 1_000
CANDIDATES_MOST = 100
CONFLICTS_MOST = 100
EVIDENCE_MOST = 512
PAGE_MOST = 1_000
BATCH_MOST = 500

UPDATABLE = frozenset(
    (
        "category",
        "title",
        "text",
        "importance",
        "confidence",
        "valid_from_time",
        "valid_until_time",
        "topics",
        "outcome",
        "steps",
        "tags",
    )
)
_ENTRY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}")
_OWNER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")


def checked(message: Message) -> None:
    """Refuse what follows from the descriptor alone: absent, NUL, NaN, unknown enum."""
    faults = Faults()
    scan(message, faults)
    refuse(faults)


def entry_faults(message: entry_pb2.Entry, faults: Faults, path: str = "entry") -> None:
    """Bounds of an entry's values; what `scan` finds is not repeated."""
    if message.id:
        faults.check(
            bool(_ENTRY_ID.fullmatch(message.id)),
            f"{path}.id",
            "must be 1 to 128 of A-Z a-z 0-9 . _ : @ / -, starting with a letter or digit",
        )
    if message.HasField("owner"):
        owner_faults(message.owner, faults, f"{path}.owner")
        only_notes = message.layer == entry_pb2.LAYER_NOTE
        space = message.owner.axis == entry_pb2.AXIS_SPACE
        faults.check(only_notes or not space, f"{path}.owner.axis", "only notes belong to a space")
    faults.length(message.text, f"{path}.text", TEXT_MOST)
    faults.check(
        not message.text or bool(message.text.strip()), f"{path}.text", "must not be blank"
    )
    faults.length(message.category, f"{path}.category", 64)
    faults.length(message.title, f"{path}.title", 256)
    faults.length(message.outcome, f"{path}.outcome", SHORT_MOST)
    for name, count, size in (
        ("topics", LIST_MOST, 128),
        ("tags", LIST_MOST, 64),
        ("steps", STEPS_MOST, SHORT_MOST),
    ):
        texts_faults(list(getattr(message, name)), faults, f"{path}.{name}", count, size)
    for name in ("importance", "confidence"):
        if message.HasField(name):  # type: ignore[arg-type]  # both have presence
            faults.between(getattr(message, name), f"{path}.{name}", 0, 1)
    for name in ("access_count", "reinforcement_count"):
        faults.between(getattr(message, name), f"{path}.{name}", 0, 2**53)
    faults.length(message.superseded_by, f"{path}.superseded_by", 128)
    _origin_faults(message.origin, faults, f"{path}.origin")
    _interval_faults(message, faults, path)


def owner_faults(message: entry_pb2.Owner, faults: Faults, path: str) -> None:
    """Bounds of an owner."""
    if message.id:
        faults.check(
            bool(_OWNER_ID.fullmatch(message.id)),
            f"{path}.id",
            "must be 1 to 128 of A-Z a-z 0-9 . _ @ -, starting with a letter or digit",
        )


def texts_faults(values: list[str], faults: Faults, path: str, count: int, size: int) -> None:
    """Bounds of a list of texts."""
    faults.check(len(values) <= count, path, f"must have at most {count} values")
    for index, value in enumerate(values[:count]):
        faults.length(value, f"{path}[{index}]", size)


def request_id_faults(value: str, faults: Faults) -> None:
    """A request id is a UUID."""
    if value:
        try:
            uuid.UUID(value)
        except ValueError:
            faults.add("request_id", "must be a UUID")


def upsert(request: pb.UpsertEntryRequest | pb.RememberRequest) -> None:
    """Refuse a bad request to store."""
    faults = Faults()
    scan(request, faults)
    entry_faults(request.entry, faults)
    request_id_faults(request.request_id, faults)
    refuse(faults)


def update(request: pb.UpdateEntryRequest) -> None:
    """Refuse a bad request to change; only named fields must be good."""
    faults = Faults()
    entry_id = request.entry.id
    faults.check(bool(_ENTRY_ID.fullmatch(entry_id)), "entry.id", "is required")
    paths = list(request.update_mask.paths)
    faults.check(bool(paths), "update_mask", "is required")
    for index, path in enumerate(paths):
        faults.check(path in UPDATABLE, f"update_mask.paths[{index}]", "can't be changed")
    scan(request.entry, faults, "entry.", required=False)
    if "text" in paths:
        faults.check(bool(request.entry.text), "entry.text", "is required")
    entry_faults(request.entry, faults)
    request_id_faults(request.request_id, faults)
    refuse(faults)


def ids(message: Message, names: tuple[str, ...], request_id: str = "") -> None:
    """Refuse a request whose ids are bad."""
    faults = Faults()
    scan(message, faults)
    for name in names:
        value = getattr(message, name)
        many = [value] if isinstance(value, str) else list(value)
        faults.check(len(many) <= IDS_MOST, name, f"must have at most {IDS_MOST} values")
        for each in many[:IDS_MOST]:
            faults.length(each, name, 128)
    request_id_faults(request_id, faults)
    refuse(faults)


def mutes(request: pb.PutUserMutesRequest) -> None:
    """Refuse a bad list of muted entries."""
    faults = Faults()
    scan(request, faults)
    faults.check(len(request.mutes) <= IDS_MOST, "mutes", f"must have at most {IDS_MOST} values")
    refuse(faults)


def conflicts(request: pb.RecordConflictsRequest) -> None:
    """Refuse a bad list of conflicts."""
    faults = Faults()
    scan(request, faults)
    faults.check(
        len(request.conflicts) <= CONFLICTS_MOST,
        "conflicts",
        f"must have at most {CONFLICTS_MOST} values",
    )
    for index, each in enumerate(request.conflicts[:CONFLICTS_MOST]):
        path = f"conflicts[{index}]"
        for name in ("older_id", "newer_id"):
            faults.length(getattr(each, name), f"{path}.{name}", 128)
        faults.length(each.evidence, f"{path}.evidence", EVIDENCE_MOST)
        differ = each.older_id != each.newer_id or not each.older_id
        faults.check(differ, f"{path}.newer_id", "must not be the older one")
    refuse(faults)


def undo(request: pb.UndoConsolidationRequest) -> None:
    """Refuse bad numbers of steps."""
    faults = Faults()
    scan(request, faults)
    faults.length(request.run_id, "run_id", 36)
    faults.check(
        len(request.numbers) <= IDS_MOST, "numbers", f"must have at most {IDS_MOST} values"
    )
    for index, number in enumerate(request.numbers[:IDS_MOST]):
        faults.between(number, f"numbers[{index}]", 1, 2**31 - 1)
    refuse(faults)


def runs(request: pb.ListConsolidationsRequest) -> int:
    """The page size, or every fault of the request."""
    faults = Faults()
    scan(request, faults)
    faults.between(request.page_size, "page_size", 0, PAGE_MOST)
    refuse(faults)
    return request.page_size or 50


def candidates(request: pb.RetrieveCandidatesRequest, now: datetime) -> CandidateRequest:
    """The request in the model's words, or every fault of it."""
    faults = Faults()
    scan(request, faults)
    _query_faults(request.query, faults)
    faults.check(len(set(request.layers)) == len(request.layers), "layers", "must not repeat")
    limit = request.candidate_limit if request.HasField("candidate_limit") else CANDIDATES_MOST
    faults.between(limit, "candidate_limit", 1, CANDIDATES_MOST)
    if request.HasField("pair_similarity_floor"):
        faults.between(request.pair_similarity_floor, "pair_similarity_floor", 0.5, 1)
    texts_faults(list(request.categories), faults, "categories", LIST_MOST, 64)
    texts_faults(list(request.tags), faults, "tags", LIST_MOST, 64)
    _owners_faults(list(request.owners), faults)
    refuse(faults)
    floor = request.pair_similarity_floor if request.HasField("pair_similarity_floor") else None
    as_of = codec.moment(request.as_of_time) if request.HasField("as_of_time") else now
    return CandidateRequest(
        query=request.query,
        layers=tuple(LAYERS[each] for each in request.layers),
        owners=_owners(list(request.owners)),
        limit=limit,
        as_of=as_of,
        include_muted=request.include_muted,
        categories=frozenset(request.categories),
        tags=frozenset(request.tags),
        sources=tuple(SOURCES[each] for each in request.sources) or ALL_SOURCES,
        pair_similarity_floor=floor,
        require_all_sources=request.require_all_sources,
    )


def search(request: pb.SearchEntriesRequest, now: datetime) -> CandidateRequest:
    """A search of one index in the model's words, or every fault of it."""
    faults = Faults()
    scan(request, faults)
    _query_faults(request.query, faults)
    limit = request.limit if request.HasField("limit") else 20
    faults.between(limit, "limit", 1, CANDIDATES_MOST)
    _owners_faults(list(request.owners), faults)
    if request.HasField("min_similarity"):
        faults.between(request.min_similarity, "min_similarity", 0, 1)
        words = request.source == entry_pb2.SOURCE_KEYWORD
        faults.check(not words, "min_similarity", "is for SOURCE_VECTOR only")
    refuse(faults)
    layers = tuple(LAYERS[each] for each in dict.fromkeys(request.layers))
    return CandidateRequest(
        query=request.query,
        layers=layers or tuple(Layer),
        owners=_owners(list(request.owners)),
        limit=limit,
        as_of=now,
        include_muted=True,
        sources=(SOURCES[request.source],),
    )


def page(request: pb.ListEntriesRequest) -> int:
    """The page size, or every fault of the request."""
    faults = Faults()
    scan(request, faults)
    faults.between(request.page_size, "page_size", 0, PAGE_MOST)
    texts_faults(list(request.categories), faults, "categories", LIST_MOST, 64)
    _owners_faults(list(request.owners), faults)
    refuse(faults)
    return request.page_size or 50


def export(request: pb.ExportEntriesRequest) -> None:
    """Refuse bad owners."""
    faults = Faults()
    scan(request, faults)
    _owners_faults(list(request.owners), faults)
    refuse(faults)


def owners(request: pb.ListEntriesRequest | pb.ExportEntriesRequest) -> frozenset[Owner] | None:
    """The owners asked for; None: all that the caller can reach."""
    return _owners(list(request.owners))


def embedding(record: pb.ImportRecord, model: EmbeddingModel, faults: Faults) -> Vector | None:
    """A record's own vector, normalised; None when it has none or it is bad."""
    if not record.embedding:
        return None
    if record.embedding_model != model.id:
        faults.add("embedding_model", f"must be {model.id}, the store's own")
        return None
    if len(record.embedding) != 4 * model.dimensions:
        faults.add("embedding", f"must have {4 * model.dimensions} bytes")
        return None
    vector = np.frombuffer(record.embedding, dtype="<f4").astype(np.float32)
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0:
        faults.add("embedding", "must be finite and not all zero")
        return None
    return np.asarray(vector / np.float32(length), dtype=np.float32)


def _query_faults(query: str, faults: Faults) -> None:
    faults.length(query, "query", QUERY_MOST)


def _owners_faults(messages: list[entry_pb2.Owner], faults: Faults) -> None:
    faults.check(len(messages) <= OWNERS_MOST, "owners", f"must have at most {OWNERS_MOST} values")
    for index, message in enumerate(messages[:OWNERS_MOST]):
        owner_faults(message, faults, f"owners[{index}]")


def _owners(messages: list[entry_pb2.Owner]) -> frozenset[Owner] | None:
    return frozenset(codec.owner(each) for each in messages) if messages else None


def _origin_faults(origin: entry_pb2.Origin, faults: Faults, path: str) -> None:
    for name, most in (("kind", 64), ("uri", 1024), ("thread", 256)):
        faults.length(getattr(origin, name), f"{path}.{name}", most)
    faults.check(origin.position >= 0, f"{path}.position", "must be 0 or more")


def _interval_faults(message: entry_pb2.Entry, faults: Faults, path: str) -> None:
    if message.HasField("valid_from_time") and message.HasField("valid_until_time"):
        begin, end = message.valid_from_time, message.valid_until_time
        rising = (begin.seconds, begin.nanos) < (end.seconds, end.nanos)
        faults.check(rising, f"{path}.valid_until_time", "must be after valid_from_time")
