"""The catalogue over real files: taking vaults in, following them, losing them for a while."""

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.curation.service import MemoryRetrieval, UseCases, until, use_cases, write_files
from support.curation.values import ADMIN, ANA

from hilvan_curation.adapters.metadata import NoMetadata, SqlMetadata
from hilvan_curation.adapters.notes import FileNoteSource
from hilvan_curation.errors import (
    MetadataRequired,
    MetadataUnavailable,
    SourceUnavailable,
    VaultRefused,
)
from hilvan_curation.model.space import Members
from hilvan_curation.ports.note import NoteSource

MARKER = "id: ana\nkind: personal\nowner: ana\n"
VAULT = {
    "Ana/.hilvan-space.yaml": MARKER,
    "Ana/one.md": "# One\n\nFirst text.\n",
    "Team/.hilvan-space.yaml": "id: team\nkind: shared\nwriters: [ana]\n",
    "Team/p/.hilvan-project.yaml": "id: p\n",
    "Team/p/plan.md": "The plan.\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault beneath a root."""
    return write_files(tmp_path / "root/acme", VAULT)


async def store(tmp_path: Path) -> SqlMetadata:
    """A metadata database."""
    return await SqlMetadata.open_sqlite(tmp_path / "metadata.sqlite")


def from_here(path: Path) -> Path:
    """The same place, relative to where the program runs."""
    return Path(os.path.relpath(path))


def paths(uses: UseCases, tenant: str = "acme") -> set[str]:
    """The paths of Ana's notes."""
    found = uses.catalogue.vaults(tenant).readable(ANA)
    return {note.path for snapshot in found for note in snapshot.notes}


async def test_a_vault_is_taken_in_and_kept(vault: Path, tmp_path: Path) -> None:
    """Its notes are there at once, retrieval hears of them, and a restart knows it."""
    root, retrieval = vault.parent, MemoryRetrieval()
    async with use_cases(await store(tmp_path), retrieval, roots=[root]) as uses:
        assert paths(uses) == set()
        await uses.catalogue.add_vault("acme", vault)
        assert paths(uses) == {"one.md", "p/plan.md"}
        assert set(retrieval.policies) == {("acme", "ana"), ("acme", "team")}
        await until(lambda: len(retrieval.entries) == 2)
        await uses.catalogue.ping()
    async with use_cases(await store(tmp_path), retrieval, roots=[root]) as uses:
        assert paths(uses) == {"one.md", "p/plan.md"}
        assert paths(uses, "globex") == set()


async def test_adding_a_vault_again_reads_it_anew(vault: Path, tmp_path: Path) -> None:
    """It stays one vault, and what changed is there when it returns."""
    async with use_cases(await store(tmp_path), MemoryRetrieval(), roots=[vault.parent]) as uses:
        await uses.catalogue.add_vault("acme", vault)
        write_files(vault, {"Ana/two.md": "Second.\n"})
        vaults = await uses.catalogue.add_vault("acme", vault)
        assert len(vaults.snapshots) == 2
        assert "two.md" in paths(uses)


async def test_a_second_vault_joins_the_first(vault: Path, tmp_path: Path) -> None:
    """Both are followed from then on."""
    marker = "id: lab\nkind: shared\nreaders: [ana]\n"
    more = write_files(vault.parent / "more", {"Lab/.hilvan-space.yaml": marker})
    async with use_cases(await store(tmp_path), MemoryRetrieval(), roots=[vault.parent]) as uses:
        await uses.catalogue.add_vault("acme", vault)
        vaults = await uses.catalogue.add_vault("acme", more)
        assert [each.space.id for each in vaults.snapshots] == ["ana", "team", "lab"]
        write_files(more, {"Lab/new.md": "New.\n"})
        write_files(vault, {"Ana/two.md": "Second.\n"})
        await until(lambda: {"new.md", "two.md"} <= paths(uses))


class Watched(FileNoteSource):
    """Files of which it is known whether they are followed."""

    followed = True

    async def close(self) -> None:
        """Follow no more."""
        self.followed = False
        await super().close()


async def test_every_folder_is_followed_once(vault: Path, tmp_path: Path) -> None:
    """When a second vault joins, the files are opened anew and the old watch ends."""
    sources: list[Watched] = []

    def open_source(roots: Sequence[Path]) -> NoteSource:
        sources.append(Watched(roots))
        return sources[-1]

    more = write_files(vault.parent / "more", {"Lab/.hilvan-space.yaml": "id: lab\nkind: shared\n"})
    async with use_cases(
        await store(tmp_path), MemoryRetrieval(), roots=[vault.parent], open_source=open_source
    ) as uses:
        await uses.catalogue.add_vault("acme", vault)
        await uses.catalogue.add_vault("acme", more)
        assert [each.followed for each in sources] == [False, True]
    assert [each.followed for each in sources] == [False, False]


class SlowMembers(NoMetadata):
    """Keeps whoever asks for members waiting while the gate is shut."""

    def __init__(self, vault: Path) -> None:
        super().__init__({"acme": (vault,)})
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = 0

    async def members(self, tenant: str) -> dict[str, Members]:
        """Wait for the gate, if it was shut when asked."""
        self.asked += 1
        if not self.gate.is_set():
            await self.gate.wait()
        return await super().members(tenant)


async def test_what_was_read_first_does_not_replace_what_was_read_last(vault: Path) -> None:
    """Of two readings at once the later one counts, however long the earlier one takes."""
    metadata = SlowMembers(vault)
    async with use_cases(metadata, MemoryRetrieval(), open_source=FileNoteSource) as uses:
        metadata.gate.clear()
        asked = metadata.asked
        first = asyncio.create_task(uses.catalogue.rescan("acme"))
        await until(lambda: metadata.asked == asked + 1)
        write_files(vault, {"Ana/two.md": "Second.\n"})
        gate, metadata.gate = metadata.gate, asyncio.Event()
        metadata.gate.set()
        second = asyncio.create_task(uses.catalogue.rescan("acme"))
        await asyncio.wait([second], timeout=0.2)
        gate.set()
        await asyncio.gather(first, second)
        assert "two.md" in paths(uses)


class Flaky(NoMetadata):
    """A store that does not answer while it is down."""

    asked_in_vain = 0
    down = False

    async def members(self, tenant: str) -> dict[str, Members]:
        """Answer, or not."""
        if self.down:
            self.asked_in_vain += 1
            raise MetadataUnavailable("down, as told")
        return await super().members(tenant)


async def test_a_change_that_can_not_be_taken_in_yet_is_taken_in_later(vault: Path) -> None:
    """The watch goes on when the metadata database was away for a while."""
    metadata = Flaky({"acme": (vault,)})
    async with use_cases(metadata, MemoryRetrieval()) as uses:
        metadata.down = True
        write_files(vault, {"Ana/two.md": "Second.\n"})
        await until(lambda: metadata.asked_in_vain > 0)
        assert "two.md" not in paths(uses)
        metadata.down = False
        await until(lambda: "two.md" in paths(uses))


async def test_what_may_not_be_taken_in_is_refused_in_one_way(vault: Path, tmp_path: Path) -> None:
    """Outside of the roots, absent, a file, relative, a loop, a link out, a name too long."""
    root = vault.parent
    (root / "loop").symlink_to(root / "loop")
    (root / "out").symlink_to(tmp_path)
    refused = (
        tmp_path,
        root / "absent",
        vault / "Ana/one.md",
        from_here(vault),
        root / "loop",
        root / "out",
        root / ("x" * 300),
        root / "acme/../..",
    )
    async with use_cases(await store(tmp_path), MemoryRetrieval(), roots=[root]) as uses:
        messages = set()
        for path in refused:
            with pytest.raises(VaultRefused) as caught:
                await uses.catalogue.add_vault("acme", path)
            messages.add(str(caught.value))
        assert len(messages) == 1
    again = await store(tmp_path)
    assert await again.vaults() == {}
    await again.close()


async def test_a_vault_belongs_to_one_tenant(vault: Path, tmp_path: Path) -> None:
    """Neither it, nor a part of it, nor what is around it can be taken in by another one."""
    other = write_files(vault.parent / "globex", {})
    other.mkdir()
    async with use_cases(await store(tmp_path), MemoryRetrieval(), roots=[vault.parent]) as uses:
        await uses.catalogue.add_vault("acme", vault)
        for path in (vault, vault / "Ana", vault.parent):
            with pytest.raises(VaultRefused):
                await uses.catalogue.add_vault("globex", path)
        await uses.catalogue.add_vault("globex", other)


async def test_a_changed_file_shows_up(vault: Path) -> None:
    """Edited, new, removed: seen without being asked for, here and in retrieval."""
    retrieval = MemoryRetrieval()
    async with use_cases(NoMetadata({"acme": (vault,)}), retrieval) as uses:
        await until(lambda: retrieval.texts("user:ana") == {"# One\n\nFirst text."})
        write_files(vault, {"Ana/one.md": "# One\n\nEdited.\n", "Ana/two.md": "Second.\n"})
        (vault / "Team/p/plan.md").unlink()
        await until(lambda: paths(uses) == {"one.md", "two.md"})
        await until(lambda: retrieval.texts("user:ana") == {"# One\n\nEdited.", "Second."})
        await until(lambda: retrieval.texts("project:p") == set())


async def test_a_vault_that_vanishes_for_a_while_loses_nothing(vault: Path) -> None:
    """What is known stays, nothing is deleted from retrieval, and it is followed again after."""
    retrieval, away = MemoryRetrieval(), vault.parent / "away"
    async with use_cases(NoMetadata({"acme": (vault,)}), retrieval) as uses:
        await until(lambda: len(retrieval.entries) == 2)
        shutil.move(vault, away)
        with pytest.raises(SourceUnavailable):
            await uses.catalogue.rescan("acme")
        with pytest.raises(SourceUnavailable):
            await uses.catalogue.ping()
        assert paths(uses) == {"one.md", "p/plan.md"}
        assert len(retrieval.entries) == 2
        shutil.move(away, vault)
        write_files(vault, {"Ana/two.md": "Second.\n"})
        await until(lambda: "two.md" in paths(uses))
        await uses.catalogue.ping()
    assert ("delete_policy", "team") not in retrieval.told


async def test_a_vault_that_is_absent_at_the_start_is_read_when_it_comes(vault: Path) -> None:
    """The service starts, says that the tenant's files can't be read, and serves the others."""
    other = write_files(vault.parent / "globex", VAULT)
    away = shutil.move(vault, vault.parent / "away")
    fixed = {"acme": (vault,), "globex": (other,)}
    retrieval = MemoryRetrieval()
    async with use_cases(NoMetadata(fixed), retrieval) as uses:
        with pytest.raises(SourceUnavailable):
            uses.catalogue.vaults("acme")
        assert paths(uses, "globex") == {"one.md", "p/plan.md"}
        assert {tenant for tenant, _ in retrieval.policies} == {"globex"}
        await uses.catalogue.ping()
        shutil.move(away, vault)
        await until(lambda: ("acme", "team") in retrieval.policies)
        assert paths(uses) == {"one.md", "p/plan.md"}


async def test_a_vault_that_can_not_be_read_is_not_kept(vault: Path, tmp_path: Path) -> None:
    """Taking in fails as a whole, so the next start does not meet it."""
    async with use_cases(
        await store(tmp_path), MemoryRetrieval(), roots=[vault.parent], open_source=unreadable
    ) as uses:
        with pytest.raises(SourceUnavailable):
            await uses.catalogue.add_vault("acme", vault)
        assert uses.catalogue.vaults("acme").snapshots == ()
    again = await store(tmp_path)
    assert await again.vaults() == {}
    await again.close()


def unreadable(roots: object) -> FileNoteSource:
    """A source whose folder is gone when it is read."""
    del roots
    return FileNoteSource([Path("/nonexistent/vault")])


async def test_without_a_database_no_vault_can_be_added() -> None:
    """It says so before it looks at the path."""
    async with use_cases(NoMetadata({}), MemoryRetrieval()) as uses:
        with pytest.raises(MetadataRequired):
            await uses.catalogue.add_vault("acme", Path("relative"))
        await uses.catalogue.ping()


async def test_set_members_are_in_force_at_once(vault: Path, tmp_path: Path) -> None:
    """Here and in retrieval, and again after a restart."""
    retrieval = MemoryRetrieval()
    for begin in (True, False):
        async with use_cases(await store(tmp_path), retrieval, roots=[vault.parent]) as uses:
            if begin:
                await uses.catalogue.add_vault("acme", vault)
                assert paths(uses) == {"one.md", "p/plan.md"}
                await uses.curator.set_members(ADMIN, "team", Members())
            assert paths(uses) == {"one.md"}
            assert retrieval.policies["acme", "team"].writers == frozenset()


async def test_a_claimed_project_gives_nothing_away(vault: Path) -> None:
    """A marker copied into one's own space takes the project from both until it is gone."""
    retrieval = MemoryRetrieval()
    async with use_cases(NoMetadata({"acme": (vault,)}), retrieval) as uses:
        assert retrieval.policies["acme", "team"].project_ids == {"p"}
        thief = shutil.copytree(vault / "Team/p", vault / "Ana/p")
        await until(lambda: not retrieval.policies["acme", "team"].project_ids)
        assert retrieval.policies["acme", "ana"].project_ids == frozenset()
        assert len(uses.catalogue.vaults("acme").faults(ANA)) == 2
        shutil.rmtree(thief)
        await until(lambda: retrieval.policies["acme", "team"].project_ids == {"p"})
