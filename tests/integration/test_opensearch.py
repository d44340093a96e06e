"""The keyword index in a real OpenSearch: its form, its faults, and the oracle."""

import asyncio
import tempfile
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.engines.fault_proxy import FaultProxy, Mode
from support.engines.leash import leashed
from support.engines.notes import OPENSEARCH, EngineMissing
from support.engines.opensearch_index import connected, fresh_index
from support.engines.opensearch_process import await_healthy, spawn
from support.retrieval.index_documents import allowed, document, only
from support.retrieval.keyword_corpus import corpus, questions

from hilvan_retrieval.adapters.keyword.memory import MemoryKeywordIndex
from hilvan_retrieval.adapters.keyword.opensearch import OpenSearchIndex, codec
from hilvan_retrieval.errors import EngineMisconfigured, SourceTimeout, SourceUnavailable
from hilvan_retrieval.model.entry import Uid
from hilvan_retrieval.model.index import KeywordQuery

POTTERY = [KeywordQuery(only(), "pottery", 10)]


@pytest.fixture
async def index(opensearch_url: str) -> AsyncIterator[OpenSearchIndex]:
    """Give an index that `ensure` has not made yet."""
    async with fresh_index(opensearch_url) as index:
        yield index


async def found(index: OpenSearchIndex) -> list[Uid]:
    """Ask the default owner's question."""
    return [hit.uid for hit in (await index.search(POTTERY))[0]]


async def send(index: OpenSearchIndex, method: str, path: str, body: dict[str, Any]) -> None:
    """Do to the engine what an operator could do."""
    await index._client.call(method, path, seconds=20.0, body=orjson.dumps(body))


# The index and its form


async def test_of_replicas_that_start_at_once_one_makes_the_index(index: OpenSearchIndex) -> None:
    """Five calls of `ensure` at once: one is told to fill it, and all can search."""
    made = await asyncio.gather(*(index.ensure() for _ in range(5)))
    assert sorted(made) == [False] * 4 + [True]
    assert await found(index) == []


@pytest.mark.parametrize(
    "change",
    [
        {"_meta": {"format": "hilvan", "schema": 1, "analysis": 0}},
        {"_meta": {"format": "hilvan", "schema": 0, "analysis": 1}},
        {"_meta": {}},
        {"properties": {"text": {"type": "text"}}},
        {"dynamic": True},
    ],
)
async def test_an_index_in_another_form_is_refused(
    index: OpenSearchIndex, change: dict[str, Any]
) -> None:
    """Another version, another field or an open mapping is told at start, with the fix."""
    await index.ensure()
    await send(index, "PUT", f"/{index._name}/_mapping", change)
    with pytest.raises(EngineMisconfigured, match="hilvan reindex"):
        await index.ensure()


async def test_a_name_that_stands_for_something_else_is_refused(index: OpenSearchIndex) -> None:
    """An index without the alias, an index in its place, or two behind it are told at start."""
    name = index._name
    own, other = f"{name}-000001", f"{name}-000002"
    await send(index, "PUT", f"/{own}", {})
    with pytest.raises(EngineMisconfigured, match="without the alias"):
        await index.ensure()
    await send(index, "PUT", f"/{own}/_alias/{name}", {})
    await send(index, "PUT", f"/{other}", {"aliases": {name: {}}})
    with pytest.raises(EngineMisconfigured, match="stands for several"):
        await index.ensure()
    await index.drop()
    await send(index, "PUT", f"/{name}", {})
    with pytest.raises(EngineMisconfigured, match="an alias of an index is expected"):
        await index.ensure()


async def test_without_an_index_nothing_serves_and_nothing_is_made(index: OpenSearchIndex) -> None:
    """Before `ensure` every call is refused, and a write does not make an index by itself."""
    for call in (
        index.ping(),
        index.search(POTTERY),
        index.upsert([document("m1", "pottery")]),
        index.delete([document("m1").uid]),
        index.revisions("00"),
        index.state(),
    ):
        with pytest.raises(SourceUnavailable):
            await call
    assert await index._manager._find() == {}


async def test_drop_removes_the_index_and_is_repeatable(index: OpenSearchIndex) -> None:
    """After `drop` there is no index, and another `drop` is no error."""
    await index.ensure()
    await index.drop()
    await index.drop()
    with pytest.raises(SourceUnavailable):
        await index.ping()


async def test_state_names_engine_and_version(index: OpenSearchIndex) -> None:
    """The engine is named with its version."""
    await index.ensure()
    name, _, version = (await index.state()).engine.partition(" ")
    assert name == "opensearch"
    assert version.startswith("2.")


async def test_revisions_are_read_page_by_page(index: OpenSearchIndex) -> None:
    """Whatever the size of a page, full or not at the end, no document is left out."""
    stored = [
        replace(document(f"m{n}", "pottery"), uid=Uid(f"ab{n:06x}-0000-5000-8000-000000000000"))
        for n in range(21)
    ]
    await index.ensure()
    await index.upsert(stored)
    for page in (1, 7, 10, 100):
        expected = {one.uid: one.revision for one in stored}
        assert await index.revisions("ab", page=page) == expected


