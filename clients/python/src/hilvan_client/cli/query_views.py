"""Answers of the assembler, for people."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from hilvan_client.cli.output import note, table, text

if TYPE_CHECKING:
    from rich.console import Console

    from hilvan.assembler.v1 import assembler_service_pb2 as pb
    from hilvan.common.v1.report_pb2 import Degradation

_SNIPPET = 120


def prompt(console: "Console", answer: "pb.AssembleResponse") -> None:
    """The prompt, byte for byte when it does not go to a terminal."""
    console.file.write(text(answer.prompt))
    if answer.prompt and not answer.prompt.endswith("\n"):
        console.file.write("\n")


def explanation(console: "Console", answer: "pb.AssembleResponse") -> None:
    """Sections with tokens, times of the stages, and what was left out and why."""
    from hilvan.assembler.v1 import assembler_service_pb2 as pb

    rows = [
        (_name(pb.Section, item.section), item.item_count, item.token_count, item.token_budget)
        for item in answer.sections
    ]
    console.print(table(("section", "items", "tokens", "of budget"), rows))
    console.print(f"{answer.token_count} tokens ({answer.tokenizer})\n")
    times = [(item.stage, _milliseconds(item.elapsed_duration)) for item in answer.timings]
    console.print(table(("stage", "ms"), times))
    left_out = [_row(item) for item in answer.decisions if item.reason != pb.REASON_RENDERED]
    console.print()
    headers = ("left out because", "section", "id", "other", "score", "detail")
    console.print(table(headers, left_out) if left_out else "nothing was left out")
    for warning in answer.warnings:
        console.print(f"warning: {text(warning.description)} ({warning.code} {warning.id})")


def hits(console: "Console", answer: "pb.SearchResponse") -> None:
    """Ranked hits, one a row."""
    if not answer.hits:
        console.print("nothing was found")
        return
    rows = [
        (
            place,
            f"{hit.relevance:.3f}",
            hit.entry.id + (" (muted)" if hit.muted else ""),
            hit.entry.category,
            _cut(hit.snippet or hit.entry.text),
        )
        for place, hit in enumerate(answer.hits, start=1)
    ]
    console.print(table(("#", "relevance", "id", "category", "text"), rows))


def bundle(console: "Console", answer: "pb.RecallResponse") -> None:
    """The bundle as a model would get it."""
    if answer.no_relevant_memory:
        console.print("nothing relevant was found")
        return
    console.file.write(text(answer.bundle).rstrip("\n") + "\n")


def session(console: "Console", answer: "pb.StartSessionResponse") -> None:
    """The profile, the projects and the project."""
    memory = [(item.category, _cut(item.summary)) for item in answer.profile.memory]
    console.print(table(("memory", "summary"), memory, "Profile"))
    _elements(console, answer.profile.always_load)
    projects = [(item.handle, item.name, item.id, item.note_count) for item in answer.projects]
    console.print(table(("handle", "project", "id", "notes"), projects))
    if answer.HasField("project"):
        brief = answer.project
        console.print(f"\nProject: {brief.note_count} notes in {len(brief.folders)} folders")
        _elements(console, brief.always_load)
        console.print(f"changed notes: {len(brief.changed_notes)}")
        console.print(f"changed entries: {len(brief.changed_entries)}")
        console.print(f"categories: {', '.join(map(text, brief.categories))}")
    if answer.session_id:
        console.print(f"session: {answer.session_id}")


def shortfalls(degraded: "Iterable[Degradation]") -> None:
    """One line for each part that the answer lacks."""
    for item in degraded:
        note(f"degraded: {item.part}: {item.description}")


def _elements(console: "Console", elements: "Iterable[Any]") -> None:
    from hilvan.curation.v1.curation_service_pb2 import Verdict

    rows = [
        (_name(Verdict, item.verdict), item.token_count, item.title, item.path) for item in elements
    ]
    console.print(table(("always load", "tokens", "title", "path"), rows))


def _row(item: "pb.Decision") -> tuple[str, ...]:
    from hilvan.assembler.v1 import assembler_service_pb2 as pb

    return (
        _name(pb.Reason, item.reason),
        _name(pb.Section, item.section),
        item.id,
        item.other_id,
        f"{item.score:.3f}" if item.HasField("score") else "",
        item.detail,
    )


def _name(enum: Any, value: Any) -> str:
    """``REASON_OVER_BUDGET`` of ``Reason`` as ``over budget``; a number that is not known as is."""
    try:
        name = enum.Name(value)
    except ValueError:
        return str(value)
    return str(name).removeprefix(f"{enum.DESCRIPTOR.name.upper()}_").replace("_", " ").lower()


def _milliseconds(duration: Any) -> str:
    return f"{duration.ToTimedelta().total_seconds() * 1000:.1f}"


def _cut(value: str) -> str:
    line = " ".join(value.split())
    return line if len(line) <= _SNIPPET else f"{line[: _SNIPPET - 1]}…"
