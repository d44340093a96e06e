"""`hilvan key`: API keys."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from hilvan_client.cli import output
from hilvan_client.cli.output import Code, CommandError

app = typer.Typer(help="API keys.", no_args_is_help=True, rich_markup_mode=None)


@app.command("new")
def new(
    ctx: typer.Context,
    tenant: Annotated[str, typer.Option(help="The tenant; * for a service of every tenant.")],
    user: Annotated[str, typer.Option(help="The user, or the service's name.")],
    role: Annotated[str, typer.Option(help="member, admin or service.")] = "member",
    expires: Annotated[datetime | None, typer.Option(help="When it stops to hold, in UTC.")] = None,
) -> None:
    """Make a key: its text, shown once, and the line for the servers' key file."""
    try:
        from hilvan_kit.auth import Role, generate
    except ImportError as error:
        raise CommandError(
            "keys are made where the servers are installed",
            "run it there: pip install hilvan",
        ) from error
    try:
        until = expires.replace(tzinfo=UTC) if expires else None
        secret, record = generate(tenant, user, Role(role), until)
    except ValueError as error:
        raise CommandError(str(error), "see `hilvan key new --help`", Code.USAGE) from error
    document = {"key": secret, "key_id": record.key_id, "line": record.to_line()}

    def show(_console: object) -> None:
        # Not through the console: it would wrap what must be copied whole.
        typer.echo(secret)
        output.note(
            "Keep the key above; it can't be shown again. Add this line to the servers' file"
        )
        output.note("of API keys:")
        output.note(record.to_line())

    output.emit(ctx.obj, document, show)


@app.callback()
def _group() -> None:
    """API keys."""