async def test_a_write_of_several_requests_is_visible_as_a_whole(
    index: OpenSearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents that need several bulk requests are all found when `upsert` returns."""
    monkeypatch.setattr(codec, "BATCH_BYTES", 1_000)
    await index.ensure()
    await index.upsert([document(f"m{n}", f"pottery {n}") for n in range(30)])
    assert len((await index.search([KeywordQuery(only(), "pottery", 100)]))[0]) == 30


async def test_a_document_that_can_not_be_kept_is_its_own_fault(index: OpenSearchIndex) -> None:
    """A value that the mapping refuses is a ValueError, which no retry would mend."""
    await index.ensure()
    with pytest.raises(ValueError, match="live_from"):
        await index.upsert([document("m1", "pottery", live_from_ms=2**63)])


async def test_a_blocked_index_takes_no_writes_for_now(index: OpenSearchIndex) -> None:
    """An index that a full disk made read-only is unavailable: a later try may pass."""
    await index.ensure()
    await send(index, "PUT", f"/{index._name}/_settings", {"index.blocks.write": True})
    with pytest.raises(SourceUnavailable):
        await index.upsert([document("m1", "pottery")])


# Scores


@pytest.mark.parametrize(("most_words", "tolerance"), [(20, 1e-4), (300, 0.1)])
async def test_engine_agrees_with_the_oracle(
    index: OpenSearchIndex, most_words: int, tolerance: float
) -> None:
    """On a seeded corpus OpenSearch finds the oracle's hits, with its scores, in its order."""
    oracle = MemoryKeywordIndex()
    documents = corpus(most_words, most_words)
    await index.ensure()
    for start_at in range(0, 600, 150):
        await oracle.upsert(documents[start_at : start_at + 150])
        await index.upsert(documents[start_at : start_at + 150])
    asked = questions(most_words)
    total = 0
    answers = zip(asked, await oracle.search(asked), await index.search(asked), strict=True)
    for query, expected, given in answers:
        scores = {hit.uid: hit.score for hit in expected}
        assert {hit.uid for hit in given} == set(scores)
        assert all(hit.score == pytest.approx(scores[hit.uid], rel=tolerance) for hit in given)
        for one, next_one in pairwise(given):
            assert scores[one.uid] >= scores[next_one.uid] * (1 - 2 * tolerance)
        allowed_uids = {entry.uid for entry in documents if allowed(entry, query.filter)}
        assert allowed_uids.issuperset(scores)
        total += len(given)
    assert total > 600


async def test_another_tenant_does_not_move_scores(index: OpenSearchIndex) -> None:
    """Two thousand documents of another tenant, of the same words and lengths, change no score."""
    texts = ["pottery class", "pottery kiln", "kiln repair"]
    await index.ensure()
    await index.upsert([document(f"m{n}", text) for n, text in enumerate(texts)])
    query = [KeywordQuery(only(), "pottery kiln", 10)]
    before = (await index.search(query))[0]
    await index.upsert([document(f"o{n}", texts[n % 2], tenant="other") for n in range(2_000)])
    after = (await index.search(query))[0]
    assert [hit.uid for hit in after] == [hit.uid for hit in before]
    assert [hit.score for hit in after] == pytest.approx([hit.score for hit in before], rel=1e-5)


async def test_several_shards_answer_as_one(opensearch_url: str) -> None:
    """An index in three parts finds, deletes and lists every document, wherever it is."""
    name = f"hilvan-test-{uuid.uuid4().hex}"
    async with fresh_index(opensearch_url, name):
        index = OpenSearchIndex.connect(opensearch_url, name, shards=3, timeout=20.0)
        try:
            await index.ensure()
            stored = [document(f"m{n}", "pottery " + "class " * (n % 3)) for n in range(60)]
            await index.upsert(stored)
            await index.delete([one.uid for one in stored[:10]])
            assert set(await found(index)) <= {one.uid for one in stored[10:]}
            (all_hits,) = await index.search([KeywordQuery(only(), "pottery", 100)])
            assert {hit.uid for hit in all_hits} == {one.uid for one in stored[10:]}
            assert (await index.state()).document_count == 50
        finally:
            await index.close()


# Faults


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        (Mode.REFUSE, SourceUnavailable),
        (Mode.RESET, SourceUnavailable),
        (Mode.TRUNCATE, SourceUnavailable),
        (Mode.HTTP_429, SourceUnavailable),
        (Mode.HTTP_503, SourceUnavailable),
        (Mode.HANG, SourceTimeout),
    ],
)
async def test_a_fault_is_told_in_time_and_passes(
    index: OpenSearchIndex, opensearch_url: str, mode: Mode, error: type[Exception]
) -> None:
    """Each fault of the way to the engine has its error; when it is over, the next call works."""
    await index.ensure()
    await index.upsert([document("m1", "pottery")])
    async with FaultProxy(opensearch_url.removeprefix("http://")) as proxy:
        hurried = connected(f"http://{proxy.address}", index._name, timeout=0.5)
        patient = connected(f"http://{proxy.address}", index._name)
        try:
            assert await found(patient) == [document("m1").uid]
            proxy.mode = mode
            with pytest.raises(error):
                await hurried.search(POTTERY)
            with pytest.raises(SourceUnavailable):
                await hurried.ping()
            proxy.mode = Mode.PASS
            assert await found(patient) == [document("m1").uid]
        finally:
            await hurried.close()
            await patient.close()


@pytest.mark.timeout(300)
async def test_a_killed_engine_loses_nothing_acknowledged() -> None:
    """After kill -9 the engine has all that was acknowledged, and the same client goes on."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            process = spawn(folder)
        except EngineMissing as missing:
            pytest.skip(f"no process of {OPENSEARCH}: {missing}")
        stored = [document(f"m{n}", "pottery") for n in range(5)]
        with leashed(process, folder):
            url = await asyncio.to_thread(await_healthy, folder, process)
            index = connected(url, "hilvan")
            await index.ensure()
            for one in stored:
                await index.upsert([one])
            process.kill()
            process.wait()
        again = spawn(folder, int(url.rpartition(":")[2]))
        with leashed(again, folder):
            await asyncio.to_thread(await_healthy, folder, again)
            assert await index.ensure() is False
            assert set(await found(index)) == {one.uid for one in stored}
            await index.close()
