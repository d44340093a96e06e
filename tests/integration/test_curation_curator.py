"""Pin, mute, stamp and sessions on real files: what is written, and what is refused."""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from support.curation.service import MemoryRetrieval, UseCases, poll_files, use_cases, write_files
from support.curation.values import ADMIN, ANA, BOB, NOW, SERVICE

from hilvan_curation.adapters.metadata import NoMetadata, SqlMetadata
from hilvan_curation.adapters.notes import FileNoteSource
from hilvan_curation.core.session import NoteChange
from hilvan_curation.errors import (
    CategoryNotFound,
    FrontmatterBroken,
    NoteChanged,
    NoteNotFound,
    NotPinnable,
    ProjectNotFound,
    SessionNotFound,
    SpaceNotFound,
    WriteRefused,
)
from hilvan_curation.model.space import Members
from hilvan_curation.ports.note import NoteSource
from hilvan_curation.usecases.curating import folders
from hilvan_kit.auth import Principal, Role

PLAN = "---\r\n# kept\r\nid: plan\r\ntags:   [a,  b]   # two\r\ntitle: 'Plan'\r\n---\r\nBody\r\n"
DIET = "---\nid: diet\nsummary: eats all\n---\nNotes.\n"
VAULT = {
    "Ana/.hilvan-space.yaml": "id: ana\nkind: personal\nowner: ana\n",
    "Ana/one.md": "# One\n",
    "Ana/broken.md": "---\ntags: [\n---\nBody\n",
    "Ana/memory/diet.md": DIET,
    "Team/.hilvan-space.yaml": "id: team\nkind: shared\nreaders: [bob]\nwriters: [ana]\n",
    "Team/wiki.md": "---\nid: wiki\n---\nWiki\n",
    "Team/p/.hilvan-project.yaml": "id: p\n",
    "Team/p/plan.md": PLAN,
    "Team/memory/p/stack.md": "---\nid: stack\nsummary: Python\n---\n",
}
EVE = Principal("acme", "eve", Role.MEMBER)


class Edited(FileNoteSource):
    """Files that somebody edits between the reading and the writing."""

    async def write(self, space_id: str, path: str, data: bytes, *, expected: bytes | None) -> None:
        """Edit it first."""
        raw = await self.read(space_id, path)
        await super().write(space_id, path, raw + b"edited\n", expected=raw)
        await super().write(space_id, path, data, expected=expected)


def edited_meanwhile(roots: Sequence[Path]) -> NoteSource:
    """Files under other hands."""
    return Edited(roots)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault."""
    return write_files(tmp_path / "vault", VAULT)


@pytest.fixture
async def uses(vault: Path, tmp_path: Path) -> AsyncIterator[UseCases]:
    """The use cases over it, with a database."""
    store = await SqlMetadata.open_sqlite(tmp_path / "metadata.sqlite")
    await store.add_vault("acme", vault)
    async with use_cases(store, MemoryRetrieval(), open_source=poll_files) as opened:
        yield opened


def text(vault: Path, path: str) -> str:
    """The file's text, line ends as they are."""
    return (vault / path).read_bytes().decode()


async def test_pinning_writes_one_word_and_unpinning_takes_it_back(
    uses: UseCases, vault: Path
) -> None:
    """Every other byte stays: comments, blanks, quotes, line ends. Again changes nothing."""
    for _ in range(2):
        pinned = await uses.curator.set_pin(ANA, "plan", pinned=True)
        assert "always-load" in pinned.tags
        assert text(vault, "Team/p/plan.md") == PLAN.replace("b]", "b, always-load]")
    first = uses.curator.resolve(ANA, "p", None, len).elements[0]
    assert first.note_id == "plan"
    for _ in range(2):
        unpinned = await uses.curator.set_pin(ANA, "plan", pinned=False)
        assert unpinned.tags == ("a", "b")
        assert text(vault, "Team/p/plan.md") == PLAN


async def test_a_pin_that_is_there_already_touches_no_file(uses: UseCases, vault: Path) -> None:
    """Its time of change stays."""
    await uses.curator.set_pin(ANA, "plan", pinned=True)
    before = (vault / "Team/p/plan.md").stat()
    await uses.curator.set_pin(ANA, "plan", pinned=True)
    assert (vault / "Team/p/plan.md").stat().st_mtime_ns == before.st_mtime_ns


