"""Bad input: every bad field of a request is named at once."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import grpc
import pytest
import pytest_asyncio
from google.api import field_behavior_pb2
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp
from support.retrieval.calls import METHODS, REQUESTS, SERVICE_ONLY, fault, message, owner
from support.retrieval.record import entry
from support.retrieval.service import Served, serve

from hilvan.common.v1 import entry_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb

Code = grpc.StatusCode


@pytest_asyncio.fixture
async def served() -> AsyncIterator[Served]:
    """Serves a record with two memories of Ana's."""
    async with serve() as running:
        await running.parts.store(entry("m1"), entry("m2", "another thing"))
        yield running


def required_fields(method: str) -> set[str]:
    """Tell the REQUIRED fields of a method's request, as its descriptor has them."""
    behavior = field_behavior_pb2.field_behavior
    return {
        field.name
        for field in METHODS[method].input_type.fields
        if field_behavior_pb2.REQUIRED in field.GetOptions().Extensions[behavior]
    }


@pytest.mark.parametrize("method", sorted(each for each in METHODS if required_fields(each)))
async def test_every_required_field_is_missed(served: Served, method: str) -> None:
    """An empty request is refused with the names of all its REQUIRED fields."""
    key = served.key("service") if method in SERVICE_ONLY else served.key("ana")
    found = await fault(served, method, type(REQUESTS[method]())(), key)
    assert found.code is Code.INVALID_ARGUMENT
    # An update needs no more of its entry than the id.
    assert {each.partition(".")[0] for each in found.fields} == required_fields(method)


LONG = "x" * 40_000
BAD_ENTRY: dict[str, Any] = {
    "layer": 99,
    "owner": entry_pb2.Owner(axis=entry_pb2.AXIS_SPACE, id="no spaces"),
    "category": "c" * 65,
    "title": "t" * 257,
    "importance": 1.5,
    "confidence": float("nan"),
    "access_count": -1,
    "reinforcement_count": 2**60,
    "superseded_by": "s" * 129,
    "topics": ["t"] * 33,
    "outcome": "o" * 4097,
    "steps": ["", "s" * 4097],
    "tags": ["\x00"],
    "origin": entry_pb2.Origin(kind="k" * 65, uri="u" * 1025, thread="t" * 257, position=-1),
    "create_time": Timestamp(seconds=10**12),
    "valid_from_time": Timestamp(seconds=10),
    "valid_until_time": Timestamp(seconds=10),
}
BAD_ENTRY_FIELDS = {
    "entry.id",
    "entry.layer",
    "entry.owner.id",
    "entry.owner.axis",
    "entry.category",
    "entry.title",
    "entry.text",
    "entry.importance",
    "entry.confidence",
    "entry.access_count",
    "entry.reinforcement_count",
    "entry.superseded_by",
    "entry.topics",
    "entry.outcome",
    "entry.steps[1]",
    "entry.tags[0]",
    "entry.origin.kind",
    "entry.origin.uri",
    "entry.origin.thread",
    "entry.origin.position",
    "entry.create_time",
    "entry.valid_until_time",
    "request_id",
}


@pytest.mark.parametrize(
    "make", [pb.UpsertEntryRequest, pb.RememberRequest], ids=["UpsertEntry", "Remember"]
)
async def test_every_bad_field_of_an_entry_is_named_at_once(served: Served, make: Any) -> None:
    """All bounds of an entry, in one answer."""
    request = make(entry=message("not an id", LONG, **BAD_ENTRY), request_id="not a uuid")
    method = make.DESCRIPTOR.name.removesuffix("Request")
    found = await fault(served, method, request)
    assert (found.code, set(found.fields)) == (Code.INVALID_ARGUMENT, BAD_ENTRY_FIELDS)


