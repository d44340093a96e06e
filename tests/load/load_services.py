"""The three services as processes of a benchmark's own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hilvan_client import Hilvan

HILVAN = Path(sys.executable).parent / "hilvan"


@dataclass(frozen=True, slots=True)
class Running:
    """Where the services listen, and their process ids by name."""

    targets: dict[str, str]
    pids: dict[str, int]

    def connect(
        self, *, timeout: float, tenant: str | None = None, user: str | None = None
    ) -> AbstractAsyncContextManager[Hilvan]:
        """A client of the three services, to be entered."""
        return Hilvan.connect(
            retrieval=self.targets["retrieval"],
            curation=self.targets["curation"],
            assembler=self.targets["assembler"],
            tenant=tenant,
            user=user,
            timeout=timeout,
        )


@contextmanager
def running_services(home: Path, **environment: str) -> Iterator[Running]:
    """Start the services on free ports with their data under ``home``, and stop them."""
    variables = os.environ | {"HILVAN_HOME": str(home)} | environment
    command = [str(HILVAN), "dev", "up", "--ports", "0"]
    subprocess.run(command, env=variables, check=True, stdout=subprocess.DEVNULL)
    try:
        state = json.loads((home / "dev.json").read_text())
        yield Running(
            {name: each["address"] for name, each in state.items()},
            {name: each["pid"] for name, each in state.items()},
        )
    finally:
        command = [str(HILVAN), "dev", "down"]
        subprocess.run(command, env=variables, check=False, stdout=subprocess.DEVNULL)
