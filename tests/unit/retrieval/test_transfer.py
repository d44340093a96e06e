"""What an import does to the record, batch by batch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from support.retrieval.record import BOB, NOW, T0, entry, unit

from hilvan_retrieval.core.entry import ImportFaults, import_batch, reinforced
from hilvan_retrieval.model.embedding import Vector
from hilvan_retrieval.model.entry import Change, Entry


class Book:
    """A record in a dictionary, which shows a decision what the port promises to show it."""

    def __init__(self, *entries: Entry) -> None:
        """Begin with some entries."""
        self.entries = {each.id: replace(each, version=1) for each in entries}

    def seen(self, ids: set[str]) -> Mapping[str, Entry]:
        """Tell the ids' entries, those that they supersede, and all that supersede them."""
        seen = {each.id: each for each in self.entries.values() if each.superseded_by in ids}
        wanted = set(ids)
        while wanted:
            fresh = {name: self.entries[name] for name in wanted & self.entries.keys()}
            seen |= fresh
            wanted = {each.superseded_by for each in fresh.values()} - seen.keys() - {""}
        return seen

    def take(
        self, *records: Entry, vectors: Mapping[int, Vector] | None = None
    ) -> tuple[Change, ImportFaults]:
        """Import one batch."""
        ids = {name for each in records for name in (each.id, each.superseded_by) if name}
        change, faults = import_batch(dict(enumerate(records)), vectors or {}, self.seen(ids))
        for each in change.puts:
            old = self.entries.get(each.id)
            self.entries[each.id] = replace(each, version=1 + (old.version if old else 0))
        return change, faults

    def contents(self) -> dict[str, Entry]:
        """Tell the entries without the number of times that they were written."""
        return {name: replace(each, version=0) for name, each in self.entries.items()}


def stored(change: Change) -> int:
    """Tell how many records an import says it stored."""
    return int(change.answer.outcome)


@st.composite
def acyclic(draw: st.DrawFn) -> list[Entry]:
    """Draw records of one owner, each superseded by a later one, by an unknown one or by none."""
    count = draw(st.integers(1, 7))
    records = []
    for index in range(count):
        later = [f"m{other}" for other in range(index + 1, count)]
        days = draw(st.integers(0, 5))
        records.append(
            entry(
                f"m{index}",
                superseded_by=draw(st.sampled_from(["", "unknown", *later])),
                create_time=T0 + timedelta(days=days),
                update_time=T0 + timedelta(days=days + draw(st.integers(0, 3))),
                valid_from=draw(st.none() | st.just(NOW)),
            )
        )
    return records


def batches(records: Sequence[Entry], sizes: Sequence[int]) -> list[list[Entry]]:
    """Cut records into batches, sizes taken in turn."""
    cut, rest = [], list(records)
    for size in [*sizes, len(rest)]:
        cut.append(rest[:size])
        rest = rest[size:]
    return [each for each in cut if each]


SIZES = st.lists(st.integers(1, 3), max_size=6)


@settings(max_examples=300)
@given(acyclic(), st.data(), SIZES, SIZES)
def test_any_order_ends_in_the_same_record(
    records: list[Entry], data: st.DataObject, some: list[int], others: list[int]
) -> None:
    """Neither the order of the records nor where the batches are cut makes a difference."""
    first, second = Book(), Book()
    for batch in batches(records, some):
        first.take(*batch)
    for batch in batches(data.draw(st.permutations(records)), others):
        second.take(*batch)
    assert first.contents() == second.contents()


@settings(max_examples=300)
@given(acyclic(), st.data(), SIZES)
def test_sending_again_changes_nothing(
    records: list[Entry], data: st.DataObject, sizes: list[int]
) -> None:
    """Each batch once more, or all of them cut otherwise, stores no record and puts no entry."""
    book = Book()
    for batch in batches(records, sizes):
        book.take(*batch)
        assert book.take(*batch) == (Change(book.take(*batch)[0].answer), {})
    before = dict(book.entries)
    for batch in batches(data.draw(st.permutations(records)), data.draw(SIZES)):
        change, faults = book.take(*batch)
        assert (change.puts, stored(change), faults) == ((), 0, {})
    assert book.entries == before


def test_what_was_counted_since_is_kept() -> None:
    """Accesses, reinforcements and a supersession of the store outlast the same import."""
    record = entry(confidence=0.5)
    book = Book(
        entry("m2"),
        replace(
            reinforced(record, NOW),
            access_count=7,
            last_access_time=NOW,
            superseded_by="m2",
            supersede_time=T0,
        ),
    )
    before = dict(book.entries)
    assert stored(book.take(record)[0]) == 0
    assert book.entries == before


