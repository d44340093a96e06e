"""`hilvan assemble`, `search`, `recall` and `start-session`: what an agent asks for."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hilvan_client.cli import output, query_views
from hilvan_client.cli.connection import call, project_id
from hilvan_client.cli.output import Code, CommandError

if TYPE_CHECKING:
    from hilvan.assembler.v1 import assembler_service_pb2 as pb
    from hilvan_client import Hilvan

Query = Annotated[str, typer.Argument(help="The message.")]
AcceptStaleMutes = Annotated[
    bool, typer.Option(help="Show memory even where nobody can say what is muted.")
]
Project = Annotated[str | None, typer.Option(help="Id or handle of a project.")]

TIERS = ("memories", "episodes", "procedures", "identity", "pinned", "notes")


class Mode(StrEnum):
    """Which sources a search asks."""

    HYBRID = "hybrid"
    KEYWORD = "keyword"
    SEMANTIC = "semantic"


def assemble(
    ctx: typer.Context,
    query: Query,
    *,
    project: Project = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="On stderr: sections, times, what was left out.")
    ] = False,
    budget: Annotated[
        list[str] | None,
        typer.Option(help=f"tier=tokens, may be repeated; tiers: {', '.join(TIERS)}."),
    ] = None,
    accept_stale_mutes: AcceptStaleMutes = False,
) -> None:
    """Print the system prompt for a message."""
    budgets = _budgets(budget or [])

    async def work(hilvan: "Hilvan") -> "pb.AssembleResponse":
        from hilvan.assembler.v1 import assembler_service_pb2 as pb
        from hilvan.curation.v1.curation_service_pb2 import Scope

        request = pb.AssembleRequest(
            query=query,
            scope=Scope(project_id=await project_id(hilvan, project)),
            overrides=pb.Overrides(budgets=pb.TierBudgets(**budgets)),
            view=pb.VIEW_FULL if explain else pb.VIEW_BASIC,
            accept_stale_mutes=accept_stale_mutes,
        )
        return await hilvan.assembler.Assemble(request)

    answer = call(ctx.obj, work)
    output.emit(ctx.obj, answer, lambda console: query_views.prompt(console, answer))
    if not ctx.obj.json:
        query_views.shortfalls(answer.degraded)
        if explain:
            query_views.explanation(output.console(stderr=True), answer)


def search(
    ctx: typer.Context,
    query: Query,
    *,
    mode: Annotated[Mode, typer.Option(help="Which sources to ask.")] = Mode.HYBRID,
    project: Project = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many hits.")] = 20,
) -> None:
    """Search entries and passages of notes; muted ones are included and say so."""

    async def work(hilvan: "Hilvan") -> "pb.SearchResponse":
        from hilvan.assembler.v1 import assembler_service_pb2 as pb

        request = pb.SearchRequest(
            query=query,
            project_id=await project_id(hilvan, project),
            limit=limit,
            mode=pb.SearchMode.Value(f"SEARCH_MODE_{mode.upper()}"),
        )
        return await hilvan.assembler.Search(request)

    answer = call(ctx.obj, work)
    output.emit(ctx.obj, answer, lambda console: query_views.hits(console, answer))
    if not ctx.obj.json:
        query_views.shortfalls(answer.degraded)


def recall(
    ctx: typer.Context,
    query: Query,
    *,
    project: Project = None,
    budget: Annotated[int | None, typer.Option(min=0, help="Tokens; default 4,000.")] = None,
    accept_stale_mutes: AcceptStaleMutes = False,
) -> None:
    """Print a bundle of passages with their sources."""

    async def work(hilvan: "Hilvan") -> "pb.RecallResponse":
        from hilvan.assembler.v1 import assembler_service_pb2 as pb

        project_of = await project_id(hilvan, project)
        request = pb.RecallRequest(
            query=query,
            project_id=project_of,
            token_budget=budget,
            accept_stale_mutes=accept_stale_mutes,
        )
        return await hilvan.assembler.Recall(request)

    answer = call(ctx.obj, work)
    output.emit(ctx.obj, answer, lambda console: query_views.bundle(console, answer))
    if not ctx.obj.json:
        query_views.shortfalls(answer.degraded)


def start_session(
    ctx: typer.Context,
    *,
    project: Project = None,
    bodies: Annotated[bool, typer.Option("--bodies", help="With the texts.")] = False,
) -> None:
    """Show what a session begins with."""

    async def work(hilvan: "Hilvan") -> "pb.StartSessionResponse":
        from hilvan.assembler.v1 import assembler_service_pb2 as pb
        from hilvan.curation.v1.curation_service_pb2 import Scope

        scope = Scope(project_id=await project_id(hilvan, project))
        request = pb.StartSessionRequest(scope=scope, include_bodies=bodies)
        return await hilvan.assembler.StartSession(request)

    answer = call(ctx.obj, work)
    output.emit(ctx.obj, answer, lambda console: query_views.session(console, answer))
    if not ctx.obj.json:
        query_views.shortfalls(answer.degraded)


def _budgets(pairs: list[str]) -> dict[str, Any]:
    budgets = {}
    for pair in pairs:
        tier, _, tokens = pair.partition("=")
        if tier not in TIERS or not tokens.isdecimal():
            raise CommandError(
                f"{pair!r} is no budget",
                f"write tier=tokens with one of {', '.join(TIERS)}, such as memories=1500",
                Code.USAGE,
            )
        budgets[tier] = int(tokens)
    return budgets
