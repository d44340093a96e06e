"""Each sentence of `KeywordIndex`, on every adapter."""

import tempfile
import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.engines.notes import OPENSEARCH, TANTIVY, note_engine
from support.engines.opensearch_index import fresh_index
from support.engines.run import RUN
from support.retrieval.index_documents import (
    NOW_MS,
    OWNER,
    TENANT,
    allowed,
    document,
    no_owner,
    only,
)

from hilvan_retrieval.adapters.keyword.memory import MemoryKeywordIndex
from hilvan_retrieval.adapters.keyword.tantivy.index import TantivyIndex
from hilvan_retrieval.errors import SourceUnavailable
from hilvan_retrieval.model.entry import Layer, Uid, entry_uid
from hilvan_retrieval.model.index import Filter, Hit, IndexDocument, KeywordQuery
from hilvan_retrieval.ports.index import KeywordIndex

ENGINES = ("memory", "tantivy", "opensearch")


@asynccontextmanager
async def opened(engine: str) -> AsyncIterator[KeywordIndex]:
    """Give an empty index of the engine, and leave nothing of it."""
    async with made(engine) as index:
        await index.ensure()
        yield index


@asynccontextmanager
async def made(engine: str) -> AsyncIterator[KeywordIndex]:
    """Give an index of the engine on which `ensure` was not called, and leave nothing of it."""
    if engine == "opensearch":
        async with fresh_index(RUN.engine(OPENSEARCH).address) as opensearch:
            yield opensearch
        return
    with tempfile.TemporaryDirectory() as folder:
        index: KeywordIndex = (
            MemoryKeywordIndex() if engine == "memory" else TantivyIndex.open(Path(folder))
        )
        if engine == "tantivy":
            note_engine(TANTIVY, "in the process of the tests")
        try:
            yield index
        finally:
            await index.close()


@pytest.fixture(params=ENGINES)
async def index(request: pytest.FixtureRequest) -> AsyncIterator[KeywordIndex]:
    """Give an empty index of each engine in turn."""
    async with opened(request.param) as index:
        yield index


async def hits(
    index: KeywordIndex, text: str, by: Filter | None = None, limit: int = 100
) -> list[Hit]:
    """Ask one question of the default owner."""
    return (await index.search([KeywordQuery(by or only(), text, limit)]))[0]


async def found(
    index: KeywordIndex, text: str, by: Filter | None = None, limit: int = 100
) -> list[Uid]:
    """Ask one question of the default owner, for the uids alone."""
    return [hit.uid for hit in await hits(index, text, by, limit)]


def uid(entry_id: str) -> Uid:
    """Name an entry of the default tenant."""
    return entry_uid(TENANT, entry_id)


# What an index promises about its contents


@pytest.mark.parametrize("engine", ENGINES)
async def test_an_index_is_made_once(engine: str) -> None:
    """`ensure` is true when there was no index, and false when it is there with what it holds."""
    async with made(engine) as index:
        assert await index.ensure() is True
        await index.upsert([document("m1", "pottery class")])
        assert await index.ensure() is False
        assert await found(index, "pottery") == [uid("m1")]
        await index.drop()


async def test_next_search_sees_an_upsert(index: KeywordIndex) -> None:
    """When an upsert has returned, the next search sees the documents."""
    for number in range(3):
        await index.upsert([document(f"m{number}", "pottery class")])
        assert len(await found(index, "pottery")) == number + 1


async def test_upsert_replaces_by_uid(index: KeywordIndex) -> None:
    """A document of a known uid takes the place of the old one, in text and in filter fields."""
    await index.upsert([document("m1", "pottery class", tags=["old"])])
    await index.upsert([document("m1", "swimming lesson", tags=["new"])])
    assert await found(index, "pottery") == []
    assert await found(index, "swimming", only(tags=["old"])) == []
    assert await found(index, "swimming", only(tags=["new"])) == [uid("m1")]
    assert (await index.state()).document_count == 1


