"""`hilvan dev`: all three services on this machine, without containers."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hilvan_client.cli import dev_processes, dev_state, output
from hilvan_client.cli.dev_processes import Launch
from hilvan_client.cli.dev_state import Process
from hilvan_client.cli.output import Code
from hilvan_client.cli.settings import Settings
from hilvan_client.service_config import Service

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    help="All three services on this machine.", no_args_is_help=True, rich_markup_mode=None
)

_MODEL = Path(".cache/models/multilingual-e5-small")
_SERVING = "SERVING"


@app.command("up")
def up(
    ctx: typer.Context,
    *,
    ports: Annotated[
        int, typer.Option(help="First of three ports; 0: any that are free.", min=0, max=65533)
    ] = 7701,
    vault_root: Annotated[
        list[Path] | None,
        typer.Option(help="Vaults may be added beneath it; may be repeated; default: this folder."),
    ] = None,
    model_dir: Annotated[
        Path | None,
        typer.Option(envvar="HILVAN_RETRIEVAL_MODEL_DIR", help="Folder of the embedding model."),
    ] = None,
) -> None:
    """Start the services and wait until they serve; those that run are left alone."""
    settings: Settings = ctx.obj
    running = _running(settings)
    if len(running) < len(Service):
        launch = Launch(
            home=settings.home,
            listen={
                service: f"127.0.0.1:{ports + place if ports else 0}"
                for place, service in enumerate(Service)
            },
            vault_roots=tuple(vault_root or [Path.cwd()]),
            model_dir=model_dir or (_MODEL if _MODEL.is_dir() else None),
        )
        _stop_all(settings, running)
        running = _start_all(settings, launch)
    status = _status(running)
    output.emit(settings, {"services": status}, lambda console: _show(console, status))
    if not settings.json:
        output.note(f"logs: {settings.home / 'logs'}")
        output.note("next: hilvan vault add FOLDER, hilvan import FILE, hilvan assemble MESSAGE")


@app.command("down")
def down(ctx: typer.Context) -> None:
    """Stop the services."""
    settings: Settings = ctx.obj
    known = dev_state.load(settings.home)
    killed = _stop_all(settings, known)
    document = {"stopped": sorted(known), "killed": killed}

    def show(console: "Console") -> None:
        console.print("stopped" if known else "nothing was running")
        for service in killed:
            console.print(f"{service} did not stop by itself and was killed")

    output.emit(settings, document, show)


@app.command("status")
def status(ctx: typer.Context) -> None:
    """Show what runs; exit code 7 unless all three services serve."""
    settings: Settings = ctx.obj
    found = _status(_running(settings))
    output.emit(settings, {"services": found}, lambda console: _show(console, found))
    if any(item["health"] != _SERVING for item in found):
        if not settings.json:
            output.note("next: hilvan dev up")
        raise typer.Exit(Code.UNREACHABLE)


def _running(settings: Settings) -> dict[Service, Process]:
    """Those of the state file that are still there."""
    known = dev_state.load(settings.home)
    return {
        service: process
        for service, process in known.items()
        if dev_state.is_running(service, process.pid)
    }


def _start_all(settings: Settings, launch: Launch) -> dict[Service, Process]:
    """Start one after the other, as each needs the addresses of those before it."""
    started: dict[Service, Process] = {}
    console = output.console(stderr=True)
    quiet = settings.json or not console.is_terminal
    try:
        for service in Service:
            upstream = {other: process.address for other, process in started.items()}
            with nullcontext() if quiet else console.status(f"starting {service}…"):
                started[service] = dev_processes.start(launch, service, upstream)
            dev_state.save(settings.home, started)
    except BaseException:
        _stop_all(settings, started)
        raise
    return started


def _stop_all(settings: Settings, processes: dict[Service, Process]) -> list[str]:
    """Stop in the reverse order and forget them; the names of those that had to be killed."""
    killed = [
        str(service)
        for service in reversed(Service)
        if service in processes and not dev_processes.stop(service, processes[service])
    ]
    dev_state.clear(settings.home)
    return killed


def _status(running: dict[Service, Process]) -> list[dict[str, Any]]:
    if running:
        from hilvan_client.health import check
    return [
        {
            "service": str(service),
            "health": check(service, running[service].address) if service in running else "STOPPED",
            "address": running[service].address if service in running else "",
            "pid": running[service].pid if service in running else 0,
        }
        for service in Service
    ]


def _show(console: "Console", found: list[dict[str, Any]]) -> None:
    rows = [(i["service"], i["health"], i["address"], i["pid"] or "") for i in found]
    console.print(output.table(("service", "health", "address", "pid"), rows))
