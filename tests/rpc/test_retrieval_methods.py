"""What each method answers when all is well."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from google.protobuf.field_mask_pb2 import FieldMask
from support.retrieval.calls import METHODS, REQUESTS, invoke, message, owner, request_id
from support.retrieval.record import AS_ANA, NOW, entry
from support.retrieval.service import Served, serve

from hilvan.common.v1 import entry_pb2, report_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb

OK = report_pb2.PART_STATUS_OK


@pytest_asyncio.fixture
async def served() -> AsyncIterator[Served]:
    """Serves a record with two memories of Ana's."""
    async with serve() as running:
        await running.parts.store(entry("m1"), entry("m2", "another thing", category="stack"))
        yield running


async def one(served: Served, method: str, request: Any = None, **options: Any) -> Any:
    """Make a call, of the method's own request if none is given, and take the only answer."""
    given = REQUESTS[method]() if request is None else request
    (answer,) = await invoke(served, method, given, **options)
    return answer


def test_every_method_has_a_request_here() -> None:
    """A method that is new in the proto must be added to these tests."""
    assert set(REQUESTS) == set(METHODS)


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"UndoConsolidation"}))
async def test_every_method_answers(served: Served, method: str) -> None:
    """A good request of a service that may do everything is answered."""
    answers = await invoke(served, method, REQUESTS[method](), served.key("service"))
    assert answers or method == "Consolidate"  # of a tidy record there is nothing to tell


async def test_candidates_come_with_reports(served: Served) -> None:
    """Scores and ranks of both sources, pairs, reports, stages and the model."""
    request = REQUESTS["RetrieveCandidates"]()
    request.pair_similarity_floor = 0.5
    answer = await one(served, "RetrieveCandidates", request)
    first = next(each for each in answer.candidates if each.entry.id == "m1")
    assert first.entry.owner == owner()
    assert (first.vector_rank, first.keyword_rank) == (1, 1)
    assert 0 < first.cosine <= 1
    assert 0 < first.similarity <= 1
    assert first.bm25 > 0
    second = next(each for each in answer.candidates if each.entry.id == "m2")
    assert not second.HasField("bm25")
    assert not second.HasField("keyword_rank")
    assert [(each.source, each.status) for each in answer.sources] == [
        (entry_pb2.SOURCE_VECTOR, OK),
        (entry_pb2.SOURCE_KEYWORD, OK),
    ]
    assert [each.hit_count for each in answer.lists] == [2, 1]
    assert all(each.exhausted for each in answer.lists)
    assert answer.embedding_model == served.parts.embedder.model.id
    assert {each.stage for each in answer.timings} == {
        "embed",
        "vector",
        "keyword",
        "record",
        "pairs",
    }


async def test_a_search_is_ranked_by_its_source(served: Served) -> None:
    """Best first, as many as asked for; the floor holds for similarity; muted ones say so."""
    found = await one(served, "SearchEntries")
    assert [each.entry.id for each in found.candidates] == ["m1"]
    request = pb.SearchEntriesRequest(query="a statement", source=entry_pb2.SOURCE_VECTOR)
    ranked = (await one(served, "SearchEntries", request)).candidates
    assert [each.entry.id for each in ranked] == ["m1", "m2"]
    assert ranked[0].cosine > ranked[1].cosine
    request.limit = 1
    assert len((await one(served, "SearchEntries", request)).candidates) == 1
    request.min_similarity, request.limit = ranked[0].similarity - 1e-6, 10
    assert len((await one(served, "SearchEntries", request)).candidates) == 1
    mutes = pb.PutUserMutesRequest(user="ana", mutes=[pb.EntryMute(entry_id="m1")])
    await one(served, "PutUserMutes", mutes, metadata=served.key("service"))
    (muted,) = (await one(served, "SearchEntries")).candidates
    assert muted.muted


