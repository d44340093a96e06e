"""Every sentence of `NoteSource`, asked of the files on disk and of their double in memory."""

import asyncio
import os
import stat
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import pytest

from hilvan_curation.adapters.notes import FileNoteSource, MemoryNoteSource, Stamp, stamp_notes
from hilvan_curation.core.vault import MAX_NOTE_BYTES
from hilvan_curation.errors import (
    InvalidPath,
    NoteChanged,
    NoteNotFound,
    NoteTooLarge,
    SourceUnavailable,
)
from hilvan_curation.model.category import Axis
from hilvan_curation.model.space import Space, SpaceKind
from hilvan_curation.model.vault import SpaceSnapshot
from hilvan_curation.ports.note import NoteSource

DEADLINE = 20.0
TEAM = b"id: team\nname: The team\nkind: shared\n"
ANA = b"id: ana-notes\nkind: personal\nowner: ana\n"
VAULT = {
    "Team/.hilvan-space.yaml": TEAM,
    "Team/readme.md": b"---\nid: r1\ntags: [always-load]\n---\n# Read me\n",
    "Team/Apollo 11/.hilvan-project.yaml": b"id: p1\nname: Apollo\n",
    "Team/Apollo 11/plan.md": b"Plan\n",
    "Team/memory/apollo-11/stack.md": b"---\nsummary: Python\nmuted: true\n---\n",
    "Ana/.hilvan-space.yaml": ANA,
    "Ana/memory/preference.md": b"---\nsummary: Tea\n---\n",
    "loose/not-a-space.md": b"x",
}


class Vault(Protocol):
    """A source, and a way to the files behind its back."""

    @property
    def source(self) -> NoteSource:
        """The source over it."""

    def put(self, path: str, data: bytes | None) -> None:
        """Change or remove a file as another program would."""


