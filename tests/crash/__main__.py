"""Kill retrieval at random points of its work, and prove that nothing is lost or doubled.

    make crash KILLS=1000 DATABASE=both SEED=1

Prints a line every 25 kills and a table in the end; exit code 1 when anything was lost.
"""

import argparse
import asyncio
import contextlib
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from crash.checks import lines
from crash.harness import Tally, Worker
from crash.model import Violation
from crash.process import running_starter
from support.engines.notes import EngineMissing
from support.engines.postgres_databases import new_database
from support.engines.run import postgresql
from support.engines.vector import engine_folder

DATABASES = {"sqlite": ("sqlite",), "postgresql": ("postgresql",), "both": ("sqlite", "postgresql")}


def say(line: str) -> None:
    """Print a line at once: a long run is watched."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def one(name: str, seed: str, kills: int, record_url: str, tally: list[Tally]) -> None:
    """Run one worker; on a violation its folder is kept and named."""
    with engine_folder() as folder:
        async with running_starter() as starter:
            worker = Worker(folder, starter, seed, record_url)
            tally.append(worker.tally)
            try:
                await worker.run(kills, lambda now: say(progress(name, now)))
            except BaseException:
                kept = Path(tempfile.mkdtemp(prefix="hilvan-crash-"))
                shutil.rmtree(folder / "t", ignore_errors=True)  # its sockets can't be copied
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                say(f"{name}: kept {kept} after {worker.tally.kills} kills, seed {seed}")
                say(worker.service.log_tail())
                raise


def progress(name: str, tally: Tally) -> str:
    """The line of some kills."""
    c = tally.counts
    return (
        f"{name}: {tally.kills} kills, {tally.seconds / tally.kills:.2f} s each; "
        f"{c['acknowledged']} acknowledged, {c['replays']} replays "
        f"({c['applied unanswered']} were there), {tally.checks} whole checks"
    )


async def database(name: str, kills: int, workers: int, seed: int) -> Counter[str]:
    """Share the kills among workers; the sum of what they counted."""
    tallies: list[Tally] = []
    async with contextlib.AsyncExitStack() as stack:
        urls = [""] * workers
        if name == "postgresql":
            server = stack.enter_context(postgresql())
            urls = [await stack.enter_async_context(new_database(server.address)) for _ in urls]
        shares = [kills // workers + (number < kills % workers) for number in range(workers)]
        async with asyncio.TaskGroup() as group:
            for number, (url, share) in enumerate(zip(urls, shares, strict=True)):
                label, own = f"{name} {number + 1}", f"{seed}-{name}-{number + 1}"
                group.create_task(one(label, own, share, url, tallies))
    total: Counter[str] = Counter()
    for each in tallies:
        total["kills"] += each.kills
        total["kills of the engine alone"] += each.engine_kills
        total["whole checks"] += each.checks
        total.update({f"killed in {what}": count for what, count in each.hit.items()})
        total.update(each.counts)
    return total


def run(arguments: argparse.Namespace) -> int:
    """Run what is asked for and print it; the exit code."""
    failed = 0
    for name in DATABASES[arguments.database]:
        began = time.monotonic()
        result: dict[str, object] = {"database": name, "seed": arguments.seed}
        try:
            counts = asyncio.run(database(name, arguments.kills, arguments.workers, arguments.seed))
        except* EngineMissing as missing:
            say(f"no {name}: {missing.exceptions[0]}")
            failed = 1
        except* Violation as group:
            for error in group.exceptions:
                say(f"VIOLATION on {name}, seed {arguments.seed}\n{error}")
            result["violations"] = len(group.exceptions)
            failed = 1
        else:
            table = [*sorted(counts.items()), ("violations", 0)]
            say(f"{name}, {time.monotonic() - began:.0f} s\n{lines(table)}")
            result |= {"violations": 0, **counts}
        say("crash-result " + json.dumps(result, sort_keys=True))
    return failed


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser(prog="make crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="for each database")
    parser.add_argument("--database", choices=sorted(DATABASES), default="both")
    parser.add_argument("--seed", type=int, default=None, help="default: a random one")
    parser.add_argument("--workers", type=int, default=2, help="services at a time")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(10**6)
    say(f"seed {arguments.seed}")
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
