"""What loads in a scope: one pure function, for the preview and for the real answer.

    personal scope   pins and sets → memory
    project scope    the project's pins and sets → personal pins and sets → personal memory

Strict prefix: elements load while their tokens fit; the first that does not fit stops everything
after it. A note loads once, at its first place. What is muted is skipped and not counted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from hilvan_curation.core.access import Found, Vaults
from hilvan_curation.core.counting import Count
from hilvan_curation.model.category import Axis, CategoryNote
from hilvan_curation.model.identity import IdentityBlock, IdentityGroup
from hilvan_curation.model.note import Note
from hilvan_curation.model.space import Project, SpaceKind
from hilvan_curation.model.vault import SpaceSnapshot
from hilvan_kit.auth import Principal

PERSONAL_TOKENS = 22_000
PROJECT_TOKENS = 38_000
MOST_ITEMS = 250
"""The budget of a scope (spec, section 2.5)."""


class ElementKind(StrEnum):
    """What an element of a scope is."""

    PIN = "pin"
    SET_ITEM = "set_item"
    MEMORY_CATEGORY = "memory_category"


class Verdict(StrEnum):
    """Whether an element is loaded, and why not."""

    LOADED = "loaded"
    OVER_BUDGET = "over_budget"
    AFTER_CUT = "after_cut"
    OVER_ITEM_LIMIT = "over_item_limit"
    DUPLICATE = "duplicate"
    MUTED = "muted"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Element:
    """One element at its place; ``owner`` is a key such as ``project:p1``."""

    kind: ElementKind
    note_id: str
    title: str
    text: str
    owner: str
    space_id: str = ""
    path: str = ""
    token_count: int = 0
    order: int = 0
    verdict: Verdict = Verdict.LOADED


@dataclass(frozen=True, slots=True)
class ContextSet:
    """A named, ordered collection of references to notes."""

    id: str
    name: str
    space_id: str
    note_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScopeMarks:
    """What people put into a scope besides tag pins, in order of creation.

    ``order`` are ids of pinned notes and of sets, highest priority first; those that it does not
    name come after it: pins, then sets.
    """

    loose_pins: tuple[str, ...] = ()
    sets: tuple[ContextSet, ...] = ()
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of one scope."""

    tokens: int
    items: int = MOST_ITEMS


@dataclass(frozen=True, slots=True)
class Resolution:
    """What loads in a scope, and what of it the assembler needs besides."""

    elements: tuple[Element, ...]
    token_count: int
    budget: Budget
    identity: tuple[IdentityBlock, ...]
    muted: tuple[CategoryNote, ...] = field(default=())


def resolve(
    vaults: Vaults,
    who: Principal,
    project: Project | None,
    marks: Mapping[str, ScopeMarks],
    budget: Budget,
    count: Count,
    now: datetime,
) -> Resolution:
    """Resolve the scope of a project, or the personal one without.

    ``marks`` are by scope: a project's id, and ``""`` for the personal scope.
    """
    chain: list[Element] = []
    if project is not None:
        chain += _marked(vaults, who, project.id, marks)
    chain += _marked(vaults, who, "", marks)
    chain += _memory(vaults, who)
    muted = tuple(each for each in _categories(vaults, who, project) if is_muted(each, now))
    silent = {(f"{each.axis.value}:{each.owner_id}", each.category) for each in muted}
    elements, tokens = _load(chain, silent, budget, count)
    return Resolution(elements, tokens, budget, _identity(vaults, who, project), muted)


def is_muted(category: CategoryNote, now: datetime) -> bool:
    """Whether the category is muted now: a mute may end by itself."""
    return category.muted and (category.muted_until is None or now < category.muted_until)


def owner_of(snapshot: SpaceSnapshot, note: Note) -> str:
    """Whose a note is: its project's, else of a personal space the owner's, else the space's."""
    if note.project_id:
        return f"project:{note.project_id}"
    if snapshot.space.kind is SpaceKind.PERSONAL:
        return f"user:{snapshot.space.owner}"
    return f"space:{snapshot.space.id}"


def tag_pins(vaults: Vaults, who: Principal, scope: str) -> Sequence[Found]:
    """Notes that their tag pins in a scope, by space and path.

    A tag pins a note of a project in the project, and any other note of a personal space for
    its user.
    """
    if scope:
        found = vaults.project(who, scope)
        return vaults.tagged(found[0].space.id, scope) if found else ()
    own = vaults.personal(who)
    return [each for snapshot in own for each in vaults.tagged(snapshot.space.id, "")]


