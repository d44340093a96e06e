"""Bars on the terminal while something long runs; none with --json or without a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hilvan_client.cli import output
from hilvan_client.cli.settings import Settings

Update = Callable[[str, float, str], None]
"""Takes the name of a bar, its share from 0 to 1, and a few words."""


@contextmanager
def bars(settings: Settings) -> Iterator[Update]:
    """Show a bar for each name that is updated, on stderr, until the block ends."""
    console = output.console(stderr=True)
    if settings.json or not console.is_terminal:
        yield lambda _name, _share, _words: None
        return
    from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[words]}", markup=False),
    )
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, transient=True) as progress:

        def update(name: str, share: float, words: str) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=1.0, words="")
            progress.update(tasks[name], completed=share, words=output.text(words))

        yield update