def test_greater_counts_of_a_record_win() -> None:
    """An import from a store that counted more brings its counts, confidence and last access."""
    book = Book(entry(access_count=1, reinforcement_count=1, confidence=0.6, last_access_time=T0))
    newer = entry(access_count=5, reinforcement_count=3, confidence=0.8, last_access_time=NOW)
    assert stored(book.take(newer)[0]) == 1
    assert book.contents() == {"m1": newer}


def test_another_link_replaces_the_one_that_is_known() -> None:
    """And is dated by the entry that it leads to."""
    book = Book(
        entry(superseded_by="m2", supersede_time=T0), entry("m2"), entry("m3", create_time=NOW)
    )
    change, _ = book.take(entry(superseded_by="m3"))
    assert [(each.superseded_by, each.supersede_time) for each in change.puts] == [("m3", NOW)]


def test_another_text_is_stored() -> None:
    """The record of an import replaces the content."""
    book = Book(entry())
    change, _ = book.take(entry(text="another"))
    assert [each.text for each in change.puts] == ["another"]
    assert stored(change) == 1


def test_links_may_point_forward_in_the_batch() -> None:
    """The older record is dated by the newer one that comes after it."""
    old, new = entry("old", superseded_by="new"), entry("new", create_time=NOW)
    book = Book()
    assert stored(book.take(old, new)[0]) == 2
    assert book.entries["old"].supersede_time == NOW


def test_a_record_that_moves_its_replacement_is_dated_anew() -> None:
    """Entries outside of the batch follow, and don't count as stored records."""
    book = Book(entry("old", superseded_by="new", supersede_time=T0), entry("new"))
    change, _ = book.take(entry("new", create_time=NOW))
    assert book.entries["old"].supersede_time == NOW
    assert stored(change) == 1


def test_of_a_loop_one_side_is_refused_and_the_other_stored() -> None:
    """Never both sides are lost, in one batch or in two, and sending again ends the same way."""
    left, right = entry("a", superseded_by="b"), entry("b", superseded_by="a")
    for first, survivor in (([left, right], "a"), ([left], "a"), ([right], "b")):
        book = Book()
        book.take(*first)
        change, faults = book.take(left, right)
        (index,) = faults
        assert [left, right][index].id != survivor
        assert faults[index][0].field == "entry.superseded_by"
        assert book.entries.keys() == {survivor}
        assert stored(change) == 0


def test_a_bad_record_never_fails_the_others() -> None:
    """Faults come by index: another owner's place, and a link to another owner's entry."""
    book = Book(entry("taken", owner=BOB), entry("theirs", owner=BOB))
    change, faults = book.take(entry("m1"), entry("taken"), entry("m2", superseded_by="theirs"))
    assert {index: fault[0].field for index, fault in faults.items()} == {
        1: "entry.owner",
        2: "entry.superseded_by",
    }
    assert [each.id for each in change.puts] == ["m1"]
    assert stored(change) == 1


def test_of_an_id_given_twice_the_last_counts() -> None:
    """With the vector of that record, or none when it has none."""
    first, last = entry(text="first"), entry(text="last")
    change, _ = Book().take(first, last, vectors={0: unit(1, 0), 1: unit(0, 1)})
    assert ([each.text for each in change.puts], stored(change)) == (["last"], 1)
    assert change.vectors["m1"].tolist() == [0, 1]
    change, _ = Book().take(first, last, vectors={0: unit(1, 0)})
    assert change.vectors == {}


def test_vectors_come_with_what_is_stored() -> None:
    """A vector of an unchanged or refused record is left out."""
    book = Book(entry("same"), entry("taken", owner=BOB))
    records = (entry("new"), entry("same"), entry("taken"))
    change, _ = book.take(*records, vectors=dict.fromkeys(range(3), unit(1, 0)))
    assert change.vectors.keys() == {"new"}


def test_a_lowered_confidence_outlives_an_import() -> None:
    """The same record again changes nothing; one that was stated later brings its own."""
    book = Book(entry("m1", confidence=0.4, decay_time=NOW))
    change, _ = book.take(entry("m1", confidence=0.9))
    assert stored(change) == 0
    book.take(entry("m1", confidence=0.9, update_time=NOW))
    assert book.entries["m1"].confidence == 0.9
