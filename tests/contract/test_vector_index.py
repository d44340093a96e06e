"""Each sentence of `VectorIndex`, on every adapter."""

import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.engines.vector import DIMENSIONS, EAST, Reached, double, local_engine, server
from support.retrieval.index_documents import NOW_MS, TENANT, allowed, document, no_owner, only

from hilvan_retrieval.adapters.vector.memory import MemoryVectorIndex
from hilvan_retrieval.errors import SourceUnavailable
from hilvan_retrieval.model.embedding import Vector
from hilvan_retrieval.model.entry import FOREVER_MS, Layer, Uid, entry_uid
from hilvan_retrieval.model.index import Filter, Hit, IndexDocument, VectorQuery
from hilvan_retrieval.ports.index import VectorIndex

ENGINES = ("memory", "edge", "double", "server")

Reach = Callable[[str], Reached]


@pytest.fixture(scope="session")
def reach() -> Iterator[Reach]:
    """Give the way to an engine by its name; each is started once, when it is first asked for."""
    with ExitStack() as stack:
        starts = {"edge": local_engine, "double": double}
        found: dict[str, Reached] = {}

        def reached(engine: str) -> Reached:
            if engine == "server":
                return server()
            if engine not in found:
                found[engine] = stack.enter_context(starts[engine]())
            return found[engine]

        yield reached


@asynccontextmanager
async def made(engine: str, reach: Reach) -> AsyncIterator[VectorIndex]:
    """Give an index of the engine that is not there yet, and leave nothing of it."""
    if engine == "memory":
        yield MemoryVectorIndex(DIMENSIONS)
        return
    collection = f"hilvan-test-{uuid.uuid4().hex}"
    index = reach(engine).index(collection)
    try:
        yield index
    finally:
        await index.close()
        cleaner = reach(engine).index(collection)
        await cleaner.drop()
        await cleaner.close()


@asynccontextmanager
async def opened(engine: str, reach: Reach) -> AsyncIterator[VectorIndex]:
    """Give an empty index of the engine, and leave nothing of it."""
    async with made(engine, reach) as index:
        await index.ensure()
        yield index


@pytest.fixture(params=ENGINES)
async def index(request: pytest.FixtureRequest, reach: Reach) -> AsyncIterator[VectorIndex]:
    """Give an empty index of each engine in turn."""
    async with opened(request.param, reach) as index:
        yield index


def unit(*values: float) -> Vector:
    """Make a unit vector that starts with the values."""
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[: len(values)] = values
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


NORTH = unit(0, 1)


def placed(entry_id: str, vector: Vector = EAST, **fields: object) -> IndexDocument:
    """Make a document with a vector."""
    return replace(document(entry_id, vector=vector), **fields)  # type: ignore[arg-type] # any field


def uid(entry_id: str) -> Uid:
    """Name an entry of the default tenant."""
    return entry_uid(TENANT, entry_id)


async def hits(
    index: VectorIndex, vector: Vector = EAST, by: Filter | None = None, limit: int = 100
) -> list[Hit]:
    """Ask one question of the default owner."""
    return (await index.search([VectorQuery(by or only(), vector, limit)]))[0]


async def found(
    index: VectorIndex, vector: Vector = EAST, by: Filter | None = None, limit: int = 100
) -> list[Uid]:
    """Ask one question of the default owner, for the uids alone."""
    return [hit.uid for hit in await hits(index, vector, by, limit)]


# What an index promises about its contents


@pytest.mark.parametrize("engine", ENGINES)
async def test_an_index_is_made_once(engine: str, reach: Reach) -> None:
    """`ensure` is true when there was no index, and false when it is there with what it holds."""
    async with made(engine, reach) as index:
        assert await index.ensure() is True
        await index.upsert([placed("m1")])
        assert await index.ensure() is False
        assert await found(index) == [uid("m1")]
        await index.drop()


async def test_next_search_sees_an_upsert(index: VectorIndex) -> None:
    """When an upsert has returned, the next search sees the documents."""
    for number in range(5):
        await index.upsert([placed(f"m{number}")])
        assert len(await found(index)) == number + 1


async def test_upsert_replaces_by_uid(index: VectorIndex) -> None:
    """A document of a known uid takes the place of the old one, in vector and filter fields."""
    await index.upsert([placed("m1", EAST, tags=("old",), category="old")])
    await index.upsert([placed("m1", NORTH, tags=("new",))])
    assert await found(index, by=only(tags=["old"])) == []
    assert await found(index, by=only(categories=["old"])) == []
    assert await hits(index, NORTH, only(tags=["new"])) == [Hit(uid("m1"), 1.0)]
    assert (await index.state()).document_count == 1


