"""`hilvan doctor`: looks at everything that has to work, and says what to do."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hilvan_client.cli import doctor_checks, doctor_indexes, output, progress
from hilvan_client.cli.connection import call
from hilvan_client.cli.doctor_checks import Finding
from hilvan_client.cli.doctor_indexes import Examined
from hilvan_client.cli.output import Code
from hilvan_client.cli.settings import Settings
from hilvan_client.service_config import Service

if TYPE_CHECKING:
    from rich.console import Console

    from hilvan_client import Hilvan


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What to do besides the usual checks; ``wait`` is in seconds."""

    compare: bool
    repair: bool
    wait: float


def doctor(
    ctx: typer.Context,
    *,
    indexes: Annotated[
        bool, typer.Option("--indexes", help="Compare every index with the record.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Compare, and write again what differs.")
    ] = False,
    wait: Annotated[
        float, typer.Option(min=0, help="With --repair: seconds to wait until it is done.")
    ] = 60.0,
) -> None:
    """Check the services, the indexes, the clock and the versions."""
    settings: Settings = ctx.obj
    found, examined = _examine(settings, _Wanted(indexes or repair, repair, wait))
    healthy = all(item.ok for item in found)
    document: dict[str, Any] = {"healthy": healthy, "findings": [asdict(item) for item in found]}
    if examined:
        document["comparison"] = examined.document()

    def show(console: "Console") -> None:
        rows = [("ok" if item.ok else "PROBLEM", item.check, item.seen) for item in found]
        console.print(output.table(("", "check", "seen"), rows))
        for item in found:
            if item.advice:
                console.print(f"next: {item.check}: {item.advice}")

    output.emit(settings, document, show)
    if not healthy:
        raise typer.Exit(Code.ATTENTION)


def _examine(settings: Settings, wanted: _Wanted) -> tuple[list[Finding], Examined | None]:
    found = [doctor_checks.versions()]
    serving = set()
    for service, target in settings.addresses().items():
        state = doctor_checks.health(service, target)
        found.append(state)
        if state.ok:
            serving.add(service)
            found.append(doctor_checks.contract(service, target))
    if Service.RETRIEVAL not in serving:
        return found, None

    async def ask(hilvan: "Hilvan") -> tuple[list[Finding], Examined | None]:
        examined = None
        if wanted.compare:
            with progress.bars(settings) as update:
                examined = await doctor_indexes.examine(
                    hilvan, repair=wanted.repair, wait=wanted.wait, update=update
                )
        # After a repair, so that it shows how things are now.
        findings = await doctor_checks.record(hilvan)
        return [*findings, *(examined.findings if examined else ())], examined

    findings, examined = call(settings, ask)
    return [*found, *findings], examined
