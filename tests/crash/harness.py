"""Kills the service again and again while it works, and looks each time what is left.

A life: start; compare the whole record with what was acknowledged; let all lanes go on, each with
what it has not been answered; kill. Every so many kills: everything answered, indexes compared.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from crash import checks
from crash.importing import Importer
from crash.keeping import Keeper
from crash.lanes import Lane, Lost, Session, generator
from crash.model import Violation, World
from crash.process import NotStarted, Service, Starter
from crash.reindexing import Reindexer
from crash.writers import Rememberer, Writer

TENANT = "dev"
SHORTEST_S, LONGEST_S, MEAN_S = 0.02, 1.5, 0.35
QUICK_START_S, SLOWEST = 0.8, 2.0
AIMED_WAIT_S = 1.5
AIMED_AT = ("consolidation", "undo", "switch", "begin", "roll back", "drop", "filling", "import")
CHECK_EVERY = 25
LANES_END_S = 30.0
OPTIONS = (("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0))


@dataclass(slots=True)
class Tally:
    """What was done, by name; and what each kill has hit."""

    kills: int = 0
    engine_kills: int = 0
    checks: int = 0
    hit: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


class Worker:
    """One folder, one record, one service that is killed."""

    def __init__(self, folder: Path, starter: Starter, seed: str, record_url: str = "") -> None:
        """Begin with an empty record; the seed draws all that is written and when it is killed."""
        self.tally = Tally()
        self.service = Service(folder, starter, record_url)
        self._rng = generator(seed, "killer")
        self._world = World()
        self._keeper = Keeper(seed)
        self._reindexer = Reindexer(self._world, TENANT, seed)
        self._lanes: list[Lane] = [
            *(Writer(self._world, TENANT, f"writer{number}", seed) for number in range(3)),
            Rememberer(self._world, TENANT, "rememberer", seed),
            Importer(self._world, TENANT, "importer", seed),
            self._keeper,
            self._reindexer,
        ]
        self._start_seconds = 1.0

    async def run(self, kills: int, report: Callable[[Tally], None]) -> None:
        """Kill so often. Raises Violation; the folder then has the log of the service."""
        began = time.monotonic()
        try:
            while self.tally.kills < kills:
                self._world.moment = f"after kill {self.tally.kills}"
                await self._life()
                if self.tally.kills % CHECK_EVERY == 0 or self.tally.kills == kills:
                    await self._check()
                    self.tally.seconds = time.monotonic() - began
                    self.tally.counts = self._world.counts
                    report(self.tally)
        except NotStarted as error:
            raise Violation(f"the service does not start: {error}") from error

    async def _life(self) -> None:
        """Start the service and kill it."""
        if self._rng.random() < 0.03:
            self.service.lose_index(self._rng)
            self._world.rebuilding = True
            self.tally.hit["(an index was lost before)"] += 1
        began = time.monotonic()
        await self.service.start(self._rng)
        if self._rng.random() < 0.15:
            await asyncio.sleep(self._rng.uniform(0, self._start_seconds))
            await self._kill(Counter({"start-up": 1}))
            return
        address = await self.service.ready()
        self._start_seconds = time.monotonic() - began
        async with grpc.aio.insecure_channel(address, OPTIONS) as channel:
            session = Session(address, channel)
            await self._verify(session)
            tasks = [asyncio.create_task(each.run(session)) for each in self._lanes]
            try:
                await self._wait(session, tasks)
                session.dead.set()  # keeps what is active now
                await self._kill(+session.active)
            finally:
                session.dead.set()
                await self._end(tasks)

    async def _wait(self, session: Session, tasks: "list[asyncio.Task[None]]") -> None:
        """Wait for the moment of the kill, or until a lane has failed."""
        # On a slow machine everything takes longer, and a kill is to come in the middle of it.
        slowness = min(SLOWEST, max(1.0, self._start_seconds / QUICK_START_S))
        delay = slowness * min(LONGEST_S, SHORTEST_S + self._rng.expovariate(1 / MEAN_S))
        if self._rng.random() < 0.12:
            await asyncio.wait(tasks, timeout=delay / 2, return_when=asyncio.FIRST_EXCEPTION)
            self.tally.engine_kills += self.service.kill_engine()
        if self._rng.random() < 0.4:
            aim = self._rng.choice(AIMED_AT)
            until = time.monotonic() + AIMED_WAIT_S
            while not session.active[aim] and time.monotonic() < until:
                await asyncio.wait(tasks, timeout=0.002, return_when=asyncio.FIRST_EXCEPTION)
            delay = self._rng.uniform(0, 0.06)
        await asyncio.wait(tasks, timeout=delay, return_when=asyncio.FIRST_EXCEPTION)

    async def _kill(self, hit: Counter[str]) -> None:
        await self.service.kill()
        self.tally.kills += 1
        self.tally.hit.update(set(hit) or {"nothing"})

    async def _verify(self, session: Session) -> None:
        """Compare the record, of both tenants, and the generations."""
        self._world.verify(await checks.export(session, TENANT))
        self._keeper.verify(await checks.export(session, self._keeper.tenant))
        try:
            await self._reindexer.verify(session)
        except Lost as error:
            raise Violation(f"a started service does not answer: {error}") from error

    async def _check(self) -> None:
        """Start it once more, have all answered, compare everything, and stop it by a kill."""
        await self.service.start(self._rng)
        address = await self.service.ready()
        async with grpc.aio.insecure_channel(address, OPTIONS) as channel:
            session = Session(address, channel)
            await self._verify(session)
            async with asyncio.timeout(checks.SETTLE_S):
                await asyncio.gather(*(each.finish(session) for each in self._lanes))
            compared, searched = await checks.patiently(session, self._world, TENANT)
            self._world.counts["entries compared"] += compared
            self._world.counts["entries searched"] += searched
            self._world.rebuilding = False
        await self.service.kill()
        checks.check_sqlite(self.service.folder)
        self.tally.checks += 1

    async def _end(self, tasks: "list[asyncio.Task[None]]") -> None:
        """Let the lanes see that it is dead. Raises what one of them has found."""
        done, late = await asyncio.wait(tasks, timeout=LANES_END_S)
        for each in late:
            each.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        for each in done:
            each.result()
        if late:
            raise Violation("a call to a killed service did not end")