class DiskVault:
    """A folder with a source over it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = FileNoteSource([root], poll_interval=0.2)

    def put(self, path: str, data: bytes | None) -> None:
        """Change or remove a file."""
        file = self.root / path
        if data is None:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)


class MemoryVault:
    """A dict with a source over it."""

    def __init__(self) -> None:
        self.source = MemoryNoteSource({})

    def put(self, path: str, data: bytes | None) -> None:
        """Change or remove a file."""
        self.source.put(path, data)


@pytest.fixture
async def disk(tmp_path: Path) -> AsyncIterator[DiskVault]:
    """The example vault on disk."""
    vault = DiskVault(tmp_path / "vault")
    for path, data in VAULT.items():
        vault.put(path, data)
    yield vault
    await vault.source.close()


@pytest.fixture(params=["disk", "memory"])
async def vault(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Vault]:
    """The example vault in each adapter."""
    made: Vault = DiskVault(tmp_path / "vault") if request.param == "disk" else MemoryVault()
    for path, data in VAULT.items():
        made.put(path, data)
    yield made
    await made.source.close()


async def space(source: NoteSource, space_id: str) -> SpaceSnapshot:
    """The snapshot of one space."""
    return next(found for found in await source.scan() if found.space.id == space_id)


# --- scan --------------------------------------------------------------------------------------


async def test_a_scan_is_a_snapshot_for_each_space(vault: Vault) -> None:
    """Spaces, projects, notes, categories and pins are as the files say."""
    ana, team = await vault.source.scan()
    assert ana.space == Space("ana-notes", "Ana", SpaceKind.PERSONAL, "ana", "Ana")
    assert team.space == Space("team", "The team", SpaceKind.SHARED, "", "Team")
    assert [project.handle for project in team.projects] == ["team/apollo-11"]
    assert [(note.path, note.title, note.project_id) for note in team.notes] == [
        ("Apollo 11/plan.md", "plan", "p1"),
        ("memory/apollo-11/stack.md", "stack", ""),
        ("readme.md", "Read me", ""),
    ]
    assert [(note.id, note.tags) for note in team.notes][2] == ("r1", ("always-load",))
    assert [
        (c.axis, c.owner_id, c.category, c.muted) for c in (*ana.categories, *team.categories)
    ] == [
        (Axis.USER, "ana", "preference", False),
        (Axis.PROJECT, "p1", "stack", True),
    ]
    assert ana.faults == team.faults == ()


async def test_a_scan_says_what_is_there_now(vault: Vault) -> None:
    """Changed, new and removed files and spaces show in the next scan."""
    await vault.source.scan()
    vault.put("Team/readme.md", b"# Changed\n")
    vault.put("Team/new.md", b"# New\n")
    vault.put("Team/Apollo 11/plan.md", None)
    vault.put("Bob/.hilvan-space.yaml", b"id: bob\nkind: shared\n")
    vault.put("Ana/.hilvan-space.yaml", None)
    bob, team = await vault.source.scan()
    assert bob.space.id == "bob"
    assert [note.title for note in team.notes] == ["stack", "New", "Changed"]


async def test_a_scan_without_changes_is_the_same(vault: Vault) -> None:
    """Two scans of the same files are equal, derived ids included."""
    assert await vault.source.scan() == await vault.source.scan()


async def test_hidden_files_are_no_notes(vault: Vault) -> None:
    """Files in hidden folders, hidden files and other kinds of files are left out."""
    before = await vault.source.scan()
    for name in (".obsidian/a.md", ".a.md", "a.txt", "a.md.bak", ".trash/.hilvan-project.yaml"):
        vault.put(f"Team/{name}", b"x")
    assert await vault.source.scan() == before


async def test_a_space_id_is_there_once(vault: Vault) -> None:
    """The second space with an id is closed and says so; the first one keeps its notes."""
    vault.put("Copy/.hilvan-space.yaml", TEAM)
    vault.put("Copy/kept.md", b"x")
    ana, copy, team = await vault.source.scan()
    assert len({ana.space.id, copy.space.id, team.space.id}) == 3
    assert (copy.space.id, [note.path for note in copy.notes]) == ("team", ["kept.md"])
    assert team.space.closed
    assert team.notes == ()
    assert "belongs to another space" in team.faults[0].message
    assert await vault.source.read("team", "kept.md") == b"x"


async def test_what_cant_be_understood_keeps_nothing_else_out(vault: Vault) -> None:
    """Broken frontmatter, broken markers and oversized files are faults beside good notes."""
    vault.put("Team/a-broken.md", b"---\ntags: [always-load\n---\nText\n")
    vault.put("Team/b-huge.md", b"x" * (MAX_NOTE_BYTES + 1))
    vault.put("Team/Apollo 11/.hilvan-project.yaml", b"- no mapping\n")
    team = await space(vault.source, "team")
    assert [fault.path for fault in team.faults] == [
        "Apollo 11/.hilvan-project.yaml",
        "a-broken.md",
        "b-huge.md",
    ]
    by_path = {note.path: note for note in team.notes}
    assert (by_path["a-broken.md"].body, by_path["a-broken.md"].tags) == ("Text\n", ())
    assert by_path["a-broken.md"].faults == (team.faults[1],)
    assert "b-huge.md" not in by_path
    assert by_path["readme.md"].tags == ("always-load",)


@pytest.mark.parametrize("marker", [b"", b"id: [", b"id: team\nkind: secret\n", b"kind: shared\n"])
async def test_a_space_with_an_unreadable_marker_is_closed(vault: Vault, marker: bytes) -> None:
    """It is nobody's, it has no notes, it says why, and its notes can't be reached."""
    vault.put("Team/.hilvan-space.yaml", marker)
    _, team = await vault.source.scan()
    assert team.space.closed
    assert (team.notes, team.projects, team.categories) == ((), (), ())
    assert team.faults[0].path == ".hilvan-space.yaml"
    with pytest.raises(NoteNotFound):
        await vault.source.read(team.space.id, "readme.md")


async def test_a_scan_writes_nothing(disk: DiskVault) -> None:
    """Files keep their bytes and times, folders their entries."""

    def state() -> dict[Path, tuple[int, bytes]]:
        files = [file for file in disk.root.rglob("*") if file.is_file()]
        return {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in files}

    before = state()
    await disk.source.scan()
    assert state() == before


async def test_a_vault_out_of_reach_is_an_error(tmp_path: Path) -> None:
    """A missing root is never an empty vault: whoever indexes it would forget everything."""
    source = FileNoteSource([tmp_path / "missing"])
    with pytest.raises(SourceUnavailable):
        await source.scan()
    with pytest.raises(SourceUnavailable):
        await source.ping()


# --- read --------------------------------------------------------------------------------------


async def test_reading_returns_the_bytes(vault: Vault) -> None:
    """The file is read as it is, also before any scan."""
    assert await vault.source.read("team", "readme.md") == VAULT["Team/readme.md"]


@pytest.mark.parametrize(
    ("space_id", "path"), [("team", "none.md"), ("team", "no/such.md"), ("nobody", "readme.md")]
)
async def test_reading_what_is_not_there(vault: Vault, space_id: str, path: str) -> None:
    """A missing file and a missing space are told alike."""
    with pytest.raises(NoteNotFound, match=f"'{path}' of space '{space_id}' not found"):
        await vault.source.read(space_id, path)


BAD_PATHS = [
    "",
    "/etc/passwd.md",
    "../Ana/memory/preference.md",
    "a/../../Ana/memory/preference.md",
    "./readme.md",
    "a//b.md",
    "readme.md/",
    ".hilvan-space.yaml",
    ".git/hooks.md",
    "a/.b/c.md",
    ".md",
    "readme.txt",
    "a\0.md",
    "\ud800.md",
]


@pytest.mark.parametrize("path", BAD_PATHS)
async def test_paths_that_are_no_notes_are_refused(vault: Vault, path: str) -> None:
    """No path leaves the space, touches a marker or a hidden folder, or another kind of file."""
    with pytest.raises(InvalidPath):
        await vault.source.read("team", path)
    with pytest.raises(InvalidPath):
        await vault.source.write("team", path, b"x", expected=None)


async def test_reading_too_much(vault: Vault) -> None:
    """A file of the limit is read, a larger one is not."""
    vault.put("Team/huge.md", b"x" * MAX_NOTE_BYTES)
    assert len(await vault.source.read("team", "huge.md")) == MAX_NOTE_BYTES
    vault.put("Team/huge.md", b"x" * (MAX_NOTE_BYTES + 1))
    with pytest.raises(NoteTooLarge):
        await vault.source.read("team", "huge.md")


# --- write -------------------------------------------------------------------------------------


async def test_writing_replaces_what_the_caller_saw(vault: Vault) -> None:
    """The new bytes are read back, and the next scan sees them."""
    await vault.source.scan()
    old = VAULT["Team/readme.md"]
    await vault.source.write("team", "readme.md", b"# New\n", expected=old)
    assert await vault.source.read("team", "readme.md") == b"# New\n"
    assert (await space(vault.source, "team")).notes[-1].title == "New"


async def test_writing_makes_a_file_and_its_folders(vault: Vault) -> None:
    """A new file needs no folder to be there."""
    await vault.source.write("team", "memory/new/deep.md", b"x", expected=None)
    assert await vault.source.read("team", "memory/new/deep.md") == b"x"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("readme.md", b"something else"),
        ("readme.md", None),
        ("none.md", b"x"),
        ("no/such/folder.md", b"x"),
    ],
)
async def test_writing_over_another_state_is_refused(
    vault: Vault, path: str, expected: bytes | None
) -> None:
    """What the caller did not see is not overwritten, and nothing is left behind."""
    before = await vault.source.scan()
    with pytest.raises(NoteChanged):
        await vault.source.write("team", path, b"new", expected=expected)
    assert await vault.source.scan() == before


async def test_one_of_many_writers_wins(vault: Vault) -> None:
    """Of writers that saw the same bytes, one writes and the others are told."""
    old = VAULT["Team/readme.md"]
    writes = [vault.source.write("team", "readme.md", b"%d" % n, expected=old) for n in range(16)]
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert results.count(None) == 1
    assert sum(isinstance(result, NoteChanged) for result in results) == 15
    winner = results.index(None)
    assert await vault.source.read("team", "readme.md") == b"%d" % winner


async def test_writing_where_there_is_no_space(vault: Vault) -> None:
    """A space that is not there can't be written."""
    with pytest.raises(NoteNotFound):
        await vault.source.write("nobody", "a.md", b"x", expected=None)


