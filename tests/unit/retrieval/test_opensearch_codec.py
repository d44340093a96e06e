"""What is written to OpenSearch: batches, tokens and boosts."""

import math
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.retrieval.index_documents import document, only

from hilvan_retrieval.adapters.keyword.opensearch import codec
from hilvan_retrieval.model.entry import Layer, Uid
from hilvan_retrieval.model.index import KeywordQuery


@given(st.lists(st.text("ab ", max_size=60), max_size=30), st.integers(1, 3_000))
def test_batches_hold_every_document_in_order(texts: list[str], most: int) -> None:
    """No document is cut, lost or moved, and a batch over the bound has a single document."""
    documents = [document(f"m{n}", text) for n, text in enumerate(texts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "BATCH_BYTES", most)
        batches = codec.bulk_upserts(documents)
    lines = [orjson.loads(line) for batch in batches for line in batch.splitlines()]
    assert [line["index"]["_id"] for line in lines[::2]] == [one.uid for one in documents]
    assert [line["uid"] for line in lines[1::2]] == [one.uid for one in documents]
    assert all(len(batch) <= most or batch.count(b"\n") == 2 for batch in batches)


@given(
    st.text(st.characters(exclude_categories=()), max_size=200),
    st.text(st.characters(exclude_categories=()), max_size=80),
)
def test_any_text_and_name_can_be_written(text: str, name: str) -> None:
    """Whatever the text and the names, tokens are split as they were joined, within the bound."""
    plain = document("m1", text, owner=name, category=name, tags=[name])
    written = codec.bulk_upserts([replace(plain, tenant=name)])
    kept = orjson.loads(b"".join(written).splitlines()[1])
    for token in f"{kept['stem']} {kept['exact']}".split():
        assert token.startswith(kept["group"])
        assert len(token.encode("utf-16-le")) // 2 <= 512


def test_tokens_of_another_tenant_or_layer_are_others() -> None:
    """The same text has other tokens in another tenant and in another layer."""
    documents = [
        document("m1", "pottery"),
        document("m1", "pottery", tenant="other"),
        document("m1", "pottery", layer=Layer.NOTE),
    ]
    lines = b"".join(codec.bulk_upserts(documents)).splitlines()[1::2]
    assert len({orjson.loads(line)["stem"] for line in lines}) == 3


def test_a_boost_turns_the_idf_of_the_shard_into_that_of_the_group() -> None:
    """Times the shard's own idf, the boost is the idf among the group's documents."""
    told = codec.Statistics({"stem": {"gword": 3}, "group": {"g": 10}}, {"stem": 1_000})
    shard, group = (math.log(1 + (size - 3 + 0.5) / 3.5) for size in (1_000, 10))
    assert told.boost("stem", "g", "gword") * shard == pytest.approx(group)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_a_boost_is_above_zero_whatever_a_shard_tells(
    holding: int, inside: int, documents: int
) -> None:
    """Counts that don't fit each other, as of several shards, still give a boost above zero."""
    told = codec.Statistics({"stem": {"w": holding}, "group": {"g": inside}}, {"stem": documents})
    assert told.boost("stem", "g", "w") > 0
    assert codec.Statistics({}, {}).boost("stem", "g", "w") > 0


def test_queries_that_match_nothing_are_not_asked() -> None:
    """Without words, owners or a limit a query is left out, and the others keep their places."""
    asked = codec.questions(
        [
            KeywordQuery(only(), "", 10),
            KeywordQuery(only(), "pottery", 0),
            KeywordQuery(only(), "pottery", 10),
        ]
    )
    assert list(asked) == [2]


def test_an_answer_is_no_longer_than_the_engine_allows() -> None:
    """A limit beyond the engine's window asks for the window."""
    asked = codec.questions([KeywordQuery(only(), "pottery", 10**9)])
    lines = codec.search_request(asked.values(), codec.Statistics({}, {}), milliseconds=5)
    request = orjson.loads(lines.splitlines()[1])
    assert (request["size"], request["timeout"]) == (10_000, "5ms")


def test_deletes_go_by_uid() -> None:
    """A delete is a line with the uid, and none is no request."""
    assert codec.bulk_deletes([Uid("a"), Uid("b")]) == [
        b'{"delete":{"_id":"a"}}\n{"delete":{"_id":"b"}}\n'
    ]
    assert codec.bulk_deletes([]) == []