async def test_repeated_upsert_changes_nothing(index: VectorIndex) -> None:
    """Writing the same documents again leaves count, scores and order as they were."""
    documents = [placed(f"m{n}", unit(1, n / 5)) for n in range(5)]
    await index.upsert(documents)
    before = await hits(index)
    await index.upsert(documents)
    assert await hits(index) == before
    assert (await index.state()).document_count == 5


async def test_last_of_a_repeated_uid_counts(index: VectorIndex) -> None:
    """Of one uid given twice in a call, the last document counts."""
    await index.upsert([placed("m1", EAST), placed("m2", EAST), placed("m1", NORTH)])
    assert await hits(index, NORTH, limit=1) == [Hit(uid("m1"), 1.0)]
    assert (await index.state()).document_count == 2


async def test_many_documents_in_one_call(index: VectorIndex) -> None:
    """A call may hold more documents than one message to the engine does."""
    documents = [placed(f"m{n}") for n in range(700)]
    await index.upsert(documents)
    assert set(await found(index, limit=1000)) == {d.uid for d in documents}
    await index.delete([d.uid for d in documents[1:]])
    assert await found(index) == [documents[0].uid]


async def test_empty_writes_do_nothing(index: VectorIndex) -> None:
    """An empty upsert and an empty delete are no errors and change nothing."""
    await index.upsert([placed("m1")])
    await index.upsert([])
    await index.delete([])
    assert await found(index) == [uid("m1")]


async def test_delete_removes_at_once(index: VectorIndex) -> None:
    """A deleted document is gone from search and count at once; unknown uids are ignored."""
    await index.upsert([placed("m1"), placed("m2")])
    await index.delete([uid("m1"), uid("nobody")])
    assert await found(index) == [uid("m2")]
    assert (await index.state()).document_count == 1
    await index.delete([uid("m1")])
    assert await found(index) == [uid("m2")]


async def test_revisions_are_those_of_a_bucket_of_all_tenants(index: VectorIndex) -> None:
    """Every document of the bucket is there with its last revision, and nothing else is."""
    stored = [placed(f"m{n}", tenant=f"t{n % 3}", category=f"c{n}") for n in range(600)]
    await index.upsert(stored)
    stored[:50] = [replace(one, category="changed") for one in stored[:50]]
    await index.upsert(stored[:50])
    await index.delete([one.uid for one in stored[50:100]])
    kept = stored[:50] + stored[100:]
    for bucket in {one.bucket for one in stored}:
        expected = {one.uid: one.revision for one in kept if one.bucket == bucket}
        assert await index.revisions(bucket) == expected
    assert min(one.revision for one in kept) < 0 < max(one.revision for one in kept)


async def test_a_bucket_may_be_of_any_size(index: VectorIndex) -> None:
    """An empty bucket has no revisions; one beyond a page of any engine has all of them."""
    stored = [
        placed(f"m{n}", uid=Uid(f"ab{n:06x}-0000-5000-8000-000000000000")) for n in range(2_100)
    ]
    await index.upsert(stored)
    assert await index.revisions("ab") == {one.uid: one.revision for one in stored}
    assert await index.revisions("ac") == {}


@pytest.mark.parametrize(
    "vector",
    [
        pytest.param(None, id="absent"),
        pytest.param(np.ones(DIMENSIONS - 1, dtype=np.float32), id="short"),
        pytest.param(np.ones(DIMENSIONS + 1, dtype=np.float32), id="long"),
        pytest.param(np.ones((1, DIMENSIONS), dtype=np.float32), id="matrix"),
        pytest.param(np.full(DIMENSIONS, np.nan, dtype=np.float32), id="nan"),
        pytest.param(np.full(DIMENSIONS, -np.inf, dtype=np.float32), id="infinite"),
    ],
)
async def test_a_vector_that_cannot_be_compared_is_refused(
    index: VectorIndex, vector: Vector | None
) -> None:
    """A vector absent, of another size or not finite is a ValueError, and nothing is written."""
    with pytest.raises(ValueError, match="vector of"):
        await index.upsert([placed("m1"), replace(document("m2"), vector=vector)])
    assert (await index.state()).document_count == 0


