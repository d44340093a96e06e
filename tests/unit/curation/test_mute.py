"""Mutes and identity in a scope: spec sections 2.4 and 4."""

from datetime import timedelta

import pytest
from support.curation.values import (
    ANA,
    NOW,
    PINNED,
    block,
    category,
    note,
    personal,
    shared,
    verdicts,
    words,
)

from hilvan_curation.core.access import Vaults
from hilvan_curation.core.scope import Budget, Resolution, is_muted, resolve
from hilvan_curation.model.category import Axis
from hilvan_curation.model.identity import IdentityGroup

TEAM = shared(
    writers=["ana"],
    projects=["p"],
    categories=[category("stack", "p", axis=Axis.PROJECT, muted=True)],
)


def scope(vaults: Vaults, *, tokens: int = 10_000, in_project: bool = False) -> Resolution:
    """Resolve for Ana."""
    project = TEAM.projects[0] if in_project else None
    return resolve(vaults, ANA, project, {}, Budget(tokens), words, NOW)


def test_a_muted_category_is_skipped_and_not_counted() -> None:
    """It stays in its place, costs nothing and lets the next one load."""
    mine = personal("ana", categories=[category("diet", muted=True), category("style")])
    found = scope(Vaults((mine,)), tokens=2)
    assert verdicts(found) == [("c-diet", "muted"), ("c-style", "loaded")]
    assert found.token_count == 2
    assert [each.category for each in found.muted] == ["diet"]


def test_a_pinned_and_muted_category_note_is_a_note_and_stays() -> None:
    """The mute is of the memory: the pin loads the whole note."""
    pinned = note("c-diet", "ana", tags=PINNED)
    mine = personal("ana", pinned, categories=[category("diet", muted=True)])
    assert verdicts(scope(Vaults((mine,)))) == [("c-diet", "loaded"), ("c-diet", "muted")]


def test_a_pinned_category_note_loads_once() -> None:
    """Its summary is a duplicate of its body."""
    mine = personal("ana", note("c-diet", "ana", tags=PINNED), categories=[category("diet")])
    assert verdicts(scope(Vaults((mine,)))) == [
        ("c-diet", "loaded"),
        ("c-diet", "duplicate"),
    ]


def test_a_mute_ends_by_itself() -> None:
    """With nothing written and nobody told, the category loads from the end on."""
    mine = personal("ana", categories=[category("diet", muted=True, until=NOW)])
    vaults = Vaults((mine,))

    def at(seconds: int) -> list[tuple[str, str]]:
        now = NOW + timedelta(seconds=seconds)
        return verdicts(resolve(vaults, ANA, None, {}, Budget(9), words, now))

    assert at(-1) == [("c-diet", "muted")]
    assert at(0) == [("c-diet", "loaded")]
    assert resolve(vaults, ANA, None, {}, Budget(9), words, NOW).muted == ()


@pytest.mark.parametrize(
    ("muted", "until", "now"),
    [
        (False, None, False),
        (True, None, True),
        (True, 1, True),
        (True, 0, False),
        (False, 1, False),
    ],
)
def test_a_mute_holds_without_end_or_before_it(
    muted: bool,  # noqa: FBT001 (a parameter)
    until: int | None,
    now: bool,  # noqa: FBT001 (a parameter)
) -> None:
    """An end means nothing without a mute."""
    end = None if until is None else NOW + timedelta(seconds=until)
    assert is_muted(category("diet", muted=muted, until=end), NOW) is now


def test_the_muted_categories_of_a_scope_are_on_its_axes() -> None:
    """The caller's own, and the project's when work is in it; never another owner's."""
    namesake = category("stack", "ana", axis=Axis.PROJECT, muted=True)
    own = category("diet", muted=True)
    same_id_as_project = category("odd", "p", muted=True)
    vaults = Vaults((personal("ana", categories=[own, namesake, same_id_as_project]), TEAM))
    assert [each.category for each in scope(vaults).muted] == ["diet"]
    assert [(e.category, e.owner_id) for e in scope(vaults, in_project=True).muted] == [
        ("diet", "ana"),
        ("stack", "p"),
    ]


def test_a_project_mute_silences_no_category_of_the_user() -> None:
    """The same name on another axis is another category."""
    mine = personal("ana", categories=[category("stack")])
    found = scope(Vaults((mine, TEAM)), in_project=True)
    assert verdicts(found)[-1] == ("c-stack", "loaded")
    assert [each.category for each in found.muted] == ["stack"]


def test_identity_is_the_callers_and_the_projects() -> None:
    """By group, the block's order, the team before the person, then id; inactive ones too."""
    soul, style, context = IdentityGroup.SOUL, IdentityGroup.STYLE, IdentityGroup.CONTEXT
    mine = personal("ana", identity=[block("z", context), block("b", soul, 1), block("a", style)])
    team = shared(
        readers=["ana"],
        projects=["p"],
        identity=[block("t2", soul, 1), block("t1", soul, 1, active=False), block("t0", style, 2)],
    )
    other = shared(space_id="other", readers=["ana"], identity=[block("o", soul)])
    vaults = Vaults((mine, team, other))
    assert [each.id for each in scope(vaults).identity] == ["b", "a", "z"]
    in_project = scope(vaults, in_project=True).identity
    assert [each.id for each in in_project] == ["t1", "t2", "b", "a", "t0", "z"]
    assert [each.id for each in in_project if not each.active] == ["t1"]
