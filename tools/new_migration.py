"""Write a migration from what the tables have and the history does not.

    python tools/new_migration.py retrieval|curation some_words [--check]

The new file goes to the service's `migrations/versions`: read it, and add what moves rows. With
--check nothing is written, and the exit code is 1 when the tables are ahead of the history.
"""

import argparse
from collections.abc import Sequence

from alembic.autogenerate import produce_migrations, render_python_code
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, create_engine

from hilvan_curation.adapters.metadata.database import MIGRATIONS as CURATION
from hilvan_curation.adapters.metadata.tables import metadata as curation_tables
from hilvan_kit.sql import Migrations
from hilvan_retrieval.adapters.record.database import MIGRATIONS as RETRIEVAL
from hilvan_retrieval.adapters.record.tables import metadata as retrieval_tables

SERVICES = {
    "retrieval": (RETRIEVAL, retrieval_tables),
    "curation": (CURATION, curation_tables),
}

NOTHING = "pass"
TEMPLATE = '''"""{title}."""

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = {down}


def upgrade() -> None:
    """Forward only: the way back is a backup."""
    {body}
'''


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 when there is something to write, with --check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("service", choices=SERVICES)
    parser.add_argument("name", nargs="?", default="next")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    migrations, tables = SERVICES[options.service]
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        migrations.upgrade(connection)
        body = difference(connection, migrations, tables)
    engine.dispose()
    if body == NOTHING:
        print("the history has all that the tables have")
        return 0
    if options.check:
        print(body)
        return 1
    scripts = ScriptDirectory(str(migrations.folder))
    head = scripts.get_current_head()
    revision = f"{int(head or 0) + 1:04}"
    path = migrations.folder / "versions" / f"v{revision}_{options.name}.py"
    title = options.name.replace("_", " ").capitalize()
    down = f'"{head}"' if head else None
    path.write_text(TEMPLATE.format(title=title, revision=revision, down=down, body=body))
    print(path)
    return 0


def difference(connection: Connection, migrations: Migrations, tables: MetaData) -> str:
    """The code that makes of the database what the tables say; `pass` for nothing."""
    context = MigrationContext.configure(
        connection,
        opts={
            "version_table": migrations.version_table,
            "target_metadata": tables,
            "render_as_batch": True,
            "compare_type": True,
        },
    )
    operations = produce_migrations(context, tables).upgrade_ops
    if operations is None:
        return NOTHING
    code = render_python_code(operations, render_as_batch=True, migration_context=context)
    lines = [line for line in code.splitlines() if not line.strip().startswith("#")]
    return "\n".join(lines).strip()


if __name__ == "__main__":
    raise SystemExit(main())
