"""The whole product as three processes, for tests of its stories."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.engines.rigged_servers import Rig
from support.paths import TEAM

from hilvan.retrieval.v1 import retrieval_service_pb2 as retrieval_pb
from hilvan_client import Hilvan

HILVAN = Path(sys.executable).parent / "hilvan"


@dataclass(frozen=True, slots=True)
class Product:
    """Three running services, in a home of their own, with these settings beside the usual."""

    home: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    rigs: Mapping[str, Rig] = field(default_factory=dict)
    """What stands before each server: vector, keyword, record, metadata; none when embedded."""

    @property
    def processes(self) -> dict[str, dict[str, object]]:
        """Address and pid by service."""
        state: dict[str, dict[str, object]] = json.loads((self.home / "dev.json").read_text())
        return state

    @asynccontextmanager
    async def client(
        self, *, user: str | None = None, tenant: str | None = None, seconds: float = 20
    ) -> AsyncIterator[Hilvan]:
        """A client that acts for a user, or as the development service without one."""
        targets = {name: str(each["address"]) for name, each in self.processes.items()}
        async with Hilvan.connect(
            retrieval=targets["retrieval"],
            curation=targets["curation"],
            assembler=targets["assembler"],
            user=user,
            tenant=tenant,
            timeout=seconds,
        ) as hilvan:
            yield hilvan

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One `hilvan` command in this home."""
        return subprocess.run(
            [str(HILVAN), *words],
            env={**os.environ, "HILVAN_HOME": str(self.home), **self.settings},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    async def settle(self) -> None:
        """Wait until both indexes have everything that was written."""
        async with self.client() as hilvan, asyncio.timeout(90):
            while True:
                state = await hilvan.retrieval.GetIndexState(retrieval_pb.GetIndexStateRequest())
                if not sum(index.pending_count for index in state.indexes):
                    return
                await asyncio.sleep(0.1)


@contextmanager
def team_product(product: Product, model: str) -> Iterator[Product]:
    """Run the product with the sample team's vault and entries; stop it in the end."""
    vault = product.home / "vault"
    shutil.copytree(TEAM / "vault", vault)
    up = ("dev", "up", "--ports", "0", "--vault-root", str(product.home), "--model-dir", model)
    try:
        for words in (
            up,
            ("vault", "add", str(vault)),
            ("import", str(TEAM / "entries.jsonl"), "--wait"),
        ):
            done = product.run(*words)
            assert done.returncode == 0, done.stdout + done.stderr
        asyncio.run(product.settle())
        yield product
    finally:
        product.run("dev", "down")
