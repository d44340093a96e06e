"""Bringing a database to the schema of this release, with alembic."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, select
from sqlalchemy.ext.asyncio import AsyncConnection

from hilvan_kit.sql.database import Database
from hilvan_kit.sql.errors import DatabaseMisconfigured

PATIENCE_S = 3600.0
LOCK = "schema migration"


@dataclass(frozen=True, slots=True)
class Migrations:
    """A history of migrations, forward only, the same for every kind of database.

    Attributes:
        folder: where ``versions/`` is.
        version_table: where a database says its revision; another one a service, so that two of
            them may share a database.
        adopt: given a database without such a table, tells the revision that it is at, or None
            for one that has nothing yet.
    """

    folder: Path
    version_table: str
    adopt: Callable[[Connection], str | None]

    async def apply(self, database: Database, *, may_change: bool = True) -> None:
        """Bring the database to the last revision, in one transaction; one process at a time.

        Raises:
            DatabaseMisconfigured: a newer release migrated it, or it is behind and may not change.
        """
        # alembic takes half a second to import, which most starts have no need of.
        async with database.read() as reading:
            if await reading.run_sync(self.revision) == self.head:
                return

        async def work(connection: AsyncConnection) -> None:
            await connection.run_sync(self.upgrade, may_change)

        await database.write(work, locks=(LOCK,), patience_seconds=PATIENCE_S)

    def upgrade(self, connection: Connection, may_change: bool = True) -> None:  # noqa: FBT001, FBT002 - run_sync passes by place
        """As `apply`, inside a transaction that is open."""
        # Imported here, because a service needs it once, at its start.
        from alembic.config import Config
        from alembic.runtime.environment import EnvironmentContext
        from alembic.script import ScriptDirectory

        scripts = ScriptDirectory(str(self.folder))
        found = self.revision(connection)
        if found == self.head:
            return  # another replica was here
        self._require_known(found, scripts)
        if not may_change:
            raise DatabaseMisconfigured(
                "the database is behind this release, and the settings say not to change it: "
                "run the service once with --migrate-only"
            )
        adopted = self.adopt(connection) if found is None else None
        self._require_known(adopted, scripts)

        def steps(revision: Any, _: Any) -> Any:
            return scripts._upgrade_revs("head", revision)  # noqa: SLF001 - alembic's manual says so

        with EnvironmentContext(Config(), scripts, fn=steps) as environment:
            environment.configure(connection=connection, version_table=self.version_table)
            if adopted is not None:
                environment.get_context().stamp(scripts, adopted)
            environment.run_migrations()

    @property
    def head(self) -> str:
        """The last revision: a migration's file is named ``v<revision>_<words>.py``."""
        return max(each.name[1:5] for each in (self.folder / "versions").glob("v*.py"))

    def revision(self, connection: Connection) -> str | None:
        """The database's revision; None for one without a table of revisions."""
        noted = Table(self.version_table, MetaData(), Column("version_num", String))
        if not inspect(connection).has_table(self.version_table):
            return None
        found: str | None = connection.scalar(select(noted.c.version_num))
        return found

    def _require_known(self, revision: str | None, scripts: Any) -> None:
        known = {each.revision for each in scripts.walk_revisions()}
        if revision is not None and revision not in known:
            raise DatabaseMisconfigured(
                f"a newer release migrated the database (revision {revision}): "
                "use that release, or a backup from before it"
            )
