"""Small values of curation for tests: a team, its spaces and its notes."""

from collections.abc import Sequence
from datetime import UTC, datetime

from hilvan_curation.core.scope import Element, Resolution
from hilvan_curation.model.category import Axis, CategoryNote
from hilvan_curation.model.identity import IdentityBlock, IdentityGroup
from hilvan_curation.model.note import Note
from hilvan_curation.model.space import Project, Space, SpaceKind
from hilvan_curation.model.vault import SpaceSnapshot
from hilvan_kit.auth import Principal, Role

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANA = Principal("acme", "ana", Role.MEMBER)
BOB = Principal("acme", "bob", Role.MEMBER)
ADMIN = Principal("acme", "root", Role.ADMIN)
SERVICE = Principal("acme", "assembler", Role.SERVICE)
PINNED = ("always-load",)


def note(
    note_id: str,
    space_id: str = "team",
    *,
    project: str = "",
    body: str = "one two three",
    tags: tuple[str, ...] = (),
    title: str = "",
    content_hash: str = "0",
) -> Note:
    """A note whose path is its id."""
    return Note(
        id=note_id,
        space_id=space_id,
        path=f"{note_id}.md",
        title=title or note_id.title(),
        body=body,
        modified_time=NOW,
        content_hash=content_hash,
        tags=tags,
        project_id=project,
    )


def personal(
    owner: str,
    *notes: Note,
    categories: Sequence[CategoryNote] = (),
    identity: Sequence[IdentityBlock] = (),
) -> SpaceSnapshot:
    """A personal space of that id and owner; no owner closes it."""
    space = Space(owner or "closed", owner.title(), SpaceKind.PERSONAL, owner, owner)
    return SpaceSnapshot(space, (), notes, tuple(categories), tuple(identity))


def shared(
    *notes: Note,
    space_id: str = "team",
    readers: Sequence[str] = (),
    writers: Sequence[str] = (),
    projects: Sequence[str] = (),
    categories: Sequence[CategoryNote] = (),
    identity: Sequence[IdentityBlock] = (),
) -> SpaceSnapshot:
    """A shared space whose projects have their id as name, slug and folder."""
    space = Space(
        space_id, "The team", SpaceKind.SHARED, "", space_id, tuple(readers), tuple(writers)
    )
    marked = tuple(Project(each, each, each, space_id, each) for each in projects)
    return SpaceSnapshot(space, marked, notes, tuple(categories), tuple(identity))


def category(
    name: str,
    owner: str = "ana",
    *,
    axis: Axis = Axis.USER,
    summary: str = "a summary",
    muted: bool = False,
    until: datetime | None = None,
) -> CategoryNote:
    """A category whose note is ``c-<name>``."""
    return CategoryNote(axis, owner, name, summary, muted, until, f"c-{name}")


def block(
    block_id: str, group: IdentityGroup, order: int = 0, *, active: bool = True
) -> IdentityBlock:
    """An identity block."""
    return IdentityBlock(block_id, group, "rules", f"text of {block_id}", active, order, block_id)


def words(text: str) -> int:
    """Count words: a tokenizer whose counts can be seen."""
    return len(text.split())


def verdicts(found: Resolution | Sequence[Element]) -> list[tuple[str, str]]:
    """(note id, verdict) of each element in its place."""
    elements = found.elements if isinstance(found, Resolution) else found
    return [(each.note_id, each.verdict.value) for each in elements]
