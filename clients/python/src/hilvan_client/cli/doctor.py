"""`hilvan doctor`: looks at everything that has to work, and says what to do."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from hilvan_client.cli import doctor_checks, output
from hilvan_client.cli.connection import call
from hilvan_client.cli.doctor_checks import Finding
from hilvan_client.cli.output import Code
from hilvan_client.cli.settings import Settings
from hilvan_client.service_config import Service

if TYPE_CHECKING:
    from rich.console import Console

    from hilvan_client import Hilvan


def doctor(ctx: typer.Context) -> None:
    """Check the services, the indexes, the clock and the versions."""
    settings: Settings = ctx.obj
    found = _examine(settings)
    healthy = all(item.ok for item in found)
    document = {"healthy": healthy, "findings": [asdict(item) for item in found]}

    def show(console: "Console") -> None:
        rows = [("ok" if item.ok else "PROBLEM", item.check, item.seen) for item in found]
        console.print(output.table(("", "check", "seen"), rows))
        for item in found:
            if item.advice:
                console.print(f"next: {item.check}: {item.advice}")

    output.emit(settings, document, show)
    if not healthy:
        raise typer.Exit(Code.ATTENTION)


def _examine(settings: Settings) -> list[Finding]:
    found = [doctor_checks.versions()]
    serving = set()
    for service, target in settings.addresses().items():
        state = doctor_checks.health(service, target)
        found.append(state)
        if state.ok:
            serving.add(service)
            found.append(doctor_checks.contract(service, target))

    async def ask(hilvan: "Hilvan") -> list[Finding]:
        answers = []
        if Service.RETRIEVAL in serving:
            answers += await doctor_checks.indexes(hilvan)
            answers.append(await doctor_checks.clock(hilvan))
        return answers

    return [*found, *call(settings, ask)] if serving else found
