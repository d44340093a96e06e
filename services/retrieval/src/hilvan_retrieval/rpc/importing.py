"""One batch of an import: its good records, and what is wrong with the others."""

from dataclasses import dataclass
from datetime import datetime

from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_kit.validation import Faults, refuse, scan
from hilvan_retrieval.core.entry import ImportFaults
from hilvan_retrieval.model.embedding import EmbeddingModel, Vector
from hilvan_retrieval.model.entry import Entry
from hilvan_retrieval.rpc import codec, validation

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as read, all of it by index."""

    entries: dict[int, Entry]
    vectors: dict[int, Vector]
    faults: dict[int, Pairs]


def read_batch(request: pb.ImportEntriesRequest, model: EmbeddingModel, now: datetime) -> Batch:
    """Read a batch. A bad record is a fault of its own; a bad batch is refused whole."""
    whole = Faults()
    most = validation.BATCH_MOST
    whole.check(request.batch > 0, "batch", "must be 1 or more")
    whole.check(0 < len(request.records) <= most, "records", f"must be 1 to {most}")
    refuse(whole)
    batch = Batch({}, {}, {})
    for index, record in enumerate(request.records):
        faults = Faults()
        scan(record, faults)
        faults.check(bool(record.entry.id), "entry.id", "is required in an import")
        validation.entry_faults(record.entry, faults)
        vector = validation.embedding(record, model, faults)
        if faults.pairs:
            batch.faults[index] = faults.pairs
            continue
        batch.entries[index] = codec.entry(record.entry, record.entry.id, now)
        if vector is not None:
            batch.vectors[index] = vector
    return batch


def acknowledgement(
    request: pb.ImportEntriesRequest, batch: Batch, refused: ImportFaults, stored: int
) -> pb.ImportEntriesResponse:
    """Say what became of each record."""
    faults = dict(batch.faults)
    for index, violations in refused.items():
        faults[index] = [(each.field, each.description) for each in violations]
    return pb.ImportEntriesResponse(
        batch=request.batch,
        stored_count=stored,
        unchanged_count=len(request.records) - len(faults) - stored,
        faults=[
            pb.RecordFault(
                index=index,
                id=request.records[index].entry.id,
                field=field,
                description=description,
            )
            for index, pairs in sorted(faults.items())
            for field, description in pairs
        ],
    )