async def test_writing_too_much(vault: Vault) -> None:
    """A note has at most the limit of bytes."""
    with pytest.raises(NoteTooLarge):
        await vault.source.write("team", "a.md", b"x" * (MAX_NOTE_BYTES + 1), expected=None)


# --- changes, ping, close ----------------------------------------------------------------------


async def test_changes_name_the_spaces(vault: Vault) -> None:
    """A change behind the source's back and one through it are both told, each for its space."""
    await vault.source.scan()
    changes = vault.source.changes()
    vault.put("Ana/new.md", b"x")
    assert await asyncio.wait_for(anext(changes), DEADLINE) == {"ana-notes"}
    await vault.source.write("team", "new.md", b"x", expected=None)
    assert await asyncio.wait_for(anext(changes), DEADLINE) == {"team"}


async def test_spaces_that_come_and_go_are_changes(vault: Vault) -> None:
    """A new space is named, and so is one that went away."""
    await vault.source.scan()
    changes = vault.source.changes()
    vault.put("Bob/.hilvan-space.yaml", b"id: bob\nkind: shared\n")
    assert await asyncio.wait_for(anext(changes), DEADLINE) == {"bob"}
    vault.put("Bob/.hilvan-space.yaml", None)
    assert await asyncio.wait_for(anext(changes), DEADLINE) == {"bob"}


