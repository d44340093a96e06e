"""`hilvan notes`: what people choose in their notes: ids, pins, mutes."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from hilvan_client.cli import output
from hilvan_client.cli.connection import call

if TYPE_CHECKING:
    from rich.console import Console

    from hilvan.curation.v1.curation_service_pb2 import Category, Note
    from hilvan_client import Hilvan

app = typer.Typer(help="Notes: ids, pins, mutes.", no_args_is_help=True, rich_markup_mode=None)

_Note = Annotated[str, typer.Argument(help="Id of the note; `hilvan notes list` shows it.")]
_Category = Annotated[str, typer.Argument(help="A category of memory, such as `smalltalk`.")]
_Project = Annotated[str, typer.Option(help="The project whose category it is; default: your own.")]


@app.command("list")
def list_notes(
    ctx: typer.Context,
    space: Annotated[str, typer.Option(help="Only of this space.")] = "",
    project: Annotated[str, typer.Option(help="Only of this project.")] = "",
) -> None:
    """List notes with their ids."""

    async def work(hilvan: "Hilvan") -> "list[Note]":
        from hilvan.curation.v1.curation_service_pb2 import ListNotesRequest

        request = ListNotesRequest(space_id=space, project_id=project, page_size=1000)
        found: list[Note] = []
        while True:
            page = await hilvan.curation.ListNotes(request)
            found += page.notes
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    notes = call(ctx.obj, work)
    rows = [
        (each.id, each.space_id, each.path, each.title, "pinned" if each.pinned else "")
        for each in notes
    ]

    def show(console: "Console") -> None:
        console.print(output.table(("id", "space", "path", "title", ""), rows))

    output.emit(ctx.obj, {"notes": [output.as_json(each) for each in notes]}, show)


@app.command("stamp")
def stamp(
    ctx: typer.Context, space: Annotated[str, typer.Argument(help="Id of the space.")]
) -> None:
    """Write ids into the files that have none, so that a rename keeps them."""
    from hilvan.curation.v1.curation_service_pb2 import StampNotesRequest

    request = StampNotesRequest(space_id=space)
    answer = call(ctx.obj, lambda hilvan: hilvan.curation.StampNotes(request))

    def show(console: "Console") -> None:
        for path in answer.paths:
            console.print(path)
        console.print(f"{len(answer.paths)} files got an id")

    output.emit(ctx.obj, answer, show)


@app.command("pin")
def pin(ctx: typer.Context, note: _Note) -> None:
    """Load a note always: of your own space in every session, of a project in that project."""
    from hilvan.curation.v1.curation_service_pb2 import PinNoteRequest

    request = PinNoteRequest(note_id=note)
    answer = call(ctx.obj, lambda hilvan: hilvan.curation.PinNote(request))
    output.emit(ctx.obj, answer, lambda console: console.print(f"pinned: {answer.note.path}"))


@app.command("unpin")
def unpin(ctx: typer.Context, note: _Note) -> None:
    """Load a note no longer always."""
    from hilvan.curation.v1.curation_service_pb2 import UnpinNoteRequest

    request = UnpinNoteRequest(note_id=note)
    answer = call(ctx.obj, lambda hilvan: hilvan.curation.UnpinNote(request))
    output.emit(ctx.obj, answer, lambda console: console.print(f"not pinned: {answer.note.path}"))


@app.command("mute")
def mute(
    ctx: typer.Context,
    category: _Category,
    *,
    project: _Project = "",
    until: Annotated[
        datetime | None, typer.Option(help="When the mute ends by itself, in UTC.")
    ] = None,
) -> None:
    """Keep a noisy category out of prompts and recalls; searches still find it."""
    _set_mute(ctx, category, project, muted=True, until=until)


@app.command("unmute")
def unmute(ctx: typer.Context, category: _Category, *, project: _Project = "") -> None:
    """Let a category into prompts again."""
    _set_mute(ctx, category, project, muted=False, until=None)


def _set_mute(
    ctx: typer.Context, name: str, project: str, *, muted: bool, until: datetime | None
) -> None:
    from hilvan.curation.v1 import curation_service_pb2 as pb

    request = pb.SetCategoryMuteRequest(
        scope=pb.Scope(project_id=project), category=name, muted=muted
    )
    if until is not None:
        request.until_time.FromDatetime(until)
    answer = call(ctx.obj, lambda hilvan: hilvan.curation.SetCategoryMute(request))

    def show(console: "Console") -> None:
        console.print(_state(answer.category))

    output.emit(ctx.obj, answer, show)


def _state(category: "Category") -> str:
    if not category.muted:
        return f"not muted: {category.category}"
    if category.HasField("mute_until_time"):
        return f"muted until {category.mute_until_time.ToJsonString()}: {category.category}"
    return f"muted: {category.category}"
