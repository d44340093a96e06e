"""Migrations of both services on both databases."""

import asyncio
import importlib.util
import os
import re
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Connection, MetaData, String, Table, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection
from support.engines.postgres_databases import new_database
from support.retrieval.record import quick_folder

from hilvan_curation.adapters.metadata import SqlMetadata
from hilvan_curation.adapters.metadata.database import MIGRATIONS as CURATION
from hilvan_curation.adapters.metadata.tables import metadata as curation_tables
from hilvan_curation.errors import MetadataMisconfigured
from hilvan_kit.sql import (
    Database,
    DatabaseMisconfigured,
    DatabaseUnavailable,
    Migrations,
    open_postgres,
    open_sqlite,
)
from hilvan_retrieval.adapters.record.database import MIGRATIONS as RETRIEVAL
from hilvan_retrieval.adapters.record.tables import metadata as retrieval_tables

SERVICES = {"retrieval": (RETRIEVAL, retrieval_tables), "curation": (CURATION, curation_tables)}


@dataclass(frozen=True, slots=True)
class Case:
    """A service's migrations, and a new database that can be opened again and again."""

    service: str
    migrations: Migrations
    tables: MetaData
    opened: Callable[[], Database]


@pytest.fixture(params=["sqlite", "postgresql"])
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Callable[[str], Database]]:
    """Gives a way to open one new database in a namespace, of each kind."""
    if request.param == "sqlite":
        with quick_folder() as folder:
            yield lambda _: open_sqlite(folder / "a.sqlite")
        return
    async with new_database(request.getfixturevalue("postgres_url")) as address:
        yield lambda namespace: open_postgres(address, namespace)


@pytest.fixture(params=list(SERVICES))
def case(request: pytest.FixtureRequest, place: Callable[[str], Database]) -> Case:
    """Gives each service on each kind of database."""
    return Case(request.param, *SERVICES[request.param], lambda: place(request.param))


@pytest.fixture
async def database(case: Case) -> AsyncIterator[Database]:
    """Opens the case's database."""
    opened = case.opened()
    yield opened
    await opened.close()


async def run(database: Database, *statements: str) -> None:
    """Run statements in a transaction."""

    async def work(connection: AsyncConnection) -> None:
        for each in statements:
            await connection.execute(text(each))

    await database.write(work)


async def run_sync(database: Database, work: Callable[[Connection], Any]) -> Any:
    """Run what alembic can do in a transaction only, and give its answer."""
    return await database.write(lambda connection: connection.run_sync(work))


async def rows(database: Database, statement: str) -> list[tuple[Any, ...]]:
    """Read rows."""
    async with database.read() as connection:
        return [tuple(row) for row in await connection.execute(text(statement))]


async def revisions(database: Database, case: Case) -> list[str]:
    """What the table of revisions has."""
    table = Table(case.migrations.version_table, MetaData(), Column("version_num", String))
    async with database.read() as connection:
        return list(await connection.scalars(select(table.c.version_num)))


def first_release(migrations: Migrations) -> Any:
    """The module of a service's first migration."""
    (path,) = (migrations.folder / "versions").glob("v0001_*.py")
    return module_at(path)


def module_at(path: Path) -> Any:
    """Load a module that is in no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_the_history_leads_to_the_tables(case: Case, database: Database) -> None:
    """A migrated database is what the tables say: nobody forgot a migration.

    `python tools/new_migration.py <service> <words>` writes a missing one.
    """
    await case.migrations.apply(database)

    def compare(connection: Connection) -> Any:
        options = {
            "version_table": case.migrations.version_table,
            "compare_type": True,
            "compare_server_default": True,
        }
        context = MigrationContext.configure(connection, opts=options)
        with warnings.catch_warnings():
            # Autogenerate can't read an index with DESC from SQLite; the next test does.
            warnings.filterwarnings("ignore", "autogenerate skipping", UserWarning)
            return compare_metadata(context, case.tables)

    assert await run_sync(database, compare) == []


@pytest.mark.parametrize("service", list(SERVICES))
async def test_the_history_makes_the_same_indexes_and_options(service: str) -> None:
    """SQLite keeps the texts of tables and indexes: they have the words that the tables make.

    Their order may differ: a column that was added stands at the end of its table.
    """
    migrations, tables = SERVICES[service]
    with quick_folder() as folder:
        database, other = open_sqlite(folder / "a.sqlite"), open_sqlite(folder / "b.sqlite")
        await migrations.apply(database)
        await run_sync(other, tables.create_all)
        migrated, made = await words(database), await words(other)
        await database.close()
        await other.close()
    assert migrated.pop(migrations.version_table)
    assert migrated.items() - made.items() == set()
    assert made.items() - migrated.items() == set()


async def words(database: Database) -> dict[str, tuple[str, ...]]:
    """The words of each text that SQLite keeps, sorted."""
    found = await rows(database, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {name: tuple(sorted(re.findall(r"[\w(]+", sql))) for name, sql in found}


async def test_migrating_again_changes_nothing(case: Case, database: Database) -> None:
    """A database that is up to date is left as it is, also by a service that may not change it."""
    await case.migrations.apply(database)
    await case.migrations.apply(database, may_change=False)
    assert await revisions(database, case) == [case.migrations.head]


@pytest.mark.parametrize("service", list(SERVICES))
def test_histories_are_lines_whose_files_bear_their_revisions(service: str) -> None:
    """The last file's name is the last revision, so that a start needs no alembic to know it."""
    migrations, _ = SERVICES[service]
    scripts = ScriptDirectory(str(migrations.folder))
    files = sorted(path.name[1:5] for path in (migrations.folder / "versions").glob("v*.py"))
    assert [each.revision for each in scripts.walk_revisions()][::-1] == files
    assert scripts.get_heads() == [migrations.head]


