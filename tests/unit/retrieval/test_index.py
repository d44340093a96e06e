"""What an index keeps of an entry, and how what it has compares with what it should have."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from support.retrieval.index_documents import document

from hilvan_retrieval.core.index import Difference, compare
from hilvan_retrieval.model.entry import BUCKETS, Layer, Uid
from hilvan_retrieval.model.index import IndexDocument

CHANGES: dict[str, object] = {
    "tenant": "rival",
    "layer": Layer.EPISODE,
    "owner": "user:bob",
    "category": "stack",
    "tags": ("a",),
    "live_from_ms": 1,
    "live_until_ms": 2,
    "text": "another",
}
uids = st.sampled_from([Uid(f"{n:02x}") for n in range(12)])


def test_every_field_that_is_kept_changes_the_revision() -> None:
    """But the vector, which follows from the text, and the uid, which is its key."""
    base = document("m1", "a text")
    changed = {name: replace(base, **{name: value}) for name, value in CHANGES.items()}  # type: ignore[arg-type]  # any field
    revisions = {base.revision, *(each.revision for each in changed.values())}
    assert len(revisions) == 1 + len(CHANGES)
    assert set(CHANGES) == {*IndexDocument.__dataclass_fields__} - {"uid", "vector"}


def test_fields_never_run_into_each_other() -> None:
    """A text that ends like the next field's value is another text."""
    left = replace(document("m1", "ab"), tags=("c", ""))
    right = replace(document("m1", "a"), tags=("bc", ""))
    assert left.revision != right.revision
    assert -(2**63) <= left.revision < 2**63


def test_an_equal_document_has_an_equal_revision() -> None:
    """In any process: lone surrogates and all."""
    odd = document("m1", "x\ud800é")
    assert odd.revision == document("m1", "x\ud800é").revision
    assert document("m1", "a text").revision == 2750255708101273045


def test_a_document_is_in_one_bucket() -> None:
    """That of the first two digits of its uid."""
    assert document("m1").bucket in BUCKETS
    assert document("m1").uid.startswith(document("m1").bucket)


@given(
    st.dictionaries(uids, st.integers(0, 2)),
    st.dictionaries(uids, st.integers(0, 2)),
    st.sets(uids),
)
def test_a_difference_is_what_makes_one_into_the_other(
    record: dict[Uid, int], index: dict[Uid, int], behind: set[Uid]
) -> None:
    """Writing again what is missing, stale or a ghost leaves nothing; what is known is no part."""
    found = compare(record, index)
    mended = {uid: revision for uid, revision in index.items() if uid not in found.ghosts}
    mended |= {uid: record[uid] for uid in found.missing | found.stale}
    assert mended == record
    assert compare(record, mended) == Difference()
    assert found.without(behind).uids == found.uids - behind
    assert not found.missing & set(index)
    assert all(record[uid] != index[uid] for uid in found.stale)