async def test_repeated_upsert_changes_nothing(index: KeywordIndex) -> None:
    """Writing the same documents again leaves count, answers and order as they were."""
    documents = [document(f"m{n}", "pottery " + "class " * n) for n in range(5)]
    await index.upsert(documents)
    before = await found(index, "pottery class")
    await index.upsert(documents)
    assert await found(index, "pottery class") == before
    assert (await index.state()).document_count == 5


async def test_last_of_a_repeated_uid_counts(index: KeywordIndex) -> None:
    """Of one uid given twice in a call, the last document counts."""
    await index.upsert([document("m1", "first"), document("m2", "other"), document("m1", "second")])
    assert await found(index, "first") == []
    assert await found(index, "second") == [uid("m1")]
    assert (await index.state()).document_count == 2


async def test_empty_writes_do_nothing(index: KeywordIndex) -> None:
    """An empty upsert and an empty delete are no errors and change nothing."""
    await index.upsert([document("m1", "pottery")])
    await index.upsert([])
    await index.delete([])
    assert await found(index, "pottery") == [uid("m1")]


async def test_delete_removes_at_once(index: KeywordIndex) -> None:
    """A deleted document is gone from search and count at once; unknown uids are ignored."""
    await index.upsert([document("m1", "pottery"), document("m2", "pottery")])
    await index.delete([uid("m1"), uid("never seen")])
    assert await found(index, "pottery") == [uid("m2")]
    assert (await index.state()).document_count == 1


async def test_everything_can_be_deleted(index: KeywordIndex) -> None:
    """An index whose last document was deleted answers with nothing."""
    await index.upsert([document("m1", "pottery")])
    await index.delete([uid("m1")])
    assert await found(index, "pottery") == []


async def test_revisions_are_those_of_a_bucket_of_all_tenants(index: KeywordIndex) -> None:
    """Every document of the bucket is there with its last revision, and nothing else is."""
    stored = [document(f"m{n}", f"pottery {n}", tenant=f"t{n % 3}") for n in range(600)]
    await index.upsert(stored)
    stored[:50] = [replace(one, category="changed") for one in stored[:50]]
    await index.upsert(stored[:50])
    await index.delete([one.uid for one in stored[50:100]])
    kept = stored[:50] + stored[100:]
    for bucket in {one.bucket for one in stored}:
        expected = {one.uid: one.revision for one in kept if one.bucket == bucket}
        assert await index.revisions(bucket) == expected
    assert min(one.revision for one in kept) < 0 < max(one.revision for one in kept)


async def test_a_bucket_may_be_of_any_size(index: KeywordIndex) -> None:
    """An empty bucket has no revisions; a large one has all of them."""
    stored = [
        replace(document(f"m{n}", "pottery"), uid=Uid(f"ab{n:06x}-0000-5000-8000-000000000000"))
        for n in range(2_100)
    ]
    await index.upsert(stored)
    assert await index.revisions("ab") == {one.uid: one.revision for one in stored}
    assert await index.revisions("ac") == {}


async def test_state_counts_every_tenant(index: KeywordIndex) -> None:
    """The state counts the documents of all tenants and names the engine."""
    await index.upsert([document("m1", "a"), document("m1", "a", tenant="other")])
    state = await index.state()
    assert (state.engine.split()[0] in ENGINES, state.document_count) == (True, 2)


async def test_closed_index_is_unavailable(index: KeywordIndex) -> None:
    """An index answers a ping while open; once closed, and closed again, every call says gone."""
    await index.ping()
    await index.close()
    await index.close()
    calls = (
        index.ping(),
        index.state(),
        index.search([KeywordQuery(only(), "pottery", 1)]),
        index.upsert([document("m1", "pottery")]),
        index.delete([uid("m1")]),
        index.revisions("00"),
    )
    for call in calls:
        with pytest.raises(SourceUnavailable):
            await call


# What a search promises