async def test_state_counts_every_tenant(index: VectorIndex) -> None:
    """The state counts the documents of all tenants and names the engine."""
    assert (await index.state()).document_count == 0
    await index.upsert([placed("m1"), document("m1", tenant="other", vector=EAST)])
    state = await index.state()
    assert state.document_count == 2
    assert state.engine


async def test_ping_and_search_end_with_close(index: VectorIndex) -> None:
    """An open index answers; a closed one raises SourceUnavailable; closing twice is fine."""
    await index.ping()
    await index.close()
    await index.close()
    with pytest.raises(SourceUnavailable):
        await index.ping()
    with pytest.raises(SourceUnavailable):
        await hits(index)
    with pytest.raises(SourceUnavailable):
        await index.upsert([placed("m1")])
    with pytest.raises(SourceUnavailable):
        await index.revisions("00")


# What a search promises


async def test_all_queries_are_answered_in_their_order(index: VectorIndex) -> None:
    """Several queries of one call get their own answers, in their order, empty ones included."""
    await index.upsert(
        [placed("east", EAST), placed("north", NORTH), placed("note", EAST, layer=Layer.NOTE)]
    )
    answers = await index.search(
        [
            VectorQuery(only(layer=Layer.EPISODE), EAST, 5),
            VectorQuery(only(), NORTH, 1),
            VectorQuery(no_owner(), EAST, 5),
            VectorQuery(only(layer=Layer.NOTE), EAST, 5),
            VectorQuery(only(), EAST, 0),
            VectorQuery(only(), EAST, 1),
        ]
    )
    uids = [[hit.uid for hit in answer] for answer in answers]
    assert uids == [[], [uid("north")], [], [uid("note")], [], [uid("east")]]
    assert await index.search([]) == []


async def test_scores_are_cosines(index: VectorIndex) -> None:
    """Hits come by falling cosine, from 1 for the same direction to −1 for the opposite."""
    angles = np.linspace(0, np.pi, 7)
    await index.upsert([placed(f"m{n}", unit(np.cos(a), np.sin(a))) for n, a in enumerate(angles)])
    answer = await hits(index)
    assert [hit.uid for hit in answer] == [uid(f"m{n}") for n in range(7)]
    assert [hit.score for hit in answer] == pytest.approx(np.cos(angles), abs=1e-6)


async def test_no_score_leaves_the_range_of_a_cosine(index: VectorIndex) -> None:
    """Rounding puts no score beyond 1, whatever the vector."""
    rng = np.random.default_rng(5)
    vectors = [unit(*rng.standard_normal(DIMENSIONS)) for _ in range(64)]
    await index.upsert([placed(f"m{n}", vector) for n, vector in enumerate(vectors)])
    queries = [VectorQuery(only(), vector, 1) for vector in vectors]
    scores = [answer[0].score for answer in await index.search(queries)]
    assert max(scores) <= 1.0
    assert min(scores) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("limit", [1, 3, 40, 199, 200, 500])
async def test_ties_come_by_uid_wherever_the_cut_falls(index: VectorIndex, limit: int) -> None:
    """Of equal documents the first uids come, also when far more tie than the limit."""
    documents = [placed(f"m{n}") for n in range(200)]
    await index.upsert(documents)
    first = sorted(d.uid for d in documents)[:limit]
    assert await found(index, limit=limit) == first
    await index.upsert([placed("nearest", unit(1, 0.1)), placed("farthest", unit(1, -1))])
    ranked = [uid("nearest"), *sorted(d.uid for d in documents), uid("farthest")]
    assert await found(index, unit(1, 0.1), limit=limit) == ranked[:limit]


async def test_a_small_tenant_gets_its_full_answer(index: VectorIndex) -> None:
    """The filter holds inside the search: 10,000 nearer documents of another hide none of ours."""
    rng = np.random.default_rng(13)
    near = [unit(1, *(0.01 * rng.standard_normal(7))) for _ in range(10_000)]
    await index.upsert(
        [document(f"a{n}", tenant="a", vector=vector) for n, vector in enumerate(near)]
    )
    far = [document(f"b{n}", tenant="b", vector=unit(1, 1, n / 100)) for n in range(12)]
    await index.upsert(far)
    assert await found(index, by=only(tenant="b"), limit=10) == [d.uid for d in far[:10]]