async def test_what_can_not_be_pinned(uses: UseCases, vault: Path) -> None:
    """Outside of projects, by readers, out of reach, broken; nothing is written."""
    for who, note_id, error in (
        (ANA, "wiki", NotPinnable),
        (BOB, "plan", WriteRefused),
        (EVE, "plan", NoteNotFound),
        (ANA, "made-up", NoteNotFound),
        (ANA, by_path(uses, "broken.md"), FrontmatterBroken),
    ):
        with pytest.raises(error):
            await uses.curator.set_pin(who, note_id, pinned=True)
    assert {path: text(vault, path) for path in VAULT} == VAULT


async def test_a_tag_that_pins_nothing_can_be_taken_out(uses: UseCases, vault: Path) -> None:
    """Unpinning a note outside of projects cleans its file up."""
    write_files(vault, {"Team/wiki.md": "---\nid: wiki\ntags: [always-load]\n---\nWiki\n"})
    await uses.catalogue.rescan("acme")
    assert (await uses.curator.set_pin(ANA, "wiki", pinned=False)).tags == ()


async def test_a_file_that_changes_under_the_hand_is_not_overwritten(vault: Path) -> None:
    """The edit in between survives, and the caller hears of it."""
    async with use_cases(
        NoMetadata({"acme": (vault,)}), MemoryRetrieval(), open_source=edited_meanwhile
    ) as uses:
        with pytest.raises(NoteChanged):
            await uses.curator.set_pin(ANA, "plan", pinned=True)
    assert text(vault, "Team/p/plan.md") == PLAN + "edited\n"


async def test_muting_writes_its_fields_and_nothing_else(uses: UseCases, vault: Path) -> None:
    """With an end, without one, and unmuted again."""
    until = NOW + timedelta(days=1)
    muted = await uses.curator.set_mute(ANA, "", "diet", muted=True, until=until)
    assert (muted.muted, muted.muted_until) == (True, until)
    fields = f"muted: true\nmuted_until: '{until.isoformat()}'\n"
    assert text(vault, "Ana/memory/diet.md") == DIET.replace("---\nNotes", f"{fields}---\nNotes")
    muted = await uses.curator.set_mute(ANA, "", "diet", muted=True, until=None)
    assert (muted.muted, muted.muted_until) == (True, None)
    unmuted = await uses.curator.set_mute(ANA, "", "diet", muted=False, until=until)
    assert (unmuted.muted, unmuted.muted_until) == (False, None)
    assert text(vault, "Ana/memory/diet.md") == DIET.replace(
        "---\nNotes", "muted: false\n---\nNotes"
    )


async def test_a_mute_with_an_end_ends_without_a_write(uses: UseCases, vault: Path) -> None:
    """Resolving before and after its end tells it apart; the file stays."""
    end = uses.clock.time + timedelta(hours=1)
    await uses.curator.set_mute(ANA, "", "diet", muted=True, until=end)
    written = text(vault, "Ana/memory/diet.md")
    assert uses.curator.resolve(ANA, "", None, len).elements[-1].verdict == "muted"
    uses.clock.time = end
    assert uses.curator.resolve(ANA, "", None, len).elements[-1].verdict == "loaded"
    assert text(vault, "Ana/memory/diet.md") == written


async def test_categories_are_muted_on_their_axis_by_who_may(uses: UseCases) -> None:
    """Writers of the project's space; nobody on another's axis, no unknown name."""
    muted = await uses.curator.set_mute(ANA, "p", "stack", muted=True, until=None)
    assert (muted.owner_id, muted.muted) == ("p", True)
    assert [each.category for each in uses.curator.categories(ANA, "")] == ["diet"]
    assert [each.category for each in uses.curator.categories(BOB, "p")] == ["stack"]
    for who, project, category, error in (
        (BOB, "p", "stack", WriteRefused),
        (EVE, "p", "stack", ProjectNotFound),
        (BOB, "", "diet", CategoryNotFound),
        (ANA, "", "stack", CategoryNotFound),
    ):
        with pytest.raises(error):
            await uses.curator.set_mute(who, project, category, muted=True, until=None)


async def test_a_project_with_the_id_of_a_user_has_none_of_its_categories(
    uses: UseCases, vault: Path
) -> None:
    """The axis tells them apart."""
    write_files(vault, {"Ana/lab/.hilvan-project.yaml": "id: ana\n"})
    await uses.catalogue.rescan("acme")
    assert uses.curator.categories(ANA, "ana") == []


