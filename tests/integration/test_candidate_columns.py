"""Candidates as columns say the same as candidates as messages."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_assembler.adapters.services.candidate_columns import candidates
from hilvan_assembler.adapters.services.candidate_columns import entry as read_entry
from hilvan_assembler.model.entry import Entry as AssemblerEntry
from hilvan_assembler.rpc.messages import entry_message
from hilvan_retrieval.core.candidate import Candidate, Found
from hilvan_retrieval.model.entry import Axis, Entry, Layer, Origin, Owner
from hilvan_retrieval.rpc.codec import candidate_fields
from hilvan_retrieval.rpc.columns import candidate_columns

NAMES = [field.name for field in fields(AssemblerEntry)]
MOMENTS = st.integers(0, 4 * 10**15).map(
    lambda micros: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
)
SHARES = st.none() | st.floats(0, 1)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LISTS = st.lists(WORDS, max_size=3).map(tuple)
RANKS = st.none() | st.integers(1, 100)
ENTRIES = st.builds(
    Entry,
    id=WORDS,
    layer=st.sampled_from(Layer),
    owner=st.builds(Owner, st.sampled_from(Axis), WORDS),
    text=WORDS,
    create_time=MOMENTS,
    update_time=MOMENTS,
    title=WORDS,
    category=WORDS,
    importance=SHARES,
    confidence=SHARES,
    access_count=st.integers(0, 2**53),
    reinforcement_count=st.integers(0, 2**53),
    last_access_time=st.none() | MOMENTS,
    valid_from=st.none() | MOMENTS,
    valid_until=st.none() | MOMENTS,
    superseded_by=WORDS,
    supersede_time=st.none() | MOMENTS,
    topics=LISTS,
    outcome=WORDS,
    steps=LISTS,
    tags=LISTS,
    origin=st.builds(Origin, WORDS, WORDS, WORDS, st.none() | st.integers(0, 10_000)),
    version=st.integers(0, 2**53),
)
CANDIDATES = st.builds(
    Candidate,
    ENTRIES,
    st.builds(Found, SHARES, RANKS, SHARES, RANKS),
    SHARES,
    st.booleans(),
)


@given(st.lists(CANDIDATES, max_size=5))
def test_both_forms_say_the_same(found: list[Candidate]) -> None:
    """Each row read back has the values, and the whole entry, of its message."""
    rows = candidates(candidate_columns(found))
    messages = pb.RetrieveCandidatesResponse(
        candidates=[candidate_fields(each) for each in found]  # type: ignore[misc]  # dictionaries
    ).candidates
    assert [entry_message(row) for row in rows] == [each.entry for each in messages]
    for row, message in zip(rows, messages, strict=True):
        whole = {name: getattr(row, name) for name in NAMES}
        assert read_entry(message.entry) == AssemblerEntry(**whole)
    for row, each in zip(rows, found, strict=True):
        entry = each.entry
        assert (row.id, row.layer.value, row.owner) == (
            entry.id,
            entry.layer.value,
            entry.owner.key,
        )
        assert (row.create_time, row.update_time) == (entry.create_time, entry.update_time)
        assert (row.importance, row.confidence) == (entry.importance, entry.confidence)
        assert (row.topics, row.outcome, row.steps) == (entry.topics, entry.outcome, entry.steps)
        assert (row.cosine, row.vector_rank) == (each.found.cosine, each.found.vector_rank)
        assert (row.bm25, row.keyword_rank) == (each.found.bm25, each.found.keyword_rank)
        assert (row.similarity, row.muted) == (each.similarity, each.muted)
        assert row.origin.position == entry.origin.position
