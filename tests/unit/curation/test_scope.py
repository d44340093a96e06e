"""What loads in a scope: spec sections 2.1 and 2.3 to 2.6."""

from support.curation.values import (
    ANA,
    BOB,
    NOW,
    PINNED,
    category,
    note,
    personal,
    shared,
    verdicts,
    words,
)

from hilvan_curation.core.access import Vaults
from hilvan_curation.core.scope import (
    MOST_ITEMS,
    PERSONAL_TOKENS,
    PROJECT_TOKENS,
    Budget,
    ContextSet,
    ElementKind,
    Resolution,
    ScopeMarks,
    Verdict,
    owner_of,
    resolve,
)
from hilvan_curation.model.category import Axis

MINE = personal(
    "ana",
    note("mine-b", "ana", tags=PINNED),
    note("mine-a", "ana", tags=PINNED),
    note("plain", "ana"),
    categories=[category("style"), category("diet"), category("empty", summary="")],
)
TEAM = shared(
    note("plan", project="p", tags=PINNED),
    note("loose-tag", tags=PINNED),
    note("other", project="q", tags=PINNED),
    note("wiki"),
    writers=["ana"],
    projects=["p", "q"],
    categories=[category("stack", "p", axis=Axis.PROJECT, muted=True)],
)
VAULTS = Vaults((MINE, TEAM))
P = TEAM.projects[0]
SET = ContextSet("s1", "Kit", "team", ("wiki", "gone"))


def scope(
    *,
    marks: dict[str, ScopeMarks] | None = None,
    tokens: int = 10_000,
    items: int = MOST_ITEMS,
    in_project: bool = False,
    vaults: Vaults = VAULTS,
) -> Resolution:
    """Resolve for Ana."""
    project = P if in_project else None
    return resolve(vaults, ANA, project, marks or {}, Budget(tokens, items), words, NOW)


def ids(found: Resolution) -> list[str]:
    """Note ids in order."""
    return [each.note_id for each in found.elements]


def test_the_published_defaults_hold() -> None:
    """22,000 tokens personal, 38,000 in a project, at most 250 items."""
    assert (PERSONAL_TOKENS, PROJECT_TOKENS, MOST_ITEMS) == (22_000, 38_000, 250)
    assert Budget(1).items == MOST_ITEMS


def test_the_personal_scope_is_pins_then_memory() -> None:
    """Tagged notes of the personal space by path, then categories with a summary by name."""
    found = scope()
    assert [(each.kind, each.note_id) for each in found.elements] == [
        (ElementKind.PIN, "mine-b"),
        (ElementKind.PIN, "mine-a"),
        (ElementKind.MEMORY_CATEGORY, "c-diet"),
        (ElementKind.MEMORY_CATEGORY, "c-style"),
    ]
    assert [each.order for each in found.elements] == [1, 2, 3, 4]


def test_a_project_scope_is_one_sequence() -> None:
    """Project pins, personal pins, personal memory; other projects' and loose tags never."""
    assert ids(scope(in_project=True)) == ["plan", "mine-b", "mine-a", "c-diet", "c-style"]


def test_who_cannot_read_the_project_gets_nothing_of_it() -> None:
    """The tag pins of a project out of reach are not loaded, whoever resolves it."""
    assert resolve(VAULTS, BOB, P, {}, Budget(100), words, NOW).elements == ()


def test_a_pin_costs_its_body_and_a_category_its_summary() -> None:
    """Every element carries its tokens, and the answer the sum of the loaded ones."""
    found = scope()
    assert [each.token_count for each in found.elements] == [3, 3, 2, 2]
    assert found.token_count == 10


def test_an_element_tells_whose_it_is_and_where() -> None:
    """Title, text, owner, space and path of a pin; name, summary and owner of a category."""
    first, *_, last = scope(in_project=True).elements
    assert (first.title, first.text, first.owner) == ("Plan", "one two three", "project:p")
    assert (first.space_id, first.path) == ("team", "plan.md")
    assert (last.title, last.text, last.owner, last.space_id) == (
        "style",
        "a summary",
        "user:ana",
        "ana",
    )


def test_the_owner_of_a_note_is_the_nearest() -> None:
    """The project's, else the user's, else the space's."""
    assert owner_of(TEAM, TEAM.notes[0]) == "project:p"
    assert owner_of(MINE, MINE.notes[0]) == "user:ana"
    assert owner_of(TEAM, TEAM.notes[1]) == "space:team"


def test_without_an_order_pins_come_before_sets() -> None:
    """Tag pins, loose pins, then sets, each in order of creation."""
    marks = {"": ScopeMarks(loose_pins=("wiki", "plan"), sets=(SET,))}
    assert ids(scope(marks=marks))[:6] == ["mine-b", "mine-a", "wiki", "plan", "wiki", "gone"]