async def test_answers_come_in_the_order_of_the_queries(index: KeywordIndex) -> None:
    """Every query has its answer at its place; no queries, no answers."""
    layers = (Layer.MEMORY, Layer.EPISODE, Layer.PROCEDURE, Layer.NOTE)
    await index.upsert([document(layer.value, "pottery", layer=layer) for layer in layers])
    queries = [KeywordQuery(only(layer=layer), "pottery", 5) for layer in reversed(layers)]
    answers = await index.search([*queries, KeywordQuery(only(), "unheard", 5)])
    assert [[hit.uid for hit in answer] for answer in answers] == [
        *([uid(layer.value)] for layer in reversed(layers)),
        [],
    ]
    assert await index.search([]) == []


async def test_any_word_is_enough(index: KeywordIndex) -> None:
    """A document matches with one word of nine, and ranks higher with two."""
    await index.upsert(
        [document("m1", "the boiler is leaking"), document("m2", "a boiler"), document("m3", "tea")]
    )
    query = "yesterday somebody mentioned that our old boiler was leaking again"
    assert await found(index, query) == [uid("m1"), uid("m2")]


async def test_scores_fall_and_are_above_zero(index: KeywordIndex) -> None:
    """Scores fall from hit to hit and stay above zero, even for a word of every document."""
    texts = ["tea", "tea tea cake", "tea and a very long story about cake", "tea with milk"]
    await index.upsert([document(f"m{n}", text) for n, text in enumerate(texts)])
    scores = [hit.score for hit in await hits(index, "tea cake")]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0


async def test_rare_words_weigh_more(index: KeywordIndex) -> None:
    """A word that few documents of the tenant and layer hold tells more than a common one."""
    await index.upsert([document(f"m{n}", "the boiler was checked") for n in range(9)])
    await index.upsert([document("rare", "the kiln was checked")])
    await index.upsert([document(f"o{n}", "a kiln", tenant="other") for n in range(200)])
    assert (await found(index, "boiler kiln"))[0] == uid("rare")


@pytest.mark.parametrize("limit", [1, 3, 99, 100, 101, 1_000_000_000])
async def test_ties_come_by_uid_across_the_limit(index: KeywordIndex, limit: int) -> None:
    """Of a hundred equal documents, written in any order, the first uids are the answer."""
    documents = [document(f"m{n}", "equal text") for n in range(100)]
    for start in range(0, 100, 40):
        await index.upsert(documents[start : start + 40])
    expected = sorted(document.uid for document in documents)[:limit]
    assert await found(index, "equal", limit=limit) == expected


async def test_better_hits_come_before_a_tie_at_the_limit(index: KeywordIndex) -> None:
    """A tie that straddles the limit takes no place from a better hit."""
    await index.upsert([document(f"m{n}", "equal text") for n in range(60)])
    await index.upsert([document("best", "equal equal")])
    tied = sorted(uid(f"m{n}") for n in range(60))
    assert await found(index, "equal", limit=3) == [uid("best"), *tied[:2]]


@pytest.mark.parametrize("limit", [0, -1, -100])
async def test_no_limit_no_hits(index: KeywordIndex, limit: int) -> None:
    """A limit of zero or less gives an empty answer."""
    await index.upsert([document(f"m{n}", "pottery") for n in range(3)])
    assert await found(index, "pottery", limit=limit) == []


