"""`hilvan reindex`: builds indexes anew beside those that answer, and switches over."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hilvan_client.cli import index_views, output, progress, reindexing
from hilvan_client.cli.connection import call
from hilvan_client.cli.output import Code, CommandError
from hilvan_client.cli.reindexing import Build
from hilvan_client.cli.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console

    from hilvan.common.v1.entry_pb2 import Source
    from hilvan.retrieval.v1.retrieval_service_pb2 import GetIndexStateResponse, IndexState
    from hilvan_client import Hilvan

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

# Seconds without progress: an embedding server may load a model, a service may be restarted.
_PATIENCE = 600.0


class Kind(StrEnum):
    """The sources; `hilvan.common.v1.Source`, without its imports."""

    VECTOR = "vector"
    KEYWORD = "keyword"


_OfSource = Annotated[Kind | None, typer.Option("--source", help="Only this one; default: both.")]


@app.callback()
def reindex(
    ctx: typer.Context,
    *,
    source: _OfSource = None,
    patience: Annotated[
        float, typer.Option(min=0, help="Seconds without any progress until it stops waiting.")
    ] = _PATIENCE,
) -> None:
    """Build indexes anew beside those that answer, and switch once they have caught up.

    The service builds; this waits. Run it again to go on with what is being built.
    """
    if ctx.invoked_subcommand is not None:
        if source is not None:
            raise CommandError(
                "--source stands before the subcommand",
                "give it behind: `hilvan reindex switch --source vector`",
                Code.USAGE,
            )
        return
    settings: Settings = ctx.obj
    try:
        builds, state = call(settings, lambda hilvan: _build(hilvan, settings, source, patience))
    except KeyboardInterrupt as error:
        raise CommandError(
            "interrupted; the service goes on building what was begun",
            "`hilvan reindex` waits for it again, `hilvan reindex status` shows how far it is, "
            "`hilvan reindex drop` gives it up",
            Code.INTERRUPTED,
        ) from error
    _tell(settings, builds, state)
    if not all(build.switched for build in builds):
        raise typer.Exit(Code.ATTENTION)


async def _build(
    hilvan: "Hilvan", settings: Settings, source: Kind | None, patience: float
) -> "tuple[list[Build], GetIndexStateResponse]":
    from hilvan.retrieval.v1.retrieval_service_pb2 import GetIndexStateRequest

    asked = _sources(source)
    builds = await reindexing.begin(hilvan, asked)
    if not settings.json:
        output.note(f"building {', '.join(build.name for build in builds)} beside what answers")
        for other in set(asked) - {build.index.source for build in builds}:
            name = index_views.source_name(other)
            output.note(f"{name}: left as it is; `hilvan reindex --source {name}` begins one")
    with progress.bars(settings) as update:

        def show(index: "IndexState") -> None:
            words = f"filled, {index.pending_count} pending, {index.parked_count} parked"
            status = index_views.status_name(index)
            words += "" if status == "OK" else f", {index.engine} is {status}"
            update(index_views.index_name(index), index.filled_share, words)

        await reindexing.follow(hilvan, builds, patience, show)
    return builds, await hilvan.retrieval.GetIndexState(GetIndexStateRequest())


def _tell(settings: Settings, builds: Sequence[Build], state: "GetIndexStateResponse") -> None:
    switched = [build.name for build in builds if build.switched]
    failed = [
        {"index": build.name, "reason": build.trouble} for build in builds if not build.switched
    ]
    document = {
        "switched": switched,
        "not_switched": failed,
        "indexes": output.as_json(state)["indexes"],
    }

    def show(console: "Console") -> None:
        for name in switched:
            console.print(f"{name} answers; the former one is kept up to date")
        for item in failed:
            console.print(f"{item['index']} does not answer yet: {output.text(item['reason'])}")

    output.emit(settings, document, show)
    if settings.json:
        return
    if switched:
        output.note("next: `hilvan reindex rollback` goes back, `hilvan reindex drop` removes")
        output.note("      the former ones; both take --source")
    if failed:
        output.note("next: `hilvan doctor` says what is wrong, `hilvan doctor --repair` tries")
        output.note("      parked writes again; then `hilvan reindex` goes on")


@app.command("status")
def status(ctx: typer.Context) -> None:
    """List all indexes and how far they are."""
    from hilvan.retrieval.v1.retrieval_service_pb2 import GetIndexStateRequest

    answer = call(ctx.obj, lambda hilvan: hilvan.retrieval.GetIndexState(GetIndexStateRequest()))
    output.emit(ctx.obj, answer, lambda console: console.print(index_views.table(answer.indexes)))


@app.command("begin")
def begin(ctx: typer.Context, *, source: _OfSource = None) -> None:
    """Begin an index beside the live one; the service fills it."""
    _step(ctx, "BEGIN", source, "`hilvan reindex` waits for it and switches")


@app.command("switch")
def switch(ctx: typer.Context, *, source: _OfSource = None) -> None:
    """Let the index that was built answer, once it has caught up."""
    _step(ctx, "SWITCH", source, "`hilvan reindex rollback` goes back")


@app.command("rollback")
def rollback(ctx: typer.Context, *, source: _OfSource = None) -> None:
    """Let the former index answer again."""
    _step(ctx, "ROLL_BACK", source, "`hilvan reindex drop` removes what does not answer")


@app.command("drop")
def drop(ctx: typer.Context, *, source: _OfSource = None) -> None:
    """Remove every index that does not answer, also one that is being built."""
    _step(ctx, "DROP", source, "")


def _step(ctx: typer.Context, name: str, source: Kind | None, advice: str) -> None:
    from hilvan.retrieval.v1 import retrieval_service_pb2 as pb

    step = pb.ReindexStep.Value(f"REINDEX_STEP_{name}")
    request = pb.ReindexRequest(step=step, sources=_sources(source))
    answer = call(ctx.obj, lambda hilvan: hilvan.retrieval.Reindex(request))
    output.emit(ctx.obj, answer, lambda console: console.print(index_views.table(answer.indexes)))
    if advice and not ctx.obj.json:
        output.note(f"next: {advice}")


def _sources(source: Kind | None) -> "list[Source.ValueType]":
    from hilvan.common.v1.entry_pb2 import Source

    return [Source.Value(f"SOURCE_{each.upper()}") for each in ([source] if source else Kind)]