async def test_a_stored_entry_comes_back_whole(served: Served) -> None:
    """With its etag and content hash; a wait makes it searchable."""
    given = message(
        "p1",
        "how to deploy",
        layer=entry_pb2.LAYER_PROCEDURE,
        category="stack",
        title="Deploy",
        importance=0.25,
        confidence=0,
        access_count=2,
        reinforcement_count=1,
        topics=["ops"],
        outcome="fine",
        steps=["build", "push"],
        tags=["x"],
        origin=entry_pb2.Origin(kind="chat", uri="c/1", thread="t", position=0),
    )
    for name, seconds in (
        ("create_time", 10),
        ("update_time", 20),
        ("last_access_time", 30),
        ("valid_from_time", 5),
        ("valid_until_time", 4_000_000_000),
    ):
        getattr(given, name).FromNanoseconds(seconds * 10**9 + 123_456_000)
    answer = await one(served, "UpsertEntry", pb.UpsertEntryRequest(entry=given, wait=True))
    fetched = (await one(served, "GetEntry", pb.GetEntryRequest(id="p1"))).entry
    assert fetched == answer.entry
    assert (fetched.etag, len(fetched.content_hash)) == ("1", 64)
    fetched.ClearField("etag")
    fetched.ClearField("content_hash")
    assert fetched == given
    search = pb.SearchEntriesRequest(query="deploy", source=entry_pb2.SOURCE_KEYWORD)
    assert [each.entry.id for each in (await one(served, "SearchEntries", search)).candidates] == [
        "p1"
    ]


async def test_what_a_caller_leaves_out_is_filled_in(served: Served) -> None:
    """An id, and the times: now, or the one time that is given for the other."""
    bare = (await one(served, "UpsertEntry", pb.UpsertEntryRequest(entry=message("")))).entry
    assert bare.id
    assert bare.create_time.ToDatetime(NOW.tzinfo) == NOW
    assert bare.update_time == bare.create_time
    for name in ("importance", "confidence", "last_access_time", "origin", "supersede_time"):
        assert not bare.HasField(name)
    given = message("x1")
    given.update_time.FromSeconds(50)
    stored = (await one(served, "UpsertEntry", pb.UpsertEntryRequest(entry=given))).entry
    assert stored.create_time.seconds == 50


async def test_a_repeated_request_is_answered_again(served: Served) -> None:
    """With the same bytes, made-up id and all; of another caller it is another request."""
    request = pb.UpsertEntryRequest(entry=message("", "once"), request_id=request_id())
    first, again = [await one(served, "UpsertEntry", request) for _ in range(2)]
    assert again == first
    request.entry.owner.id = "bob"
    other = await one(served, "UpsertEntry", request, metadata=served.key("bob"))
    assert other.entry.id != first.entry.id


async def test_a_batch_comes_in_the_order_asked_for(served: Served) -> None:
    """And tells what was not found."""
    request = pb.BatchGetEntriesRequest(ids=["m2", "nothing", "m1"])
    answer = await one(served, "BatchGetEntries", request)
    assert [each.id for each in answer.entries] == ["m2", "m1"]
    assert list(answer.missing_ids) == ["nothing"]


async def test_pages_follow_each_other(served: Served) -> None:
    """Until one without a token; filters narrow them."""
    found, token = [], ""
    while True:
        request = pb.ListEntriesRequest(page_size=1, page_token=token)
        answer = await one(served, "ListEntries", request)
        found += [each.id for each in answer.entries]
        token = answer.next_page_token
        if not token:
            break
    assert found == ["m1", "m2"]
    narrow = pb.ListEntriesRequest(
        categories=["stack"], owners=[owner()], layers=[entry_pb2.LAYER_MEMORY]
    )
    assert [each.id for each in (await one(served, "ListEntries", narrow)).entries] == ["m2"]
    narrow.updated_after_time.FromDatetime(NOW)
    assert not (await one(served, "ListEntries", narrow)).entries


async def test_an_update_changes_what_its_mask_names(served: Served) -> None:
    """Every updatable field, and none that the mask doesn't name."""
    given = message("m1", "new text", importance=0.5, tags=["x"], title="not named")
    given.valid_from_time.FromSeconds(100)
    mask = FieldMask(paths=["text", "importance", "tags", "valid_from_time"])
    request = pb.UpdateEntryRequest(entry=given, update_mask=mask, wait=True)
    updated = (await one(served, "UpdateEntry", request)).entry
    assert (updated.text, updated.importance, list(updated.tags)) == ("new text", 0.5, ["x"])
    assert (updated.valid_from_time.seconds, updated.title) == (100, "")
    assert updated.etag == "2"
    assert updated.update_time.ToDatetime(NOW.tzinfo) == NOW