async def test_changes_before_watching_are_told(vault: Vault) -> None:
    """What changed between the last scan and the first step of the iterator is not missed."""
    await vault.source.scan()
    changes = vault.source.changes()
    vault.put("Team/new.md", b"x")
    await vault.source.scan()
    assert await asyncio.wait_for(anext(changes), DEADLINE) == {"team"}


async def test_without_a_scan_everything_is_new(vault: Vault) -> None:
    """An iterator that begins before any scan names every space first."""
    first = await asyncio.wait_for(anext(vault.source.changes()), DEADLINE)
    assert first == {"team", "ana-notes"}


async def test_closing_ends_the_changes(vault: Vault) -> None:
    """A waiting iterator and a later one end when the source is closed, which can be repeated."""
    await vault.source.scan()
    waiting = asyncio.ensure_future(anext(vault.source.changes(), None))
    done, _ = await asyncio.wait([waiting], timeout=0.05)
    assert not done
    await vault.source.close()
    await vault.source.close()
    assert await asyncio.wait_for(waiting, DEADLINE) is None
    assert await asyncio.wait_for(anext(vault.source.changes(), None), DEADLINE) is None


async def test_a_vault_that_is_away_for_a_while_ends_nothing(tmp_path: Path) -> None:
    """The iterator goes on when the root appears, although it could not be watched."""
    away = DiskVault(tmp_path / "vault")
    waiting = asyncio.ensure_future(anext(away.source.changes()))
    done, _ = await asyncio.wait([waiting], timeout=0.05)
    assert not done
    away.put("Team/.hilvan-space.yaml", TEAM)
    assert await asyncio.wait_for(waiting, DEADLINE) == {"team"}
    await away.source.close()


@pytest.mark.parametrize("path", ["Team/new.md", "Team/Apollo 11/.hilvan-project.yaml"])
async def test_the_system_tells_of_changes(disk: DiskVault, path: str) -> None:
    """Where the system watches, a note or a marker is told of without waiting for a poll."""
    source = FileNoteSource([disk.root], poll_interval=10 * DEADLINE)
    await source.scan()
    waiting = asyncio.ensure_future(anext(source.changes()))
    done, _ = await asyncio.wait([waiting], timeout=0.1)
    assert not done
    for n in range(100):  # the first of them may come before the watch
        disk.put(path, b"id: p%d\n" % n)
        done, _ = await asyncio.wait([waiting], timeout=DEADLINE / 100)
        if done:
            break
    assert await asyncio.wait_for(waiting, 0) == {"team"}
    await source.close()


async def test_a_source_in_reach_answers_the_ping(vault: Vault) -> None:
    """Nothing is returned and nothing is raised."""
    await vault.source.ping()


# --- what only disks have ----------------------------------------------------------------------


async def test_links_are_not_followed(disk: DiskVault, tmp_path: Path) -> None:
    """A linked file is a fault, a linked folder is left out, and neither is read or written."""
    (tmp_path / "secret.md").write_bytes(b"secret")
    (disk.root / "Team/link.md").symlink_to(tmp_path / "secret.md")
    (disk.root / "Team/out").symlink_to(tmp_path)
    (disk.root / "Team/loop").symlink_to(disk.root / "Team")
    team = await space(disk.source, "team")
    assert len(team.notes) == 3
    assert [(fault.path, "link" in fault.message) for fault in team.faults] == [("link.md", True)]
    for path in ("link.md", "out/secret.md", "loop/readme.md", "readme.md/x.md"):
        with pytest.raises(InvalidPath):
            await disk.source.read("team", path)
        with pytest.raises(InvalidPath):
            await disk.source.write("team", path, b"x", expected=b"secret")
    with pytest.raises(InvalidPath):
        await disk.source.write("team", "out/new.md", b"x", expected=None)
    assert (tmp_path / "secret.md").read_bytes() == b"secret"