async def test_validity_begins_inclusive_and_ends_exclusive(index: VectorIndex) -> None:
    """An entry counts from its first millisecond to the last before its end; open ends are open."""
    await index.upsert(
        [
            placed("interval", live_from_ms=NOW_MS, live_until_ms=NOW_MS + 10),
            placed("always", live_from_ms=0, live_until_ms=FOREVER_MS),
        ]
    )
    for as_of, expected in {
        NOW_MS - 1: {"always"},
        NOW_MS: {"always", "interval"},
        NOW_MS + 9: {"always", "interval"},
        NOW_MS + 10: {"always"},
        0: {"always"},
        FOREVER_MS - 1: {"always"},
        None: {"always", "interval"},
    }.items():
        answer = await found(index, by=only(as_of_ms=as_of))
        assert set(answer) == {uid(name) for name in expected}, as_of


async def test_a_mute_silences_one_category_of_one_owner(index: VectorIndex) -> None:
    """A muted pair leaves out that owner's category, not the owner and not the category."""
    documents = {
        (owner, category): placed(f"{owner}/{category}", owner=owner, category=category)
        for owner in ("user:ana", "user:luis")
        for category in ("food", "work", "")
    }
    await index.upsert(list(documents.values()))
    muted = [("user:ana", "food"), ("user:luis", "")]
    answer = await found(index, by=only("user:ana", "user:luis", muted=muted))
    expected = {d.uid for pair, d in documents.items() if pair not in muted}
    assert set(answer) == expected


# Names that would run into each other if they were joined carelessly.
NAMES = st.sampled_from(["a", "b", "", "a|1:b", "1:a|", "a:b", "日本", "A"])
LAYERS = st.sampled_from([Layer.MEMORY, Layer.NOTE])
TIMES = st.integers(0, 4)
DIRECTIONS = st.sampled_from(
    [unit(*np.random.default_rng(n).standard_normal(DIMENSIONS)) for n in range(6)]
)


@st.composite
def documents(draw: st.DrawFn) -> IndexDocument:
    """Draw a document whose fields have few values, so that filters find it."""
    return document(
        draw(st.sampled_from([f"m{n}" for n in range(30)])),
        tenant=draw(NAMES),
        owner=draw(NAMES),
        layer=draw(LAYERS),
        category=draw(NAMES),
        tags=draw(st.sets(NAMES, max_size=3)),
        live_from_ms=draw(TIMES),
        live_until_ms=draw(TIMES | st.just(FOREVER_MS)),
        vector=draw(DIRECTIONS),
    )


def filters(stored: list[IndexDocument]) -> st.SearchStrategy[Filter]:
    """Draw filters, most of them near one of the stored documents."""
    near = st.sampled_from(stored)
    return st.builds(
        Filter,
        tenant=near.map(lambda entry: entry.tenant) | NAMES,
        owners=st.frozensets(near.map(lambda entry: entry.owner) | NAMES),
        layer=LAYERS,
        as_of_ms=st.none() | TIMES,
        muted=st.frozensets(
            near.map(lambda entry: (entry.owner, entry.category)) | st.tuples(NAMES, NAMES),
            max_size=4,
        ),
        excluded=st.frozensets(near.map(lambda entry: entry.uid), max_size=4),
        categories=st.frozensets(NAMES, max_size=4),
        tags=st.frozensets(NAMES, max_size=4),
    )


@pytest.mark.parametrize("engine", ENGINES)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
async def test_answers_are_exact(engine: str, reach: Reach, data: st.DataObject) -> None:
    """Whatever is stored, a query gives the allowed documents, nearest first, ties by uid, cut."""
    stored = data.draw(st.lists(documents(), min_size=1, max_size=40))
    latest = {entry.uid: entry for entry in stored}
    asked = data.draw(
        st.lists(
            st.builds(
                VectorQuery, filters(list(latest.values())), DIRECTIONS, st.sampled_from([1, 3, 50])
            ),
            min_size=1,
            max_size=6,
        )
    )
    async with opened(engine, reach) as index:
        await index.upsert(stored)
        answers = await index.search(asked)
    for query, answer in zip(asked, answers, strict=True):
        cosines = {
            uid: float(np.dot(query.vector, entry.vector))
            for uid, entry in latest.items()
            if allowed(entry, query.filter) and entry.vector is not None
        }
        # Equal vectors have equal cosines; different ones differ by far more than this rounding.
        expected = sorted(cosines, key=lambda uid: (-round(cosines[uid], 4), uid))
        assert [hit.uid for hit in answer] == expected[: query.limit]
        assert [hit.score for hit in answer] == pytest.approx(
            [cosines[hit.uid] for hit in answer], abs=1e-5
        )
