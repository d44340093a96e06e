"""The import stream: acknowledged batch by batch, bad records told and never in the way."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import numpy as np
import pytest
import pytest_asyncio
from support.retrieval.calls import fault, invoke, message, owner
from support.retrieval.record import BOB, entry
from support.retrieval.service import Served, serve

from hilvan.common.v1 import entry_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_retrieval.errors import SourceUnavailable
from hilvan_retrieval.model.entry import entry_uid


@pytest_asyncio.fixture
async def served() -> AsyncIterator[Served]:
    """Serves an empty record."""
    async with serve() as running:
        yield running


def record(entry_id: str = "m1", text: str = "a statement", **values: Any) -> pb.ImportRecord:
    """Make a record of Ana's."""
    return pb.ImportRecord(entry=message(entry_id, text, **values))


def batch(number: int, *records: pb.ImportRecord, wait: bool = False) -> pb.ImportEntriesRequest:
    """Make a batch."""
    return pb.ImportEntriesRequest(batch=number, records=records, wait=wait)


async def send(served: Served, *batches: pb.ImportEntriesRequest) -> list[pb.ImportEntriesResponse]:
    """Import batches and give their acknowledgements."""
    return await invoke(served, "ImportEntries", batches)


def faults(answer: pb.ImportEntriesResponse) -> list[tuple[int, str, str]]:
    """Tell the refused records: index, id and field."""
    return [(each.index, each.id, each.field) for each in answer.faults]


async def test_each_batch_is_acknowledged(served: Served) -> None:
    """In order, with its number and what became of its records."""
    answers = await send(
        served, batch(1, record("m1"), record("m2")), batch(7, record("m2"), record("m3"))
    )
    assert [(each.batch, each.stored_count, each.unchanged_count) for each in answers] == [
        (1, 2, 0),
        (7, 1, 1),
    ]


async def test_a_batch_is_acknowledged_before_the_next_is_sent(served: Served) -> None:
    """A client may wait for each acknowledgement, and what was acknowledged is there."""
    call = served.stub.ImportEntries(metadata=served.key("ana"), timeout=30)
    for number in (1, 2):
        await call.write(batch(number, record(f"m{number}")))
        answer = await call.read()
        assert isinstance(answer, pb.ImportEntriesResponse)
        assert answer.batch == number
        assert await served.parts.record.store.count("acme") == number
    await call.done_writing()
    assert await call.read() == grpc.aio.EOF


async def test_sending_again_changes_nothing(served: Served) -> None:
    """Neither the record nor the indexes' outboxes."""
    whole = batch(1, record("m1", superseded_by="m2"), record("m2"), wait=True)
    await send(served, whole)
    before = await served.parts.record.store.entries("acme", ["m1", "m2"])
    (answer,) = await send(served, whole)
    assert (answer.stored_count, answer.unchanged_count) == (0, 2)
    assert await served.parts.record.store.entries("acme", ["m1", "m2"]) == before
    assert not await served.parts.record.outbox.unsettled(
        [entry_uid("acme", "m1")], served.parts.indexes.live.feeds
    )


async def test_bad_records_are_told_one_by_one(served: Served) -> None:
    """All faults of each, by index and id; the good ones are stored."""
    await served.parts.store(entry("bobs", owner=BOB))
    (answer,) = await send(
        served,
        batch(
            1,
            record("m1"),
            record("", "x" * 40_000),
            record("m2", importance=7, layer=99),
            record("m3", owner=owner("bob")),
            record("bobs"),
            record("m4", superseded_by="m4"),
            record("m5"),
        ),
    )
    assert faults(answer) == [
        (1, "", "entry.id"),
        (1, "", "entry.text"),
        (2, "m2", "entry.layer"),
        (2, "m2", "entry.importance"),
        (3, "m3", "entry.owner"),
        (4, "bobs", "entry.id"),
        (5, "m4", "entry.superseded_by"),
    ]
    assert (answer.stored_count, answer.unchanged_count) == (2, 0)
    assert await served.parts.record.store.count("acme") == 3


async def test_a_batch_of_bad_records_is_acknowledged(served: Served) -> None:
    """Even when it waits for the indexes; the next one goes on."""
    first, second = await send(served, batch(1, record(""), wait=True), batch(2, record("m1")))
    assert (len(first.faults), first.stored_count, second.stored_count) == (1, 0, 1)


