"""Who reads and writes what."""

from dataclasses import replace

import pytest
from support.curation.values import (
    ADMIN,
    ANA,
    BOB,
    PINNED,
    SERVICE,
    category,
    note,
    personal,
    shared,
)

from hilvan_curation.core.access import Vaults, undisputed
from hilvan_curation.model.category import Axis
from hilvan_curation.model.note import Fault
from hilvan_curation.model.space import Members
from hilvan_kit.auth import Principal, Role

EVERYBODY = (ANA, BOB, ADMIN, SERVICE)


@pytest.mark.parametrize("open_to_all", [False, True])
def test_a_personal_space_is_its_owners_alone(open_to_all: bool) -> None:  # noqa: FBT001 (a parameter)
    """Neither members set by mistake, nor an admin, a service or metadata `none` opens it."""
    space = personal("ana", note("n", "ana"))
    members = {"ana": Members(frozenset({"bob"}), frozenset({"bob"}))}
    vaults = Vaults((space,), members, open_to_all)
    assert [vaults.can_read(who, space.space) for who in EVERYBODY] == [True, False, False, False]
    assert [vaults.can_write(who, space.space) for who in EVERYBODY] == [True, False, False, False]
    assert vaults.members_of(space.space) == Members(frozenset({"ana"}), frozenset({"ana"}))
    assert vaults.personal(ANA) == [space]
    assert vaults.personal(BOB) == []


def test_a_closed_space_is_nobodys() -> None:
    """A space whose marker can't be understood has no members, not even an admin."""
    closed = personal("")
    vaults = Vaults((closed,), open_to_all=True)
    assert vaults.members_of(closed.space) == Members()
    assert not any(vaults.can_read(who, closed.space) for who in EVERYBODY)
    assert not any(vaults.can_write(who, closed.space) for who in EVERYBODY)


def test_members_read_and_writers_write() -> None:
    """Readers read, writers do both, others neither; admins and services see shared spaces."""
    space = shared(readers=["bob"], writers=["ana"])
    vaults = Vaults((space,))
    eve = Principal("acme", "eve", Role.MEMBER)
    people = (ANA, BOB, eve, ADMIN, SERVICE)
    assert [vaults.can_read(who, space.space) for who in people] == [True, True, False, True, True]
    assert [vaults.can_write(who, space.space) for who in people] == [
        True,
        False,
        False,
        True,
        True,
    ]


def test_set_members_replace_those_of_the_marker() -> None:
    """People's word counts over the file's, also when it takes everybody out."""
    space = shared(readers=["bob"], writers=["ana"])
    vaults = Vaults((space,), {"team": Members()})
    assert not vaults.can_read(ANA, space.space)
    assert not vaults.can_read(BOB, space.space)


def test_without_metadata_shared_spaces_are_everybodys() -> None:
    """Metadata `none` keeps no members, so the whole tenant reads and writes."""
    space = shared(readers=["eve"])
    vaults = Vaults((space,), open_to_all=True)
    assert all(vaults.can_read(who, space.space) for who in EVERYBODY)
    assert all(vaults.can_write(who, space.space) for who in EVERYBODY)


def test_out_of_reach_looks_like_absent() -> None:
    """Spaces, projects and notes that can't be read are found as little as made-up ones."""
    secret = shared(note("n", project="p"), writers=["ana"], projects=["p"])
    vaults = Vaults((secret, personal("ana", note("own", "ana"))))
    assert vaults.space(ANA, "team") == secret
    assert vaults.project(ANA, "p") == (secret, secret.projects[0])
    assert vaults.note(ANA, "n") == (secret, secret.notes[0])
    assert vaults.readable(BOB) == []
    for found in (
        vaults.space(BOB, "team"),
        vaults.project(BOB, "p"),
        vaults.note(BOB, "n"),
        vaults.note(BOB, "own"),
        vaults.space(ANA, "made-up"),
        vaults.project(ANA, "made-up"),
        vaults.note(ANA, "made-up"),
    ):
        assert found is None


def test_of_two_notes_with_one_id_the_readable_one_is_found() -> None:
    """An id that stands in a space out of reach does not hide one's own note."""
    hidden = shared(note("n"), space_id="a", writers=["bob"])
    vaults = Vaults((hidden, personal("ana", note("n", "ana"))))
    found = vaults.note(ANA, "n")
    assert found is not None
    assert found[1].space_id == "ana"


def test_tagged_notes_are_told_by_space_and_project() -> None:
    """The tag counts at the note's own place and nowhere else."""
    team = shared(
        note("in", project="p", tags=PINNED),
        note("plain", project="p"),
        note("out", tags=PINNED),
        projects=["p"],
    )
    vaults = Vaults((team,))
    assert [each.id for _, each in vaults.tagged("team", "p")] == ["in"]
    assert [each.id for _, each in vaults.tagged("team", "")] == ["out"]
    assert list(vaults.tagged("other", "p")) == []


def test_vaults_are_equal_by_what_they_hold() -> None:
    """The index made of the snapshots plays no part."""
    assert Vaults((shared(note("n")),)) == Vaults((shared(note("n")),))


def test_faults_are_told_to_who_reads_the_space() -> None:
    """Others hear nothing of them; what closed a space is told to admins and services."""
    fault = Fault("a.md", 3, "is broken")
    marker = Fault(".hilvan-space.yaml", 0, "has no id")
    team = replace(shared(readers=["ana"]), faults=(fault,))
    closed = replace(personal(""), faults=(marker, Fault("secret.md", 1, "is broken")))
    vaults = Vaults((team, closed))
    assert vaults.faults(ANA) == [(team.space, fault)]
    assert vaults.faults(BOB) == []
    assert vaults.faults(ADMIN) == [(team.space, fault), (closed.space, marker)]
    assert vaults.faults(SERVICE) == vaults.faults(ADMIN)


def test_a_project_id_that_two_spaces_claim_counts_in_neither() -> None:
    """Writing a marker into one's own space gives nobody the memory of another project."""
    notes = [note("n", project="p"), note("m", project="q")]
    real = shared(
        *notes,
        projects=["p", "q"],
        categories=[
            category("stack", "p", axis=Axis.PROJECT),
            category("stack", "q", axis=Axis.PROJECT),
            category("mine", "p"),
        ],
    )
    thief = replace(personal("eve"), projects=real.projects[:1])
    bystander = shared(space_id="other", projects=["r"])
    left, eve, other = undisputed([real, thief, bystander])
    assert [each.id for each in left.projects] == ["q"]
    assert [(each.id, each.project_id) for each in left.notes] == [("n", ""), ("m", "q")]
    assert [(each.category, each.owner_id) for each in left.categories] == [
        ("stack", "q"),
        ("mine", "p"),
    ]
    assert [fault.path for fault in left.faults] == ["p/.hilvan-project.yaml"]
    assert eve.projects == ()
    assert len(eve.faults) == 1
    assert other is bystander