SPELLINGS = [
    ("reunion", "La reunión del año es el miércoles"),
    ("REUNIÓN", "La reunión del año es el miércoles"),
    ("miercoles", "La reunión del año es el miércoles"),
    ("año", "el ano"),
    ("ANO", "el año"),
    (unicodedata.normalize("NFD", "reunión"), "La reunión"),
    ("reunión", unicodedata.normalize("NFD", "La reunión")),
    ("straße", "Hauptstrasse STRASSE"),
    ("lodz", "Łódź"),
    ("Ελλάδα", "ΕΛΛΑΔΑ"),
    ("ﬁne", "a fine day"),
]
INFLECTIONS = [
    ("meeting", "we met at meetings"),
    ("deployed", "deploying on Friday"),
    ("reuniones", "una reunión"),
    ("trabajar", "Ana trabajaba en Bilbao"),
    ("autenticacion", "las autenticaciones fallan"),
    ("decisión", "tomamos decisiones"),
    ("gatas", "un gato"),
    ("Ana", "Ana's office"),
    ("Ana", "Ana\N{RIGHT SINGLE QUOTATION MARK}s office"),
]
CJK = [
    ("会議室", "東京の会議室は三階です"),
    ("室", "東京の会議室は三階です"),
    ("ｶｲｷﾞｼﾂ", "カイギシツ"),
    ("カイギシツ", "ｶｲｷﾞｼﾂ"),
    (unicodedata.normalize("NFD", "がっこう"), "がっこうへいく"),
    ("がっこう", unicodedata.normalize("NFD", "がっこうへいく")),
    ("회의", "오늘회의는취소"),
    ("会议", "Acme会议 at noon"),
]
IDENTIFIERS = [
    ("QX-4471", "Ticket QX-4471 was closed by the warehouse"),
    ("4471", "Ticket QX-4471 was closed"),
    ("qx4471", "Ticket QX-4471 was closed"),
    ("getUserName", "call get_user_name first"),
    ("user", "call getUserName first"),
    ("username", "the userName field"),
    ("HTTPServer", "class http_server"),
    ("os.path.join", "use os.path.join here"),
    ("join", "use os.path.join here"),
    ("/var/log", "rotate /var/log/syslog"),
    ("syslog", "rotate /var/log/syslog"),
    ("C++", "written in C++17"),
    ("c#", "some C# code"),
    ("e-mail", "send an email"),
    ("email", "send an E-Mail"),
    ("mail", "send an e-mail"),
    ("v1.2.3", "released v1.2.3 today"),
    ("kebab", "a kebab-case-name"),
    ("20:00", "Dinner is on Friday at 20:00"),
    ("co\N{SOFT HYPHEN}operate", "we cooperate"),
]


@pytest.mark.parametrize(("query", "text"), SPELLINGS + INFLECTIONS + CJK + IDENTIFIERS)
async def test_words_match_in_every_form(index: KeywordIndex, query: str, text: str) -> None:
    """Spelling, inflection, script and the parts of identifiers don't keep a word from matching."""
    await index.upsert([document("m1", text), document("m2", "nothing of the kind")])
    assert await found(index, query) == [uid("m1")]


@pytest.mark.parametrize(
    ("query", "first", "second"),
    [
        ("año", "el año nuevo", "el ano nuevo"),
        ("ano", "el ano nuevo", "el año nuevo"),
        ("meetings", "about meetings", "about meeting"),
        ("QX-4471", "ticket QX-4471", "ticket 4471"),
        ("C++", "written in C++", "written in C"),
        ("1.23", "costs 1.23", "costs 12.3"),
    ],
)
async def test_exact_form_ranks_first(
    index: KeywordIndex, query: str, first: str, second: str
) -> None:
    """The form that was asked for ranks above a folded, inflected or partial one."""
    await index.upsert([document("m1", second), document("m2", first), document("m3", second)])
    assert (await found(index, query))[0] == uid("m2")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ('C++ (v2): "fix" AND', "the fix of the C++ parser"),
        ("/var/log", "look into /var/log"),
        ("e-mail", "an e-mail"),
        ("room -kitchen", "the room beside the kitchen"),
        ("+room NOT", "the room"),
        ("text:room^2~ [a TO b] {x}", "the room"),
        ("roo* OR room", "the room"),
        ('"wrong order room', "the room"),
        ("room\\", "the room"),
    ],
)
async def test_text_is_no_query_language(index: KeywordIndex, query: str, text: str) -> None:
    """Operators, quotes and wildcards in a query are not read as such, and the words match."""
    by = only(tenant="acme-eu-1")
    await index.upsert([document("m1", text, tenant="acme-eu-1"), document("m1", text)])
    assert await found(index, query, by) == [entry_uid("acme-eu-1", "m1")]