def _marked(
    vaults: Vaults, who: Principal, scope: str, marks: Mapping[str, ScopeMarks]
) -> list[Element]:
    """Pins and sets of one scope in their one order; a set moves as one group."""
    mark = marks.get(scope, ScopeMarks())
    pins = {found[1].id: _element(*found) for found in tag_pins(vaults, who, scope)}
    for note_id in mark.loose_pins:
        pins.setdefault(note_id, _reference(vaults, who, note_id, ElementKind.PIN))
    groups = [(note_id, [pin]) for note_id, pin in pins.items()]
    for each in mark.sets:
        items = [_reference(vaults, who, n, ElementKind.SET_ITEM) for n in each.note_ids]
        groups.append((each.id, items))
    rank = {each: place for place, each in enumerate(mark.order)}
    # The sort is stable, so groups without a rank stay in order of creation.
    groups.sort(key=lambda group: rank.get(group[0], len(rank)))
    return [element for _, group in groups for element in group]


def _element(snapshot: SpaceSnapshot, note: Note, kind: ElementKind = ElementKind.PIN) -> Element:
    return Element(
        kind=kind,
        note_id=note.id,
        title=note.title,
        text=note.body,
        owner=owner_of(snapshot, note),
        space_id=note.space_id,
        path=note.path,
    )


def _reference(vaults: Vaults, who: Principal, note_id: str, kind: ElementKind) -> Element:
    """A note by id; one that is gone or can't be read is missing, which is all that is told."""
    found = vaults.note(who, note_id)
    if found is None:
        return Element(kind, note_id, "", "", "", verdict=Verdict.MISSING)
    return _element(*found, kind)


def _memory(vaults: Vaults, who: Principal) -> Iterator[Element]:
    """The caller's own categories that have a summary, by name."""
    for snapshot in vaults.personal(who):
        for each in sorted(snapshot.categories, key=lambda c: c.category):
            if each.axis is Axis.USER and each.summary:
                yield Element(
                    kind=ElementKind.MEMORY_CATEGORY,
                    note_id=each.note_id,
                    title=each.category,
                    text=each.summary,
                    owner=f"user:{each.owner_id}",
                    space_id=snapshot.space.id,
                )


def _categories(vaults: Vaults, who: Principal, project: Project | None) -> Iterator[CategoryNote]:
    """Categories on the axes of a scope: the caller's own, and the project's."""
    for snapshot in vaults.readable(who):
        for each in snapshot.categories:
            own = each.axis is Axis.USER and each.owner_id == who.user
            of_project = each.axis is Axis.PROJECT and project and each.owner_id == project.id
            if own or of_project:
                yield each


def _identity(vaults: Vaults, who: Principal, project: Project | None) -> tuple[IdentityBlock, ...]:
    """Blocks of the caller's personal spaces and of the project's space, in order.

    By group, then by the block's own order; what the team says comes before what one person
    adds, then by id.
    """
    groups = list(IdentityGroup)
    ranked: list[tuple[tuple[int, int, int, str], IdentityBlock]] = []
    for snapshot in vaults.readable(who):
        personal = snapshot.space.kind is SpaceKind.PERSONAL
        if personal or (project is not None and project.space_id == snapshot.space.id):
            ranked += [
                ((groups.index(block.group), block.order, int(personal), block.id), block)
                for block in snapshot.identity
            ]
    return tuple(block for _, block in sorted(ranked, key=lambda pair: pair[0]))


def _load(
    chain: Iterable[Element],
    silent: set[tuple[str, str]],
    budget: Budget,
    count: Count,
) -> tuple[tuple[Element, ...], int]:
    seen: set[str] = set()
    placed: list[Element] = []
    used = items = 0
    cut: Verdict | None = None
    for order, element in enumerate(chain, start=1):
        tokens = count(element.text) if element.text else 0
        verdict = _skipped(element, silent, seen) or cut
        if verdict is None and items >= budget.items:
            verdict = cut = Verdict.OVER_ITEM_LIMIT
        elif verdict is None and used + tokens > budget.tokens:
            verdict, cut = Verdict.OVER_BUDGET, Verdict.AFTER_CUT
        elif verdict is None:
            verdict = Verdict.LOADED
            used += tokens
            items += 1
        seen.add(element.note_id)
        placed.append(replace(element, token_count=tokens, order=order, verdict=verdict))
    return tuple(placed), used


def _skipped(element: Element, silent: set[tuple[str, str]], seen: set[str]) -> Verdict | None:
    """Why an element can't load, whatever the budget is."""
    if element.verdict is Verdict.MISSING:
        return Verdict.MISSING
    if element.kind is ElementKind.MEMORY_CATEGORY and (element.owner, element.title) in silent:
        return Verdict.MUTED
    return Verdict.DUPLICATE if element.note_id in seen else None
