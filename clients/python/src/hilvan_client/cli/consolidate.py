"""`hilvan consolidate`: merges duplicates, retires, expires, decays; and takes that back."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from hilvan_client.cli import output
from hilvan_client.cli.connection import call
from hilvan_client.cli.output import Code, CommandError
from hilvan_client.cli.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console

    from hilvan.retrieval.v1.retrieval_service_pb2 import Consolidation, ConsolidationStep
    from hilvan_client import Hilvan


def consolidate(
    ctx: typer.Context,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what it would do.")] = False,
    list_runs: Annotated[bool, typer.Option("--list", help="List the runs that are kept.")] = False,
    undo: Annotated[
        str | None, typer.Option(metavar="RUN", help="Put back what this run changed.")
    ] = None,
    step: Annotated[
        list[int] | None,
        typer.Option(min=1, help="With --undo: only this step; may be repeated."),
    ] = None,
) -> None:
    """Merge duplicates, retire what was replaced, expire, decay: the entries of your tenant.

    A run that was cut goes on when this is called again.
    """
    if sum((dry_run, list_runs, undo is not None)) > 1 or (step and undo is None):
        raise CommandError(
            "these options don't go together",
            "give --dry-run, --list or --undo RUN; --step stands with --undo",
            Code.USAGE,
        )
    if list_runs:
        _list(ctx.obj)
    elif undo is not None:
        _undo(ctx.obj, undo, step or [])
    else:
        _run(ctx.obj, dry_run=dry_run)


def _run(settings: Settings, *, dry_run: bool) -> None:
    run_id = ""
    steps: list[ConsolidationStep] = []
    counts: Counter[str] = Counter()

    async def work(hilvan: "Hilvan") -> None:
        from hilvan.retrieval.v1.retrieval_service_pb2 import ConsolidateRequest

        nonlocal run_id
        console = output.console()
        async for answer in hilvan.retrieval.Consolidate(ConsolidateRequest(dry_run=dry_run)):
            run_id = answer.run_id
            counts.update(map(_action, answer.steps))
            if settings.json:
                steps.extend(answer.steps)
            else:
                for each in answer.steps:
                    console.print(_line(each), soft_wrap=True)

    call(settings, work)
    document = {
        "run_id": run_id,
        "dry_run": dry_run,
        "counts": dict(counts),
        "steps": [output.as_json(each) for each in steps],
    }
    output.emit(settings, document, lambda console: console.print(_summary(counts, run_id)))
    if run_id and not settings.json:
        output.note(f"next: `hilvan consolidate --undo {run_id}` puts everything back,")
        output.note("      with --step N only that step")


def _list(settings: Settings) -> None:
    async def work(hilvan: "Hilvan") -> "list[Consolidation]":
        from hilvan.retrieval.v1.retrieval_service_pb2 import ListConsolidationsRequest

        request = ListConsolidationsRequest(page_size=1000)
        found: list[Consolidation] = []
        while True:
            page = await hilvan.retrieval.ListConsolidations(request)
            found += page.consolidations
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    runs = call(settings, work)
    rows = [
        (
            each.run_id,
            each.begin_time.ToJsonString(),
            each.end_time.ToJsonString() if each.HasField("end_time") else "not yet",
            each.step_count,
        )
        for each in runs
    ]

    def show(console: "Console") -> None:
        headers = ("run", "begun", "ended", "steps")
        console.print(output.table(headers, rows) if rows else "no runs are kept")

    output.emit(settings, {"consolidations": [output.as_json(each) for each in runs]}, show)


def _undo(settings: Settings, run_id: str, numbers: list[int]) -> None:
    from hilvan.retrieval.v1.retrieval_service_pb2 import UndoConsolidationRequest

    request = UndoConsolidationRequest(run_id=run_id, numbers=numbers)
    answer = call(settings, lambda hilvan: hilvan.retrieval.UndoConsolidation(request))
    left = ", ".join(map(str, answer.changed_numbers))

    def show(console: "Console") -> None:
        console.print(f"{answer.undone_count} steps were put back")
        if left:
            console.print(f"left as they are, for their entries were changed since: steps {left}")

    output.emit(settings, answer, show)
    if left:
        raise typer.Exit(Code.ATTENTION)


def _action(step: "ConsolidationStep") -> str:
    """Such as ``merged``."""
    from hilvan.retrieval.v1.retrieval_service_pb2 import ConsolidationAction

    name = ConsolidationAction.Name(step.action)
    return name.removeprefix("CONSOLIDATION_ACTION_").lower()


def _line(step: "ConsolidationStep") -> str:
    number = f"{step.number:>6} " if step.number else ""
    other = f" → {step.other_id}" if step.other_id else ""
    return output.text(f"{number}{_action(step):<8} {step.id}{other}: {step.reason}")


def _summary(counts: Counter[str], run_id: str) -> str:
    if not counts:
        return "nothing is to be done"
    done = ", ".join(f"{count} {action}" for action, count in counts.most_common())
    return f"run {run_id}: {done}" if run_id else f"would be: {done}"
