"""`hilvan vault`: the folders of notes that curation watches."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hilvan_client.cli import output
from hilvan_client.cli.connection import call
from hilvan_client.cli.output import Code

if TYPE_CHECKING:
    from rich.console import Console

    from hilvan_client import Hilvan

app = typer.Typer(help="Folders of notes.", no_args_is_help=True, rich_markup_mode=None)


@app.command("add")
def add(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(help="A folder on the machine of curation.")],
) -> None:
    """Watch a folder of notes; adding it again reads it anew."""
    from hilvan.curation.v1.curation_service_pb2 import AddVaultRequest

    request = AddVaultRequest(path=str(path.absolute()))
    answer = call(ctx.obj, lambda hilvan: hilvan.curation.AddVault(request))

    def show(console: "Console") -> None:
        console.print(_spaces(answer.spaces))
        if answer.faults:
            console.print(f"\n{len(answer.faults)} faults; `hilvan vault faults` lists them")

    output.emit(ctx.obj, answer, show)


@app.command("list")
def list_spaces(ctx: typer.Context) -> None:
    """List spaces and projects."""

    async def work(hilvan: "Hilvan") -> tuple[Any, Any]:
        from hilvan.curation.v1 import curation_service_pb2 as pb

        spaces = await hilvan.curation.ListSpaces(pb.ListSpacesRequest())
        return spaces, await hilvan.curation.ListProjects(pb.ListProjectsRequest())

    spaces, projects = call(ctx.obj, work)

    def show(console: "Console") -> None:
        if not spaces.spaces:
            console.print("no spaces yet; `hilvan vault add FOLDER` adds some")
            return
        console.print(_spaces(spaces.spaces))
        rows = [(item.handle, item.id, item.name, item.note_count) for item in projects.projects]
        console.print()
        console.print(output.table(("project", "id", "name", "notes"), rows))

    output.emit(ctx.obj, output.as_json(spaces) | output.as_json(projects), show)


@app.command("faults")
def faults(ctx: typer.Context) -> None:
    """List notes that could not be read whole."""
    from hilvan.curation.v1.curation_service_pb2 import ListFaultsRequest

    answer = call(ctx.obj, lambda hilvan: hilvan.curation.ListFaults(ListFaultsRequest()))
    rows = [(item.space_id, item.path, item.line, item.description) for item in answer.faults]

    def show(console: "Console") -> None:
        headers = ("space", "path", "line", "fault")
        console.print(output.table(headers, rows) if rows else "no faults")

    output.emit(ctx.obj, answer, show)
    if rows:
        raise typer.Exit(Code.ATTENTION)


def _spaces(spaces: Any) -> Any:
    rows = [
        (
            item.id,
            item.name,
            item.owner or "shared",
            item.note_count,
            "yes" if item.writable else "no",
        )
        for item in spaces
    ]
    return output.table(("space", "name", "owner", "notes", "writable"), rows)
