"""What changed since the last acknowledged session."""

from hypothesis import given
from hypothesis import strategies as st
from support.curation.values import note

from hilvan_curation.core.session import NoteChange, NoteDelta, delta, marks
from hilvan_curation.model.session import NoteMark

MARKS = st.dictionaries(
    st.sampled_from("abcdef"),
    st.builds(NoteMark, title=st.sampled_from(["T", "U"]), content_hash=st.sampled_from("12")),
)


def test_a_mark_is_what_a_session_saw_of_a_note() -> None:
    """Title and content hash, by id."""
    assert marks([note("n", title="Plan", content_hash="9")]) == {"n": NoteMark("Plan", "9")}


def test_added_changed_and_removed_are_told_by_id() -> None:
    """The title is the present one, or the last that was seen."""
    before = {name: NoteMark(f"old {name}", "1") for name in ("gone", "same", "edited")}
    now = {
        "same": NoteMark("new same", "1"),
        "edited": NoteMark("new edited", "2"),
        "fresh": NoteMark("new fresh", "1"),
    }
    assert delta(before, now) == [
        NoteDelta("edited", "new edited", NoteChange.CHANGED),
        NoteDelta("fresh", "new fresh", NoteChange.ADDED),
        NoteDelta("gone", "old gone", NoteChange.REMOVED),
    ]


@given(before=MARKS, now=MARKS)
def test_each_note_is_told_once_and_only_if_it_differs(
    before: dict[str, NoteMark], now: dict[str, NoteMark]
) -> None:
    """The delta names exactly the ids whose content hash, or existence, is another."""

    def hashes(side: dict[str, NoteMark], name: str) -> str | None:
        return side[name].content_hash if name in side else None

    different = [
        name
        for name in sorted(before.keys() | now.keys())
        if hashes(before, name) != hashes(now, name)
    ]
    assert [each.note_id for each in delta(before, now)] == different
    assert delta(now, now) == []