async def test_a_database_that_is_behind_may_be_left_alone(case: Case, database: Database) -> None:
    """A service that may not change it says what to do, and nothing is there afterwards."""
    with pytest.raises(DatabaseMisconfigured, match="--migrate-only"):
        await case.migrations.apply(database, may_change=False)
    assert await run_sync(database, case.migrations.revision) is None


async def test_a_newer_releases_database_is_refused(case: Case, database: Database) -> None:
    """The message names the revision and what to do, and the database stays as it is."""
    await case.migrations.apply(database)
    table = Table(case.migrations.version_table, MetaData(), Column("version_num", String))
    newer = update(table).values(version_num="9999")
    await database.write(lambda connection: connection.execute(newer))
    with pytest.raises(DatabaseMisconfigured, match=r"newer release.*9999.*use that release"):
        await case.migrations.apply(database)
    assert await revisions(database, case) == ["9999"]


async def test_replicas_that_start_at_once_migrate_once(case: Case) -> None:
    """Four of them on a new database: all of them start, one of them has migrated it."""
    replicas = [case.opened() for _ in range(4)]
    await asyncio.gather(*(case.migrations.apply(each) for each in replicas))
    found = await revisions(replicas[0], case)
    for each in replicas:
        await each.close()
    assert len(found) == 1


async def test_a_migration_that_fails_leaves_no_trace(case: Case, database: Database) -> None:
    """All of it is one transaction: the next start finds the database as it was."""
    taken = next(iter(case.tables.tables))
    broken = replace(case.migrations, adopt=lambda _: None)
    await run(database, f"CREATE TABLE {taken} (a INTEGER)")
    with pytest.raises(DatabaseUnavailable, match="can't be written"):
        await broken.apply(database)
    assert await run_sync(database, case.migrations.revision) is None


async def test_two_services_share_a_database(place: Callable[[str], Database]) -> None:
    """Each has its own table of revisions, and sees no other's tables as its own."""
    for service, (migrations, _) in SERVICES.items():
        database = place(service)
        await migrations.apply(database)
        await database.close()
    database = place("retrieval")
    found = [await run_sync(database, migrations.revision) for migrations, _ in SERVICES.values()]
    await database.close()
    assert None not in found


async def test_the_record_of_the_first_release_is_adopted(
    place: Callable[[str], Database],
) -> None:
    """Its vectors get the record's model, its waiting rows the first feeds, and it refuses back."""
    database = place("retrieval")
    await run_sync(database, first_release(RETRIEVAL).metadata.create_all)
    await run(
        database,
        "INSERT INTO meta VALUES ('schema', '1'), ('embedding_model', 'e5')",
        "INSERT INTO requests VALUES ('acme', 'r1', 'd', '[]', 7)",
        "INSERT INTO outbox VALUES (5, 'vector', 'u1', 'acme', 'm1', 2, 3, false, '')",
    )

    async def put_vector(connection: AsyncConnection) -> None:
        values = {"vector": b"\0\1"}
        await connection.execute(text("INSERT INTO vectors VALUES ('u1', 'h', :vector)"), values)

    await database.write(put_vector)
    await RETRIEVAL.apply(database)
    assert await rows(database, "SELECT uid, model, text_hash, vector FROM vectors") == [
        ("u1", "e5", "h", b"\0\1")
    ]
    assert await rows(database, "SELECT feed, uid, entry_id, attempts FROM outbox") == [
        ("vector.1", "u1", "m1", 2)
    ]
    assert await rows(database, "SELECT answer FROM requests") == [("[]",)]
    assert await rows(database, "SELECT value FROM meta WHERE key = 'schema'") == [("migrations",)]
    await database.close()


async def test_the_metadata_of_the_first_release_is_adopted(
    place: Callable[[str], Database],
) -> None:
    """What people set is still there."""
    database = place("curation")
    await run_sync(database, first_release(CURATION).metadata.create_all)
    await run(database, "INSERT INTO vaults VALUES ('acme', '/v')")
    await CURATION.apply(database)
    assert await rows(database, "SELECT * FROM vaults") == [("acme", "/v")]
    await database.close()


@pytest.mark.parametrize("service", list(SERVICES))
def test_the_command_migrates_and_serves_nothing(service: str, tmp_path: Path) -> None:
    """`--migrate-only` ends with 0 and needs no credentials."""
    clean = {name: text for name, text in os.environ.items() if not name.startswith("HILVAN_")}
    environment = clean | {f"HILVAN_{service.upper()}_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-m", f"hilvan_{service}.main", "--migrate-only"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.glob("*.sqlite"))


@pytest.mark.parametrize("service", list(SERVICES))
def test_the_tool_finds_nothing_to_write(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The tool that writes migrations agrees with the tests above."""
    tool = module_at(Path(__file__).parents[2] / "tools/new_migration.py")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "autogenerate skipping", UserWarning)
        code = tool.main([service, "--check"])
    assert code == 0, capsys.readouterr().out


async def test_the_metadatas_address_is_not_repeated() -> None:
    """An address that is none is refused at the start, without a word of it."""
    with pytest.raises(MetadataMisconfigured, match="percent-encoded") as caught:
        await SqlMetadata.open_postgres("postgresql://u:s3cret@127.0.0.1")
    assert "s3cret" not in repr(caught.value)
