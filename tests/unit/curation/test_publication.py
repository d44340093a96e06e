"""What retrieval is told of a space."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from support.curation.values import NOW, block, category, note, personal, shared

from hilvan_curation.core import publication as publish
from hilvan_curation.core.passage import split
from hilvan_curation.model.category import Axis
from hilvan_curation.model.identity import IdentityGroup
from hilvan_curation.model.passage import NoteEntry
from hilvan_curation.model.space import Members

IDS = st.sampled_from([f"note:{letter}" for letter in "abcdef"])
ENTRIES = st.dictionaries(
    IDS,
    st.builds(
        NoteEntry,
        id=st.just(""),
        owner=st.sampled_from(["user:ana", "space:team", "project:p"]),
        title=st.sampled_from(["T", "U"]),
        text=st.sampled_from(["one", "two"]),
        tags=st.sampled_from([(), ("a",), ("a", "b")]),
        note_id=st.just("n"),
        position=st.integers(0, 2),
        time=st.just(NOW),
    ),
).map(lambda found: {name: replace(entry, id=name) for name, entry in found.items()})


def test_a_policy_tells_members_projects_and_mutes() -> None:
    """Muted categories with their ends, and no others."""
    muted = category("stack", "p", axis=Axis.PROJECT, muted=True, until=NOW)
    team = shared(projects=["p", "q"], categories=[muted, category("loud", "p", axis=Axis.PROJECT)])
    members = Members(frozenset({"bob"}), frozenset({"ana"}))
    told = publish.policy(team, members)
    assert told.space_id == "team"
    assert (told.readers, told.writers) == (members.readers, members.writers)
    assert told.project_ids == {"p", "q"}
    assert told.mutes == (muted,)


def test_passages_belong_to_the_nearest_owner() -> None:
    """A project's, else of a personal space its owner's, else the space's."""
    team = shared(note("in", project="p"), note("out"), projects=["p"])
    mine = personal("ana", note("mine", "ana"))
    owners = [key for each in (team, mine) for key, _ in publish.searchable(each)]
    assert owners == ["project:p", "space:team", "user:ana"]
    assert publish.owners(team) == ["space:team", "project:p"]
    assert publish.owners(mine) == ["user:ana"]


def test_category_notes_and_identity_blocks_are_no_passages() -> None:
    """They reach prompts their own way."""
    mine = personal(
        "ana",
        note("c-diet", "ana"),
        note("soul", "ana"),
        note("plain", "ana"),
        categories=[category("diet")],
        identity=[block("soul", IdentityGroup.SOUL)],
    )
    assert [each.id for _, each in publish.searchable(mine)] == ["plain"]


def test_a_note_becomes_its_passages() -> None:
    """Ids come from the passages; the title names note and headings, the note's own once."""
    body = "# Plan\n\nFirst part.\n\n## Costs\n\nSecond part.\n"
    source = note("n", title="Plan", body=body, tags=("a", "b"))
    first, second = publish.passages("space:team", source)
    assert [first.id, second.id] == [f"note:{each.id}" for each in split("n", body)]
    assert (first.title, second.title) == ("Plan", "Plan › Costs")
    assert (first.position, second.position) == (0, 1)
    assert second.text.endswith("Second part.")
    assert (first.owner, first.note_id, first.tags, first.time) == (
        "space:team",
        "n",
        ("a", "b"),
        NOW,
    )


def test_what_an_entry_can_not_have_is_cut() -> None:
    """A long title, a long tag and too many of them keep no note out of the search."""
    tags = ("x" * 65, "y" * 64, *(f"t{number}" for number in range(40)))
    (entry,) = publish.passages("user:ana", note("n", title="T" * 300, tags=tags))
    assert len(entry.title) == 256
    assert entry.tags == tags[1:33]


def test_a_code_block_too_long_for_an_entry_is_cut_at_lines() -> None:
    """All of it is searchable: parts in order, each within the limit, no line torn."""
    lines = "".join(f"line {number}\n" for number in range(9_000))
    found = publish.passages("user:ana", note("n", body=f"```\n{lines}```\n"))
    assert len(found) > 1
    assert all(len(each.text) <= publish.TEXT_MOST for each in found)
    assert [each.position for each in found] == list(range(len(found)))
    assert len({each.id for each in found}) == len(found)
    assert "".join(each.text for each in found) == f"```\n{lines}```"
    assert all(each.text.endswith("\n") for each in found[:-1])


def test_a_line_too_long_for_an_entry_is_cut_all_the_same() -> None:
    """Where a block has no line ends the limit decides, and blank parts are no entries."""
    body = "```\n" + "x" * publish.TEXT_MOST + " " * 2 * publish.TEXT_MOST + "\n```\n"
    found = publish.passages("user:ana", note("n", body=body))
    assert "".join(each.text for each in found).count("x") == publish.TEXT_MOST
    assert all(each.text.strip() and len(each.text) <= publish.TEXT_MOST for each in found)


def test_owners_that_the_wire_can_not_carry_are_left_out() -> None:
    """An odd id in a marker costs its own notes their search, and no other's."""
    team = shared(note("in", project="mi proyecto"), note("out"), projects=["mi proyecto"])
    assert publish.owners(team) == ["space:team"]
    assert [each.id for _, each in publish.searchable(team)] == ["out"]
    assert publish.owners(personal("")) == []


def test_a_note_is_cut_once() -> None:
    """What was made of an unchanged note is used again; a changed one is cut anew."""
    one, two = note("one"), note("two")
    before = publish.entries([shared(one, two)], {})
    after = publish.entries([shared(one, note("two", body="other"))], before)
    assert after["space:team", one] is before["space:team", one]
    assert [entry.text for each in after.values() for entry in each] == ["one two three", "other"]


def test_of_two_copies_of_a_passage_the_first_has_the_entry() -> None:
    """The same note id and text in two spaces is one entry id, which can't have two owners."""
    found = publish.entries([shared(note("n")), personal("ana", note("n", "ana"))], {})
    assert [each.owner for each in publish.by_id(found).values()] == ["space:team"]


@given(wanted=ENTRIES, stored=ENTRIES)
def test_changes_converge_and_are_minimal(
    wanted: dict[str, NoteEntry], stored: dict[str, NoteEntry]
) -> None:
    """After deletes, then puts, the store has what is wanted; nothing that was right is touched."""
    known = {name: each.fingerprint for name, each in stored.items()}
    puts, deletes = publish.changes(wanted, known)
    after = {name: print_ for name, print_ in known.items() if name not in deletes}
    for each in puts:
        assert after.get(each.id, each.fingerprint).split("\x1f")[0] == each.owner
        after[each.id] = each.fingerprint
    assert after == {name: each.fingerprint for name, each in wanted.items()}
    touched = {each.id for each in puts} | set(deletes)
    right = {n for n in wanted if known.get(n) == wanted[n].fingerprint}
    assert not touched & right
    assert len(touched) == len(wanted.keys() | known.keys()) - len(right)
    assert publish.changes(wanted, after) == ([], [])