async def test_a_deleted_entry_is_gone(served: Served) -> None:
    """From every answer, when the call returns."""
    await one(served, "DeleteEntry", pb.DeleteEntryRequest(id="m1", etag="1"))
    assert not (await one(served, "RetrieveCandidates")).candidates[1:]
    assert list((await one(served, "BatchGetEntries")).missing_ids) == ["m1"]


async def test_a_superseded_entry_leaves_the_answers(served: Served) -> None:
    """It stays in the record and says what replaced it, and from when."""
    older = (await one(served, "SupersedeEntry")).entry
    newer = (await one(served, "GetEntry", pb.GetEntryRequest(id="m2"))).entry
    assert (older.superseded_by, older.supersede_time) == ("m2", newer.create_time)
    found = await one(served, "RetrieveCandidates")
    assert [each.entry.id for each in found.candidates] == ["m2"]


async def test_remembering_tells_what_became_of_it(served: Served) -> None:
    """Stored the first time, reinforced the second, with the similarity to the nearest."""
    request = pb.RememberRequest(entry=message("", "I live in Madrid"), wait=True)
    first = await one(served, "Remember", request)
    assert first.outcome == pb.REMEMBER_OUTCOME_STORED
    assert 0 < first.similarity < 0.92
    request.entry.text = "i live in madrid!"
    second = await one(served, "Remember", request)
    assert second.outcome == pb.REMEMBER_OUTCOME_REINFORCED
    assert (second.entry.id, second.entry.reinforcement_count) == (first.entry.id, 1)
    assert second.similarity == 1.0


async def test_accesses_are_counted_once_a_request(served: Served) -> None:
    """Unknown ids are ignored; the etag stays."""
    request = pb.RecordAccessesRequest(ids=["m1", "nothing"], request_id=request_id())
    for _ in range(2):
        assert (await one(served, "RecordAccesses", request)).counted_count == 1
    counted = (await one(served, "GetEntry")).entry
    assert (counted.access_count, counted.etag) == (1, "1")
    assert counted.last_access_time.ToDatetime(NOW.tzinfo) == NOW


async def test_an_export_has_everything_once(served: Served) -> None:
    """More than a batch, in batches of at most 500."""
    many = {number: entry(f"x{number:04}") for number in range(600)}
    await served.parts.writer.import_batch(AS_ANA, many, {})
    batches = await invoke(served, "ExportEntries", pb.ExportEntriesRequest(owners=[owner()]))
    assert [len(each.entries) for each in batches] == [500, 102]
    assert len({each.id for batch in batches for each in batch.entries}) == 602


async def test_the_state_of_the_indexes_is_told(served: Served) -> None:
    """Engines, counts, model, and the tenant's entries."""
    state = await one(served, "GetIndexState")
    assert [(each.engine, each.status, each.document_count) for each in state.indexes] == [
        ("memory", OK, 2),
        ("memory", OK, 2),
    ]
    model = served.parts.embedder.model
    assert (state.entry_count, state.embedding_model) == (2, model.id)
    assert state.embedding_dimensions == model.dimensions


async def test_a_policy_opens_and_closes_a_project(served: Served) -> None:
    """Its members see the project's entries, and no more when the policy is gone."""
    key = served.key("service")
    policy = pb.SpacePolicy(space_id="lab", readers=["cal"], project_ids=["p"])
    policy.mutes.add(owner=owner("p", entry_pb2.AXIS_PROJECT), category="noise")
    await one(served, "PutSpacePolicy", pb.PutSpacePolicyRequest(policy=policy), metadata=key)
    for name, category in (("p1", ""), ("p2", "noise")):
        given = message(name, owner=owner("p", entry_pb2.AXIS_PROJECT), category=category)
        upsert = pb.UpsertEntryRequest(entry=given, wait=True)
        await one(served, "UpsertEntry", upsert, metadata=key)

    async def seen() -> list[str]:
        found = await one(served, "RetrieveCandidates", metadata=served.key("cal"))
        return [each.entry.id for each in found.candidates]

    assert await seen() == ["p1"]
    gone = pb.DeleteSpacePolicyRequest(space_id="lab")
    await one(served, "DeleteSpacePolicy", gone, metadata=key)
    assert await seen() == []