async def test_a_bad_batch_ends_the_stream(served: Served) -> None:
    """After the acknowledgements of those before it, naming its fields."""
    for bad, fields in (
        (batch(0), {"batch", "records"}),
        (batch(-1, record()), {"batch"}),
        (batch(2, *[record()] * 501), {"records"}),
    ):
        found = await fault(served, "ImportEntries", [batch(1, record("m1")), bad])
        assert (found.code, set(found.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, fields)
        assert await served.parts.record.store.count("acme") == 1


async def test_a_batch_that_waits_is_searchable(served: Served) -> None:
    """When its acknowledgement comes, both indexes have it."""
    await send(served, batch(1, record("m1"), record("m2"), wait=True))
    for index in (served.parts.vector, served.parts.keyword):
        assert (await index.inner.state()).document_count == 2


async def test_an_embedding_is_used_as_it_is(served: Served) -> None:
    """Normalised, and nothing is embedded here."""
    model = served.parts.embedder.model
    given = record("m1")
    given.embedding_model = model.id
    vector = np.zeros(model.dimensions, "<f4")
    vector[3] = 5
    given.embedding = vector.tobytes()
    await send(served, batch(1, given, wait=True))
    uid = entry_uid("acme", "m1")
    stored = (
        await served.parts.record.store.hydrate("acme", [uid], model=served.parts.embedder.model.id)
    )[uid]
    assert stored.vector is not None
    assert stored.vector.tolist() == [0, 0, 0, 1] + [0] * (model.dimensions - 4)
    assert served.parts.embedder.embedded == []


def bad_embeddings(dimensions: int) -> list[tuple[str, bytes, str]]:
    """Give models and embeddings that can't be taken, and the field that is at fault."""
    whole = 4 * dimensions
    infinite = np.full(dimensions, np.inf, "<f4").tobytes()
    undefined = np.full(dimensions, np.nan, "<f4").tobytes()
    return [
        ("another-model", b"\x01" * whole, "embedding_model"),
        ("", b"\x01" * whole, "embedding_model"),
        ("own", b"\x01" * (whole - 1), "embedding"),
        ("own", b"\x00" * whole, "embedding"),
        ("own", infinite, "embedding"),
        ("own", undefined, "embedding"),
    ]


@pytest.mark.filterwarnings("error")
async def test_a_bad_embedding_refuses_its_record(served: Served) -> None:
    """Of another model, another size, without direction or not finite."""
    model = served.parts.embedder.model
    records, fields = [record("m0")], []
    for number, (name, embedding, field) in enumerate(bad_embeddings(model.dimensions), start=1):
        bad = record(f"m{number}")
        bad.embedding_model = model.id if name == "own" else name
        bad.embedding = embedding
        records.append(bad)
        fields.append((number, f"m{number}", field))
    (answer,) = await send(served, batch(1, *records))
    assert faults(answer) == fields
    assert answer.stored_count == 1


async def test_without_the_model_an_import_is_acknowledged(served: Served) -> None:
    """What can't be embedded yet is recorded, and embedded later."""
    served.parts.embedder.error = SourceUnavailable("down")
    (answer,) = await send(served, batch(1, record("m1")))
    assert answer.stored_count == 1
    served.parts.embedder.error = None
    await served.parts.settle()
    assert (await served.parts.vector.inner.state()).document_count == 1


async def test_a_broken_stream_keeps_what_was_acknowledged(served: Served) -> None:
    """A client that goes away in the middle resumes by sending all again."""
    call = served.stub.ImportEntries(metadata=served.key("ana"), timeout=30)
    await call.write(batch(1, record("m1")))
    await call.read()
    call.cancel()
    await asyncio.gather(call.read(), return_exceptions=True)
    first, second = await send(served, batch(1, record("m1")), batch(2, record("m2")))
    assert (first.unchanged_count, second.stored_count) == (1, 1)


async def test_a_layer_of_an_import_is_kept(served: Served) -> None:
    """Notes of a space may be imported by who writes the space."""
    note = record("n1", layer=entry_pb2.LAYER_NOTE, owner=owner("home", entry_pb2.AXIS_SPACE))
    (answer,) = await send(served, batch(1, note))
    assert answer.stored_count == 1
    found = (await served.parts.record.store.entries("acme", ["n1"]))["n1"]
    assert (found.layer.value, found.owner.key) == ("note", "space:home")