async def test_a_linked_marker_closes_the_space(disk: DiskVault, tmp_path: Path) -> None:
    """A marker that is a link can't say whose a space is."""
    (tmp_path / "marker").write_bytes(TEAM)
    (disk.root / "Team/.hilvan-space.yaml").unlink()
    (disk.root / "Team/.hilvan-space.yaml").symlink_to(tmp_path / "marker")
    assert (await disk.source.scan())[1].space.closed


async def test_pipes_and_folders_are_no_notes(disk: DiskVault) -> None:
    """A pipe is a fault that nobody waits for; a folder named like a note is a folder."""
    os.mkfifo(disk.root / "Team/pipe.md")
    disk.put("Team/folder.md/inside.md", b"x")
    team = await space(disk.source, "team")
    assert [fault.path for fault in team.faults] == ["pipe.md"]
    assert "folder.md/inside.md" in {note.path for note in team.notes}
    for path in ("pipe.md", "folder.md"):
        with pytest.raises(InvalidPath):
            await disk.source.read("team", path)


async def test_names_that_are_no_text_are_faults(disk: DiskVault) -> None:
    """A file name that is not UTF-8 is listed in a readable form, its file left out."""
    disk.put("Team/\udcff.md", b"x")
    team = await space(disk.source, "team")
    assert [fault.path for fault in team.faults] == ["?.md"]
    assert len(team.notes) == 3


async def test_folders_too_deep_are_faults(disk: DiskVault) -> None:
    """A folder that can't be listed keeps the rest in; a path too long can't be asked for."""
    name = "d" * 250
    place = os.open(disk.root / "Team", os.O_RDONLY)
    for _ in range(20):
        os.mkdir(name, dir_fd=place)
        below = os.open(name, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)
    team = await space(disk.source, "team")
    assert "can't be listed" in team.faults[0].message
    assert len(team.notes) == 3
    with pytest.raises(InvalidPath, match="too long"):
        await disk.source.read("team", "x" * 300 + ".md")


async def test_a_file_keeps_its_mode_and_owner(disk: DiskVault) -> None:
    """Rewriting a file changes neither who may read it nor, where that is allowed, whose it is."""
    file = disk.root / "Team/readme.md"
    file.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(file, 12345, 12345)
    before = file.stat()
    await disk.source.write("team", "readme.md", b"x", expected=file.read_bytes())
    after = file.stat()
    assert stat.S_IMODE(after.st_mode) == 0o640
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)


async def test_a_write_leaves_only_its_file(disk: DiskVault) -> None:
    """No temporary file stays, written or refused."""
    before = sorted(disk.root.rglob("*"))
    await disk.source.write(
        "team", "readme.md", b"x", expected=(disk.root / "Team/readme.md").read_bytes()
    )
    with pytest.raises(NoteChanged):
        await disk.source.write("team", "readme.md", b"y", expected=b"z")
    assert sorted(disk.root.rglob("*")) == before


