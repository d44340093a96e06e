"""Laws of scope resolution, over random scopes."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from support.curation.values import ANA, NOW, PINNED, category, note, personal, shared, words

from hilvan_curation.core.access import Vaults
from hilvan_curation.core.scope import Budget, ContextSet, Resolution, ScopeMarks, Verdict, resolve

IDS = [f"n{number}" for number in range(8)]
REFERENCES = st.lists(st.sampled_from([*IDS, "gone", "hidden"]), max_size=6)


@st.composite
def vaults_of(draw: st.DrawFn) -> Vaults:
    """A personal space with categories, a project, and a space out of reach."""

    def some(space_id: str, names: list[str], project: str = "") -> list[object]:
        return [
            note(
                name,
                space_id,
                project=project,
                body=" ".join(["w"] * draw(st.integers(0, 6))),
                tags=draw(st.sampled_from([PINNED, ()])),
            )
            for name in names
        ]

    categories = [
        category(name, summary="w " * draw(st.integers(0, 3)), muted=draw(st.booleans()))
        for name in ("diet", "style", "work")
    ]
    mine = personal("ana", *some("ana", IDS[:4]), categories=categories)  # type: ignore[arg-type]
    team = shared(*some("team", IDS[4:], "p"), readers=["ana"], projects=["p"])  # type: ignore[arg-type]
    return Vaults((mine, team, shared(note("hidden"), space_id="hidden")))


@st.composite
def marks_of(draw: st.DrawFn) -> ScopeMarks:
    """Loose pins, two sets and an order of some of them."""
    sets = [ContextSet(name, name, "team", tuple(draw(REFERENCES))) for name in ("s1", "s2")]
    order = draw(st.lists(st.sampled_from([*IDS, "s1", "s2"]), unique=True))
    return ScopeMarks(tuple(draw(REFERENCES)), tuple(sets), tuple(order))


@st.composite
def resolutions(draw: st.DrawFn) -> tuple[Resolution, Resolution]:
    """A scope within a budget, and the same one without."""
    vaults = draw(vaults_of())
    project = vaults.snapshots[1].projects[0] if draw(st.booleans()) else None
    marks = {"p": draw(marks_of()), "": draw(marks_of())}
    budget = Budget(draw(st.integers(0, 30)), draw(st.integers(0, 12)))
    found = resolve(vaults, ANA, project, marks, budget, words, NOW)
    return found, resolve(vaults, ANA, project, marks, Budget(10**6), words, NOW)


@given(resolutions())
def test_what_is_loaded_fits(pair: tuple[Resolution, Resolution]) -> None:
    """Loaded tokens are summed right and never above the budget, nor the items above theirs."""
    found, _ = pair
    loaded = [each for each in found.elements if each.verdict is Verdict.LOADED]
    assert sum(each.token_count for each in loaded) == found.token_count <= found.budget.tokens
    assert len(loaded) <= found.budget.items


@given(resolutions())
def test_nothing_loads_after_the_first_that_does_not_fit(
    pair: tuple[Resolution, Resolution],
) -> None:
    """What is loaded is a prefix of what would load without a budget."""
    found, free = pair
    can_load = [place for place, e in enumerate(free.elements) if e.verdict is Verdict.LOADED]
    loaded = [place for place, e in enumerate(found.elements) if e.verdict is Verdict.LOADED]
    assert loaded == can_load[: len(loaded)]
    if len(loaded) < len(can_load):
        first = found.elements[can_load[len(loaded)]]
        too_many = len(loaded) == found.budget.items
        assert too_many or found.token_count + first.token_count > found.budget.tokens


@given(resolutions())
def test_a_budget_changes_verdicts_and_nothing_else(pair: tuple[Resolution, Resolution]) -> None:
    """Every element stays in its place with its tokens; only what loads can be cut."""
    found, free = pair
    for cut, whole in zip(found.elements, free.elements, strict=True):
        assert replace(cut, verdict=whole.verdict) == whole
        if whole.verdict is not Verdict.LOADED:
            assert cut.verdict is whole.verdict
    assert [each.order for each in found.elements] == list(range(1, len(found.elements) + 1))


@given(resolutions())
def test_a_note_loads_once_at_its_first_place(pair: tuple[Resolution, Resolution]) -> None:
    """Without a budget exactly the first occurrence of each readable note loads."""
    _, free = pair
    seen: set[str] = set()
    for each in free.elements:
        if each.verdict in {Verdict.MISSING, Verdict.MUTED}:
            continue
        assert each.verdict is (Verdict.DUPLICATE if each.note_id in seen else Verdict.LOADED)
        seen.add(each.note_id)
    assert not seen & {"gone", "hidden"}


@given(vaults_of(), marks_of(), st.data())
def test_the_order_moves_whole_groups(
    vaults: Vaults, marks: ScopeMarks, data: st.DataObject
) -> None:
    """Reordering permutes pins and sets; inside a set nothing moves."""
    other = replace(marks, order=tuple(data.draw(st.permutations(["s1", "s2", *IDS]))))
    runs = [
        resolve(vaults, ANA, None, {"": each}, Budget(10**6), words, NOW).elements
        for each in (marks, other)
    ]
    before, after = ([(e.kind, e.note_id) for e in run] for run in runs)
    assert sorted(before) == sorted(after)
    for each in marks.sets:
        size = len(each.note_ids)
        names = [name for _, name in after]
        assert any(
            names[start : start + size] == list(each.note_ids)
            for start in range(len(names) - size + 1)
        )