BAD_OWNERS = [owner(""), owner("no spaces")]
BAD_REQUESTS: Mapping[str, tuple[Any, set[str]]] = {
    "RetrieveCandidates": (
        pb.RetrieveCandidatesRequest(
            query="q" * 8193,
            layers=[entry_pb2.LAYER_MEMORY, entry_pb2.LAYER_MEMORY],
            owners=BAD_OWNERS,
            candidate_limit=0,
            as_of_time=Timestamp(nanos=-1),
            categories=["c" * 65],
            tags=["t"] * 33,
            sources=[7],  # type: ignore[list-item]  # no source
            pair_similarity_floor=0.4,
        ),
        {
            "query",
            "layers",
            "owners[0].id",
            "owners[1].id",
            "candidate_limit",
            "as_of_time",
            "categories[0]",
            "tags",
            "sources[0]",
            "pair_similarity_floor",
        },
    ),
    "SearchEntries": (
        pb.SearchEntriesRequest(
            query="\x00",
            source=entry_pb2.SOURCE_KEYWORD,
            layers=[9],  # type: ignore[list-item]  # no layer
            owners=BAD_OWNERS,
            limit=101,
            min_similarity=0.5,
        ),
        {"query", "layers[0]", "owners[0].id", "owners[1].id", "limit", "min_similarity"},
    ),
    "BatchGetEntries": (pb.BatchGetEntriesRequest(ids=["x"] * 1001), {"ids"}),
    "ListEntries": (
        pb.ListEntriesRequest(page_size=1001, categories=["c" * 65], owners=[owner("a")] * 101),
        {"page_size", "categories[0]", "owners"},
    ),
    "UpdateEntry": (
        pb.UpdateEntryRequest(
            entry=entry_pb2.Entry(id="m1", importance=2),
            update_mask=FieldMask(paths=["text", "id", "importance"]),
            request_id="x",
        ),
        {"update_mask.paths[1]", "entry.text", "entry.importance", "request_id"},
    ),
    "DeleteEntry": (pb.DeleteEntryRequest(id="x" * 129, request_id="x"), {"id", "request_id"}),
    "SupersedeEntry": (
        pb.SupersedeEntryRequest(id="x" * 129, superseded_by="y" * 129),
        {"id", "superseded_by"},
    ),
    "RecordAccesses": (pb.RecordAccessesRequest(ids=["x" * 129, "\x00"]), {"ids", "ids[1]"}),
    "ExportEntries": (pb.ExportEntriesRequest(owners=BAD_OWNERS), {"owners[0].id", "owners[1].id"}),
    "PutUserMutes": (
        pb.PutUserMutesRequest(user="\x00", mutes=[pb.EntryMute(entry_id="m1")] * 1001),
        {"user", "mutes"},
    ),
    "PutSpacePolicy": (
        pb.PutSpacePolicyRequest(policy=pb.SpacePolicy(mutes=[pb.CategoryMute()])),
        {"policy.space_id", "policy.mutes[0].owner", "policy.mutes[0].category"},
    ),
}


@pytest.mark.parametrize("method", sorted(BAD_REQUESTS))
async def test_every_bad_field_of_a_request_is_named_at_once(served: Served, method: str) -> None:
    """All bounds of a request, in one answer."""
    request, fields = BAD_REQUESTS[method]
    key = served.key("service") if method in SERVICE_ONLY else served.key("ana")
    found = await fault(served, method, request, key)
    assert (found.code, set(found.fields)) == (Code.INVALID_ARGUMENT, fields)


async def test_a_page_token_of_another_request_is_refused(served: Served) -> None:
    """And one that nobody made."""
    first = await served.stub.ListEntries(
        pb.ListEntriesRequest(page_size=1), metadata=served.key("ana")
    )
    for request in (
        pb.ListEntriesRequest(page_size=2, page_token=first.next_page_token),
        pb.ListEntriesRequest(page_size=1, page_token="made up"),
    ):
        found = await fault(served, "ListEntries", request)
        assert (found.code, set(found.fields)) == (Code.INVALID_ARGUMENT, {"page_token"})


async def test_an_update_that_empties_the_interval_names_the_field(served: Served) -> None:
    """Against what is stored, not only inside the request."""
    for name, seconds, fails in (("valid_from_time", 20, False), ("valid_until_time", 10, True)):
        given = entry_pb2.Entry(id="m1")
        getattr(given, name).FromSeconds(seconds)
        request = pb.UpdateEntryRequest(entry=given, update_mask=FieldMask(paths=[name]))
        if fails:
            found = await fault(served, "UpdateEntry", request)
            assert set(found.fields) == {"entry.valid_until_time"}
        else:
            await served.stub.UpdateEntry(request, metadata=served.key("ana"))