@pytest.mark.parametrize(
    "query", ["", "   ", "*", "?", "roo*", "\N{GRINNING FACE}", '("")', "_ - /", "\x00", "\ud800"]
)
async def test_text_without_a_known_word_matches_nothing(index: KeywordIndex, query: str) -> None:
    """Without a word, or with one that nobody wrote, a query matches nothing and is no error."""
    await index.upsert([document("m1", "the room * ? \N{GRINNING FACE} \x00 \ud800")])
    assert await found(index, query) == []


async def test_stop_words_match_only_when_alone(index: KeywordIndex) -> None:
    """Stop words of both languages don't match beside a telling word, and do without one."""
    await index.upsert([document("m1", "the room of the house"), document("m2", "la casa de Ana")])
    assert await found(index, "the room de la") == [uid("m1")]
    assert await found(index, "of the") == [uid("m1")]
    assert await found(index, "de la") == [uid("m2")]


async def test_long_text_is_read_to_its_bound(index: KeywordIndex) -> None:
    """A query of 100,000 characters is answered by its first words."""
    words = " ".join(f"word{n}" for n in range(12_000))
    await index.upsert([document("first", "word3 here"), document("last", "word11999 here")])
    assert await found(index, words[:100_000]) == [uid("first")]


async def test_long_documents_are_found_by_their_last_words(index: KeywordIndex) -> None:
    """A text of 60 kB is found by a step in its last line."""
    await index.upsert([document("m1", "filler words " * 5_000 + "\nfinally restart the kiln")])
    assert await found(index, "restart kiln") == [uid("m1")]


# Filters


async def test_filter_never_shortens_the_answer(index: KeywordIndex) -> None:
    """Among 10,000 better matches of another tenant, a tenant of 12 documents gets its 10 hits."""
    await index.upsert([document(f"a{n}", "pottery pottery", tenant="big") for n in range(10_000)])
    await index.upsert([document(f"b{n}", "a pottery class", tenant="small") for n in range(12)])
    small = {entry_uid("small", f"b{n}") for n in range(12)}
    answer = await found(index, "pottery", only(tenant="small"), limit=10)
    assert len(answer) == 10
    assert small.issuperset(answer)


async def test_no_owner_no_hits(index: KeywordIndex) -> None:
    """A filter without owners matches nothing."""
    await index.upsert([document("m1", "pottery")])
    assert await found(index, "pottery", no_owner()) == []


async def test_many_owners(index: KeywordIndex) -> None:
    """Two hundred owners are as exact as one."""
    owners = [f"project:p{n}" for n in range(250)]
    await index.upsert([document(f"m{n}", "pottery", owner=own) for n, own in enumerate(owners)])
    answer = await found(index, "pottery", only(*owners[:200]), limit=250)
    assert set(answer) == {uid(f"m{n}") for n in range(200)}


@pytest.mark.parametrize(
    ("as_of_ms", "is_live"),
    [(NOW_MS - 1, False), (NOW_MS, True), (NOW_MS + 9, True), (NOW_MS + 10, False), (None, True)],
)
async def test_validity_starts_inside_and_ends_outside(
    index: KeywordIndex, as_of_ms: int | None, *, is_live: bool
) -> None:
    """An entry counts from `live_from`, that instant included, until `live_until`, excluded."""
    await index.upsert([document("m1", "pottery", live_from_ms=NOW_MS, live_until_ms=NOW_MS + 10)])
    assert bool(await found(index, "pottery", only(as_of_ms=as_of_ms))) is is_live


async def test_superseded_entries_take_no_place(index: KeywordIndex) -> None:
    """Of thirty ended versions and a current one, a limit of 20 gives the current one."""
    await index.upsert(
        [document(f"old{n}", "Ana's room", live_until_ms=NOW_MS) for n in range(30)]
        + [document("new", "a long line that mentions in passing Ana's room")]
    )
    assert await found(index, "room of Ana", limit=20) == [uid("new")]


