"""`hilvan import` and `export`: many entries at once."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from hilvan_client.cli import output
from hilvan_client.cli.connection import call, owner
from hilvan_client.cli.output import Code, CommandError
from hilvan_client.cli.settings import Settings

if TYPE_CHECKING:
    from hilvan_client import Hilvan, ImportProgress, ImportSummary

# Seconds of a whole export, unless --timeout says otherwise.
_EXPORT_TIMEOUT = 3600.0
_FAULTS_SHOWN = 20


class Form(StrEnum):
    """What can be imported; `hilvan_client.importers.Format`, without its imports."""

    JSONL = "jsonl"
    LOCOMO = "locomo"
    MEM0 = "mem0"
    ZEP = "zep"
    LETTA = "letta"


OwnerUser = Annotated[str | None, typer.Option(help="Only, or instead: entries of this user.")]
OwnerProject = Annotated[str | None, typer.Option(help="Only, or instead: of this project.")]


def import_file(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The file.")],
    *,
    form: Annotated[
        Form | None, typer.Option("--format", help="Default: found out from the content.")
    ] = None,
    owner_user: OwnerUser = None,
    project: OwnerProject = None,
    wait: Annotated[bool, typer.Option("--wait", help="Until everything is searchable.")] = False,
) -> None:
    """Store the entries of a file. Importing it again changes nothing."""
    settings: Settings = ctx.obj

    async def work(hilvan: "Hilvan") -> "ImportSummary":
        from hilvan_client.importers import Format, read_file

        given = owner_user or project
        whose = await owner(hilvan, settings, owner_user, project) if given else None
        records = read_file(path, Format(form) if form else None, whose)
        with _progress(settings) as on_progress:
            return await hilvan.import_entries(records, on_progress=on_progress, wait=wait)

    with _refusals():
        summary = call(settings, work)
    faults = [{"where": item.where, "description": item.description} for item in summary.faults]
    document = {"stored": summary.stored, "unchanged": summary.unchanged, "faults": faults}
    output.emit(settings, document, lambda console: console.print(_counts(summary)))
    if not summary.faults:
        return
    if not settings.json:
        _show_faults(summary)
    raise typer.Exit(Code.ATTENTION)


def export(
    ctx: typer.Context,
    path: Annotated[Path | None, typer.Argument(help="The file; default: stdout.")] = None,
    *,
    owner_user: OwnerUser = None,
    project: OwnerProject = None,
) -> None:
    """Write all entries that you can read as JSON Lines; `import` reads them."""
    settings: Settings = ctx.obj
    if settings.json and path is None:
        raise CommandError(
            "--json answers one document, and an export is many lines",
            "name a file: hilvan export entries.jsonl --json",
            Code.USAGE,
        )

    async def work(hilvan: "Hilvan") -> int:
        from hilvan.retrieval.v1.retrieval_service_pb2 import ExportEntriesRequest
        from hilvan_client.importers import jsonl

        given = owner_user or project
        owners = [await owner(hilvan, settings, owner_user, project)] if given else []
        timeout = settings.timeout or _EXPORT_TIMEOUT
        count = 0
        with _whole_file(path) as file:
            answers = hilvan.retrieval.ExportEntries(
                ExportEntriesRequest(owners=owners), timeout=timeout
            )
            async for batch in answers:
                file.writelines(jsonl.dump(entry) + b"\n" for entry in batch.entries)
                count += len(batch.entries)
        return count

    count = call(settings, work)
    if settings.json:
        output.emit(settings, {"path": str(path), "entries": count}, lambda _console: None)
    else:
        output.note(f"{count} entries exported")


@contextmanager
def _whole_file(path: Path | None) -> Iterator[BinaryIO]:
    """A file that only takes its name when everything is in it; stdout without a path."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    draft = path.with_name(f"{path.name}.draft")
    try:
        with draft.open("wb") as file:
            yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def _refusals() -> Iterator[None]:
    """Say of a file that can't be read what to do about it."""
    from hilvan_client.importers import BadRecord, Format, UnknownFormat

    try:
        yield
    except UnknownFormat as error:
        raise CommandError(str(error), f"give --format, one of {', '.join(Format)}") from error
    except BadRecord as error:
        raise CommandError(str(error), "give --owner-user or --project") from error


@contextmanager
def _progress(settings: Settings) -> "Iterator[Callable[[ImportProgress], None] | None]":
    """A line with the counts on the terminal while an import runs."""
    console = output.console(stderr=True)
    if settings.json or not console.is_terminal:
        yield None
        return
    with console.status("importing…") as status:
        yield lambda now: status.update(
            f"importing… {now.stored} stored, {now.unchanged} unchanged, {now.faulted} faults"
        )


def _counts(summary: "ImportSummary") -> str:
    return f"{summary.stored} stored, {summary.unchanged} unchanged, {len(summary.faults)} left out"


def _show_faults(summary: "ImportSummary") -> None:
    for fault in summary.faults[:_FAULTS_SHOWN]:
        output.note(f"left out: {fault.where}: {fault.description}")
    more = len(summary.faults) - _FAULTS_SHOWN
    if more > 0:
        output.note(f"… and {more} more; --json lists all")
    output.note("next: mend these and import the file again; what is stored stays as it is")
