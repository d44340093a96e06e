"""`hilvan remember`, `get` and `forget`: single entries."""

from typing import TYPE_CHECKING, Annotated

import typer

from hilvan_client.cli import output
from hilvan_client.cli.connection import call, owner
from hilvan_client.cli.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console

    from hilvan.common.v1.entry_pb2 import Entry
    from hilvan.retrieval.v1.retrieval_service_pb2 import RememberResponse
    from hilvan_client import Hilvan

Fraction = Annotated[float | None, typer.Option(min=0, max=1)]


def remember(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(help="The statement.")],
    *,
    category: Annotated[str, typer.Option(help="Its topic, such as preference.")] = "",
    project: Annotated[str | None, typer.Option(help="The project that owns it.")] = None,
    importance: Fraction = None,
    confidence: Fraction = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
) -> None:
    """Store a statement, or reinforce the entry that already says it."""
    settings: Settings = ctx.obj

    async def work(hilvan: "Hilvan") -> "RememberResponse":
        from hilvan.common.v1.entry_pb2 import LAYER_MEMORY, Entry, Origin
        from hilvan.retrieval.v1.retrieval_service_pb2 import RememberRequest

        entry = Entry(
            layer=LAYER_MEMORY,
            owner=await owner(hilvan, settings, None, project),
            category=category,
            text=text,
            importance=importance,
            confidence=confidence,
            tags=tag,
            origin=Origin(kind="cli"),
        )
        return await hilvan.retrieval.Remember(RememberRequest(entry=entry, wait=True))

    answer = call(settings, work)
    output.emit(settings, answer, lambda console: _show_remembered(console, answer))


def get(ctx: typer.Context, entry_id: Annotated[str, typer.Argument(help="Its id.")]) -> None:
    """Show an entry."""
    from hilvan.retrieval.v1.retrieval_service_pb2 import GetEntryRequest

    answer = call(ctx.obj, lambda hilvan: hilvan.retrieval.GetEntry(GetEntryRequest(id=entry_id)))
    output.emit(ctx.obj, answer, lambda console: _show_entry(console, answer.entry))


def forget(
    ctx: typer.Context,
    entry_id: Annotated[str, typer.Argument(help="Its id.")],
    etag: Annotated[str, typer.Option(help="Only if this is still its etag.")] = "",
) -> None:
    """Delete an entry. It is gone from every answer at once."""
    from hilvan.retrieval.v1.retrieval_service_pb2 import DeleteEntryRequest

    request = DeleteEntryRequest(id=entry_id, etag=etag)
    call(ctx.obj, lambda hilvan: hilvan.retrieval.DeleteEntry(request))
    output.emit(ctx.obj, {"id": entry_id, "forgotten": True}, lambda c: c.print("forgotten"))


def _show_remembered(console: "Console", answer: "RememberResponse") -> None:
    from hilvan.retrieval.v1.retrieval_service_pb2 import REMEMBER_OUTCOME_REINFORCED

    known = answer.outcome == REMEMBER_OUTCOME_REINFORCED
    done = "reinforced, it was known" if known else "stored"
    similar = f" (similarity {answer.similarity:.2f})" if answer.HasField("similarity") else ""
    console.print(f"{done}{similar}: {answer.entry.id}")
    if known:
        console.print(output.text(answer.entry.text))


def _show_entry(console: "Console", entry: "Entry") -> None:
    fields = output.as_json(entry)
    body = fields.pop("text")
    rows = [(name, _brief(value)) for name, value in fields.items() if value not in ("", [], "0")]
    console.print(output.table(("field", "value"), rows))
    console.print()
    console.print(output.text(body))


def _brief(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={item}" for name, item in value.items() if item != "")
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