async def test_stamping_writes_the_ids_that_notes_go_by(uses: UseCases, vault: Path) -> None:
    """Only files without one, in front of what they say; a broken file keeps nobody back."""
    before = by_path(uses, "one.md")
    assert await uses.curator.stamp(ANA, "ana") == ["one.md"]
    assert text(vault, "Ana/one.md") == f"---\nid: {before}\n---\n# One\n"
    assert text(vault, "Ana/broken.md") == VAULT["Ana/broken.md"]
    assert text(vault, "Ana/memory/diet.md") == DIET
    assert await uses.curator.stamp(ANA, "ana") == []
    (vault / "Ana/one.md").rename(vault / "Ana/renamed.md")
    await uses.catalogue.rescan("acme")
    assert by_path(uses, "renamed.md") == before


async def test_a_file_that_changes_meanwhile_is_stamped_next_time(vault: Path) -> None:
    """It is left out, and the call does not fail for it."""
    async with use_cases(
        NoMetadata({"acme": (vault,)}), MemoryRetrieval(), open_source=edited_meanwhile
    ) as uses:
        assert await uses.curator.stamp(ANA, "ana") == []
    assert text(vault, "Ana/one.md") == "# One\nedited\n"


async def test_only_writers_stamp(uses: UseCases) -> None:
    """Readers are refused, others hear of no space."""
    with pytest.raises(WriteRefused):
        await uses.curator.stamp(BOB, "team")
    for who, space in ((EVE, "team"), (BOB, "ana"), (ADMIN, "ana")):
        with pytest.raises(SpaceNotFound):
            await uses.curator.stamp(who, space)


async def test_members_are_set_by_writers_of_shared_spaces(uses: UseCases) -> None:
    """And by admins and services; a personal space has none to set."""
    members = Members(frozenset({"eve"}), frozenset({"ana"}))
    for who in (ANA, ADMIN, SERVICE):
        await uses.curator.set_members(who, "team", members)
    assert uses.curator.note(EVE, "wiki")[1].id == "wiki"
    for who, space, error in (
        (EVE, "team", WriteRefused),
        (BOB, "team", SpaceNotFound),
        (ANA, "ana", SpaceNotFound),
        (ADMIN, "ana", SpaceNotFound),
    ):
        with pytest.raises(error):
            await uses.curator.set_members(who, space, members)


async def test_a_session_tells_what_changed_since_the_last_acknowledged(
    uses: UseCases, vault: Path
) -> None:
    """Of the scope's notes; a preview and an unacknowledged session change nothing."""
    first = await uses.curator.open_session(ANA, "p", preview=False)
    assert (first.since, list(first.deltas)) == (None, [])
    assert [note.id for note in first.notes] == ["plan"]
    await uses.curator.acknowledge(ANA, first.session_id)
    began, uses.clock.time = uses.clock.time, uses.clock.time + timedelta(hours=1)
    write_files(vault, {"Team/p/new.md": "New\n", "Team/wiki.md": "elsewhere\n"})
    await uses.catalogue.rescan("acme")
    for preview in (True, False, True):
        opened = await uses.curator.open_session(ANA, "p", preview=preview)
        assert (opened.session_id == "") is preview
        assert opened.since == began
        assert [(d.title, d.change) for d in opened.deltas] == [("new", NoteChange.ADDED)]
    with pytest.raises(SessionNotFound):
        await uses.curator.acknowledge(BOB, first.session_id)


async def test_the_personal_scope_has_the_notes_of_ones_own_spaces(uses: UseCases) -> None:
    """All of them, and nobody else's."""
    opened = await uses.curator.open_session(ANA, "", preview=True)
    assert folders(opened.notes) == [".", "memory"]
    assert {note.space_id for note in opened.notes} == {"ana"}
    assert (await uses.curator.open_session(BOB, "", preview=True)).notes == []


async def test_the_default_budget_is_the_scopes(uses: UseCases) -> None:
    """22,000 tokens personal, 38,000 in a project; zero is a budget."""
    budgets = [
        uses.curator.resolve(ANA, project, tokens, len).budget.tokens
        for project, tokens in (("", None), ("p", None), ("p", 0))
    ]
    assert budgets == [22_000, 38_000, 0]


def by_path(uses: UseCases, path: str) -> str:
    """The id of Ana's note at a path."""
    (space,) = uses.curator.vaults(ANA).personal(ANA)
    return next(note.id for note in space.notes if note.path == path)