async def test_readers_never_see_a_part(disk: DiskVault) -> None:
    """While a file is rewritten again and again, each reading is one whole version."""
    file = disk.root / "Team/readme.md"
    versions = [bytes([letter]) * 300_000 for letter in b"ab"]
    file.write_bytes(versions[0])
    seen: set[bytes] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(file.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for n in range(20):
            await disk.source.write(
                "team", "readme.md", versions[(n + 1) % 2], expected=versions[n % 2]
            )
    finally:
        done.set()
        reader.join()
    assert seen <= set(versions)


async def test_an_unchanged_file_is_not_read_again(disk: DiskVault) -> None:
    """A file whose time, size and inode are the same is taken as it was."""
    file = disk.root / "Team/readme.md"
    os.utime(file, (1, 1))
    before = await space(disk.source, "team")
    with file.open("r+b") as opened:
        opened.write(b"-" * file.stat().st_size)
    os.utime(file, (1, 1))
    assert await space(disk.source, "team") is before
    os.utime(file, (2, 2))
    assert (await space(disk.source, "team")).notes[-1].title == "readme"


async def test_a_young_file_is_read_again(disk: DiskVault) -> None:
    """A file written a moment ago can change without a new stamp, so its stamp is not trusted."""
    file = disk.root / "Team/readme.md"
    now = file.stat()
    await disk.source.scan()
    with file.open("r+b") as opened:
        opened.write(b"-" * now.st_size)
    os.utime(file, ns=(now.st_atime_ns, now.st_mtime_ns))
    assert (await space(disk.source, "team")).notes[-1].title == "readme"


async def test_notes_know_when_they_were_modified(disk: DiskVault) -> None:
    """The time is the file's, in UTC, held inside the calendar."""
    os.utime(disk.root / "Team/readme.md", (1_700_000_000, 1_700_000_000))
    os.utime(disk.root / "Team/Apollo 11/plan.md", (-5, -5))
    team = await space(disk.source, "team")
    assert team.notes[-1].modified_time == datetime.fromtimestamp(1_700_000_000, UTC)
    assert team.notes[0].modified_time == datetime.fromtimestamp(0, UTC)


async def test_several_roots_are_one_source(disk: DiskVault, tmp_path: Path) -> None:
    """The spaces of all roots are found in their order, a root given twice counts once."""
    other = DiskVault(tmp_path / "other")
    other.put("Bob/.hilvan-space.yaml", b"id: bob\nkind: shared\n")
    source = FileNoteSource([other.root, disk.root, disk.root])
    assert [found.space.id for found in await source.scan()] == ["bob", "ana-notes", "team"]


def unreadable_vault(folder: Path) -> DiskVault:
    """The example vault in a folder that everybody may enter, with a note and a folder locked."""
    folder.chmod(0o711)
    vault = DiskVault(folder / "vault")
    for path, data in VAULT.items():
        vault.put(path, data)
    (vault.root / "Team/readme.md").chmod(0)
    (vault.root / "Team/Apollo 11").chmod(0)
    return vault


@contextmanager
def unprivileged() -> Iterator[None]:
    """Be somebody whom file modes bind."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


async def test_what_may_not_be_read_keeps_nothing_else_out() -> None:
    """A file and a folder without permission are faults; asked for by name they are unavailable."""
    with TemporaryDirectory() as folder:
        locked = unreadable_vault(Path(folder))
        with unprivileged():
            team = await space(locked.source, "team")
            assert [fault.path for fault in team.faults[:1]] == ["Apollo 11"]
            assert "readme.md" in {fault.path for fault in team.faults}
            assert {note.path for note in team.notes} == {"memory/apollo-11/stack.md"}
            with pytest.raises(SourceUnavailable, match="Permission denied"):
                await locked.source.read("team", "readme.md")
            with pytest.raises(SourceUnavailable, match="Permission denied"):
                await locked.source.write("team", "Apollo 11/a.md", b"x", expected=None)
        (locked.root / "Team/readme.md").chmod(0o644)
        assert "readme.md" in {note.path for note in (await space(locked.source, "team")).notes}


# --- stamping ----------------------------------------------------------------------------------


async def test_stamping_writes_the_ids_in_use(vault: Vault) -> None:
    """Each note without an id gets the one it has, all else stays, and a rename keeps it."""
    team = await space(vault.source, "team")
    plan, stack, _ = team.notes
    (ana,) = (await space(vault.source, "ana-notes")).notes
    assert await stamp_notes(vault.source) == [
        Stamp("ana-notes", "memory/preference.md", ana.id),
        Stamp("team", "Apollo 11/plan.md", plan.id),
        Stamp("team", "memory/apollo-11/stack.md", stack.id),
    ]
    raw = await vault.source.read("team", "Apollo 11/plan.md")
    assert raw == f"---\nid: {plan.id}\n---\nPlan\n".encode()
    vault.put("Team/Apollo 11/plan.md", None)
    vault.put("Team/Apollo 11/zz.md", raw)
    assert [note.id for note in (await space(vault.source, "team")).notes] == [
        plan.id,
        stack.id,
        "r1",
    ]


async def test_stamping_twice_changes_nothing(vault: Vault) -> None:
    """Notes that have an id are left alone."""
    await stamp_notes(vault.source)
    assert await stamp_notes(vault.source) == []


async def test_stamping_says_what_it_could_not_do(vault: Vault) -> None:
    """A note with broken frontmatter keeps its bytes and is named; the others are stamped."""
    vault.put("Team/a.md", b"---\nid: [\n---\n")
    stamps = await stamp_notes(vault.source)
    assert [(stamp.path, bool(stamp.problem)) for stamp in stamps][1:3] == [
        ("Apollo 11/plan.md", False),
        ("a.md", True),
    ]
    assert await vault.source.read("team", "a.md") == b"---\nid: [\n---\n"
