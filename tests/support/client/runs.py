"""Runs of the `hilvan` command against servers of a test, and of a real retrieval."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs
from support.kit.in_thread import InThread, in_thread
from support.retrieval.service import Served, serve
from typer.testing import CliRunner, Result

from hilvan_client.cli.main import app

Run = Callable[..., Result]
SERVICES = ("HILVAN_RETRIEVAL", "HILVAN_CURATION", "HILVAN_ASSEMBLER")


def runner(variables: Mapping[str, str]) -> Run:
    """Run the command with these variables and none of the caller's own."""
    clean: dict[str, str | None] = {name: None for name in os.environ if name.startswith("HILVAN_")}
    return lambda *words: CliRunner().invoke(app, list(words), env=clean | dict(variables))


@dataclass(frozen=True, slots=True)
class Real:
    """A real retrieval in a thread, and the command as its service or as somebody else."""

    served: InThread[Served]
    home: Path

    def variables(self, who: str = "service") -> dict[str, str]:
        """The environment of a command of theirs."""
        addresses = dict.fromkeys(SERVICES, self.served.value.address)
        key = self.served.value.keys[who]
        return addresses | {"HILVAN_API_KEY": key, "HILVAN_HOME": str(self.home)}

    def run(self, *words: str, who: str = "service") -> Result:
        """Run the command."""
        return runner(self.variables(who))(*words)

    def json(self, *words: str, code: int = 0) -> Any:
        """Run it with --json; the document that it wrote, given that exit code."""
        done = self.run(*words, "--json")
        assert (done.exit_code, done.stderr) == (code, ""), done.output
        return json.loads(done.stdout)


@contextmanager
def real(home: Path, **options: Any) -> Iterator[Real]:
    """Serve retrieval for commands; what it logs would stand between what they write."""
    with capture_logs(), in_thread(serve(**options)) as served:
        yield Real(served, home)