async def test_mute_is_a_pair_of_owner_and_category(index: KeywordIndex) -> None:
    """A muted category is left out for its owner and stays for every other owner."""
    await index.upsert(
        [
            document("mine", "pottery", category="hobby"),
            document("theirs", "pottery", category="hobby", owner="project:p1"),
            document("other", "pottery", category="work"),
        ]
    )
    by = only(OWNER, "project:p1", muted=[(OWNER, "hobby"), ("project:p1", "work")])
    assert set(await found(index, "pottery", by)) == {uid("theirs"), uid("other")}


async def test_tags_and_categories_are_any_of(index: KeywordIndex) -> None:
    """With several tags or categories an entry needs one of each kind."""
    await index.upsert(
        [
            document("m1", "pottery", category="hobby", tags=["clay", "oven"]),
            document("m2", "pottery", category="work", tags=["oven"]),
            document("m3", "pottery", category="stack", tags=["clay"]),
            document("m4", "pottery"),
        ]
    )
    both = only(categories=["hobby", "work"], tags=["clay", "glaze"])
    assert await found(index, "pottery", both) == [uid("m1")]
    assert set(await found(index, "pottery", only(tags=["oven", "clay"]))) == {
        uid("m1"),
        uid("m2"),
        uid("m3"),
    }
    assert await found(index, "pottery", only(categories=[""])) == [uid("m4")]


TENANTS = st.sampled_from(["a", "A", "a/b", "*", "%2F", "a b", "", "ñ", "\x00"])
NAMES = TENANTS | st.sampled_from(["b", "b/a", "/", "a\nb", "n", "?", "\ud800"])
TIMES = st.integers(0, 4)


@st.composite
def documents(draw: st.DrawFn) -> IndexDocument:
    """Draw a document whose every field comes from a few names that are easily confused."""
    return document(
        draw(st.sampled_from("abcdefgh")),
        "word",
        tenant=draw(TENANTS),
        owner=draw(NAMES),
        layer=draw(st.sampled_from([Layer.MEMORY, Layer.NOTE])),
        category=draw(NAMES),
        tags=draw(st.lists(NAMES, max_size=2)),
        live_from_ms=draw(TIMES),
        live_until_ms=draw(TIMES),
    )


@st.composite
def filters(draw: st.DrawFn, among: list[IndexDocument]) -> Filter:
    """Draw a filter that has a fair chance to allow some of the documents."""
    some = st.sampled_from(among)
    aim = draw(some)
    return Filter(
        tenant=aim.tenant,
        owners=draw(st.frozensets(NAMES, max_size=3)) | {aim.owner},
        layer=aim.layer,
        as_of_ms=draw(st.none() | TIMES),
        muted=draw(st.frozensets(st.tuples(NAMES, NAMES), max_size=4)),
        excluded=draw(st.frozensets(st.builds(lambda entry: entry.uid, some), max_size=2)),
        categories=draw(st.just(frozenset[str]()) | st.frozensets(NAMES, max_size=6)),
        tags=draw(st.just(frozenset[str]()) | st.frozensets(NAMES, max_size=6)),
    )


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
async def test_filters_are_exact(engine: str, data: st.DataObject) -> None:
    """Whatever is stored, a filter gives the documents that its documentation allows, no others."""
    stored = data.draw(st.lists(documents(), min_size=1, max_size=20))
    latest = {entry.uid: entry for entry in stored}
    asked = data.draw(st.lists(filters(list(latest.values())), min_size=1, max_size=6))
    async with opened(engine) as index:
        await index.upsert(stored)
        answers = await index.search([KeywordQuery(by, "word", 50) for by in asked])
    for by, answer in zip(asked, answers, strict=True):
        expected = {entry.uid for entry in latest.values() if allowed(entry, by)}
        assert {hit.uid for hit in answer} == expected
        assert all(hit.score > 0 for hit in answer)