def test_the_stored_order_moves_sets_as_one_group() -> None:
    """What it names comes first; a set's items keep the set's own order."""
    marks = {"": ScopeMarks(loose_pins=("plan",), sets=(SET,), order=("s1", "plan", "unknown"))}
    found = scope(marks=marks)
    assert ids(found)[:5] == ["wiki", "gone", "plan", "mine-b", "mine-a"]
    assert found.elements[0].kind is ElementKind.SET_ITEM
    assert found.elements[2].kind is ElementKind.PIN


def test_each_scope_has_its_own_order() -> None:
    """The personal order says nothing about a project, nor the other way round."""
    marks = {
        "p": ScopeMarks(loose_pins=("wiki",), order=("wiki", "plan", "mine-a")),
        "": ScopeMarks(order=("mine-a",)),
    }
    assert ids(scope(marks=marks, in_project=True))[:4] == ["wiki", "plan", "mine-a", "mine-b"]
    assert ids(scope(marks=marks))[:2] == ["mine-a", "mine-b"]


def test_a_set_with_the_id_of_a_pin_hides_nothing() -> None:
    """Ids of notes are people's to choose, so the two kinds don't share a key."""
    marks = {"": ScopeMarks(sets=(ContextSet("mine-a", "Odd", "team", ("wiki",)),))}
    assert ids(scope(marks=marks))[:3] == ["mine-b", "mine-a", "wiki"]


def test_a_note_pinned_twice_in_a_scope_is_one_pin() -> None:
    """A loose pin of a tagged note adds nothing."""
    marks = {"": ScopeMarks(loose_pins=("mine-a", "wiki", "wiki"))}
    assert ids(scope(marks=marks))[:3] == ["mine-b", "mine-a", "wiki"]


def test_a_note_loads_at_its_first_place() -> None:
    """Later occurrences stay in place as duplicates and cost nothing."""
    marks = {"p": ScopeMarks(sets=(ContextSet("s", "S", "team", ("mine-a", "plan")),))}
    found = scope(marks=marks, in_project=True)
    assert verdicts(found)[:5] == [
        ("plan", "loaded"),
        ("mine-a", "loaded"),
        ("plan", "duplicate"),
        ("mine-b", "loaded"),
        ("mine-a", "duplicate"),
    ]
    assert found.token_count == 3 + 3 + 3 + 2 + 2


def test_missing_items_tell_nothing_but_that() -> None:
    """Gone or out of reach is one answer, also twice, and the set stands."""
    secret = shared(note("secret"), space_id="hidden")
    vaults = Vaults((MINE, TEAM, secret))
    items = ("gone", "secret", "secret", "wiki")
    marks = {"": ScopeMarks(sets=(ContextSet("s", "S", "team", items),), order=("s",))}
    found = scope(marks=marks, vaults=vaults, items=1)
    for element, note_id in zip(found.elements, items[:3], strict=False):
        assert element.verdict is Verdict.MISSING
        assert element.note_id == note_id
        assert (element.title, element.text, element.owner) == ("", "", "")
        assert (element.space_id, element.path, element.token_count) == ("", "", 0)
    assert found.elements[3].verdict is Verdict.LOADED


def test_the_first_that_does_not_fit_stops_what_comes_after() -> None:
    """Strict prefix: a smaller element behind it is not pulled forward."""
    found = scope(tokens=5)
    assert verdicts(found) == [
        ("mine-b", "loaded"),
        ("mine-a", "over_budget"),
        ("c-diet", "after_cut"),
        ("c-style", "after_cut"),
    ]
    assert found.token_count == 3
    assert found.budget.tokens == 5


def test_what_fits_exactly_loads() -> None:
    """The budget is the most that may be loaded, not less."""
    assert scope(tokens=10).token_count == 10
    assert verdicts(scope(tokens=9))[-1] == ("c-style", "over_budget")


def test_a_budget_of_zero_is_an_empty_section_with_reasons() -> None:
    """Nothing loads, everything stays in place and says why."""
    found = scope(tokens=0)
    assert {verdict for _, verdict in verdicts(found)} == {"over_budget", "after_cut"}
    assert found.token_count == 0
    assert len(found.elements) == 4


def test_the_item_limit_stops_as_the_budget_does() -> None:
    """The number of loaded elements is bounded; the rest says so."""
    assert [verdict for _, verdict in verdicts(scope(items=2))] == [
        "loaded",
        "loaded",
        "over_item_limit",
        "over_item_limit",
    ]


def test_a_scope_loads_at_most_250_items() -> None:
    """The default limit counts items, whatever they cost."""
    notes = [note(f"n{number:03}", "ana", tags=PINNED, body="w") for number in range(260)]
    found = scope(vaults=Vaults((personal("ana", *notes),)))
    loaded = [each for each in found.elements if each.verdict is Verdict.LOADED]
    assert len(loaded) == 250
    assert loaded[-1].note_id == "n249"
