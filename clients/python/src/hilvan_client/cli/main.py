"""The `hilvan` command: the root options, and the table of commands.

Command modules import gRPC and rich inside their functions, so that ``--help`` is fast.
"""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hilvan_client.cli import (
    consolidate,
    dev,
    doctor,
    key,
    memory,
    notes,
    query,
    reindex,
    transfer,
    vault,
)
from hilvan_client.cli.output import report
from hilvan_client.cli.settings import Settings
from hilvan_client.service_config import Service

_ANYWHERE = ("--json", "--debug")


class _Root(TyperGroup):
    """Takes ``--json`` and ``--debug`` at any place, and turns errors into exit codes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        flags = [item for item in args[:end] if item in _ANYWHERE]
        rest = [item for item in args[:end] if item not in _ANYWHERE]
        return super().parse_args(ctx, [*flags, *rest, *args[end:]])

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            if hasattr(error, "format_message"):  # a usage error, which typer itself shows
                raise
            raise typer.Exit(report(error, ctx.obj)) from error


app = typer.Typer(
    name="hilvan",
    cls=_Root,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root(
    ctx: typer.Context,
    *,
    home: Annotated[
        Path, typer.Option(envvar="HILVAN_HOME", help="Where `hilvan dev` keeps its files.")
    ] = Path(".hilvan"),
    retrieval: Annotated[
        str | None, typer.Option(envvar="HILVAN_RETRIEVAL", help="Address of retrieval.")
    ] = None,
    curation: Annotated[
        str | None, typer.Option(envvar="HILVAN_CURATION", help="Address of curation.")
    ] = None,
    assembler: Annotated[
        str | None, typer.Option(envvar="HILVAN_ASSEMBLER", help="Address of assembler.")
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(
            envvar="HILVAN_API_KEY", show_envvar=True, help="Credential; better as environment."
        ),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(envvar="HILVAN_TENANT", help="Tenant to act for.")
    ] = None,
    user: Annotated[str | None, typer.Option(envvar="HILVAN_USER", help="User to act for.")] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds for each call; default: by its method.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Hilvan assembles the context that a language model receives."""
    given = {
        Service.RETRIEVAL: retrieval,
        Service.CURATION: curation,
        Service.ASSEMBLER: assembler,
    }
    ctx.obj = Settings(
        home=home,
        given={service: address for service, address in given.items() if address},
        api_key=api_key,
        tenant=tenant,
        user=user,
        timeout=timeout,
        json=json,
        debug=debug,
    )


app.add_typer(dev.app, name="dev")
app.command("assemble")(query.assemble)
app.command("search")(query.search)
app.command("recall")(query.recall)
app.command("start-session")(query.start_session)
app.command("remember")(memory.remember)
app.command("get")(memory.get)
app.command("forget")(memory.forget)
app.command("import")(transfer.import_file)
app.command("export")(transfer.export)
app.add_typer(vault.app, name="vault")
app.add_typer(notes.app, name="notes")
app.command("doctor")(doctor.doctor)
app.add_typer(reindex.app, name="reindex")
app.command("consolidate")(consolidate.consolidate)
app.add_typer(key.app, name="key")


def main() -> None:
    """The entry point of the `hilvan` command."""
    app()


if __name__ == "__main__":
    main()
