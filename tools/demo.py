"""The main job, end to end, on the sample team: `make demo`.

Starts retrieval, curation and the assembler as three processes with embedded engines, takes in a
vault of notes and a memory store, and prints the system prompt that a model would receive for a
message, what it costs, and what was left out and why. Then checks that the prompt is what it
should be. Every step is a `hilvan` command, printed as it runs.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TEAM = ROOT / "examples" / "team"
HILVAN = Path(sys.executable).parent / "hilvan"
USER = "ana"
PROJECT = "prj-despacho"
MESSAGE = "¿Qué base de datos usa Despacho y quién está de guardia? Respuestas cortas, sin rodeos."
ASSEMBLE = ["assemble", MESSAGE, "--project", PROJECT, "--budget", "notes=400"]
MUTED = "smalltalk"


def hilvan(*words: str, user: str = "", show: bool = True) -> str:
    """Run one command, print it and what it says, and return its standard output."""
    who = ["--user", user] if user else []
    command = [*who, *words]
    if show:
        print(f"\n$ hilvan {shlex.join(command)}", flush=True)
    done = subprocess.run([str(HILVAN), *command], check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 (our own command)
    if show:
        print(done.stdout, end="", flush=True)
    return done.stdout


def answer(*words: str) -> Any:
    """The JSON that a command prints for the demo's user."""
    return json.loads(hilvan(*words, "--json", user=USER, show=False))


def checks(full: Any, hits: Any) -> dict[str, bool]:
    """What the prompt must show, each with whether it does."""
    prompt = full["prompt"]
    reasons = {each["reason"] for each in full["decisions"]}
    sections = ("identity", "pinned", "preferences", "facts", "notes", "episodes", "workflows")
    muted = [hit["entry"] for hit in hits["hits"] if hit.get("muted")]
    counts = [section["token_count"] for section in full["sections"]]
    budgets = {s["section"]: s["token_budget"] for s in full["sections"]}
    return {
        "every section is there": all(f"<{name}" in prompt for name in sections),
        "a pin is loaded": "<note title=" in prompt,
        "a contradiction was pruned": "REASON_CONTRADICTED_BY" in reasons,
        "a duplicate was dropped": "REASON_DUPLICATE_OF" in reasons,
        "muted memory is found by search": bool(muted),
        "muted memory is not in the prompt": not any(e["text"] in prompt for e in muted),
        "no section exceeds its budget": all(
            s["token_count"] <= budgets[s["section"]] for s in full["sections"]
        ),
        "the whole costs what its parts do": full["token_count"] <= sum(counts),
    }


def story() -> dict[str, bool]:
    """Run the demo; the services are up while it runs."""
    hilvan("vault", "add", str(TEAM / "vault"))
    hilvan("import", str(TEAM / "entries.jsonl"), "--wait")
    hilvan("import", str(TEAM / "mem0-export.json"), "--wait")
    hilvan("search", "QX-4471", user=USER)
    hilvan(*ASSEMBLE, "--explain", user=USER)
    return checks(
        answer(*ASSEMBLE, "--explain"),
        answer("search", "frío tremendo en Bogotá, Millonarios lost again"),
    )


def main() -> int:
    """Return 0 when every check holds."""
    with tempfile.TemporaryDirectory(prefix="hilvan-demo-") as home:
        os.environ["HILVAN_HOME"] = home
        hilvan("dev", "up", "--ports", "0", "--vault-root", str(ROOT))
        try:
            results = story()
        finally:
            hilvan("dev", "down")
    print()
    for fact, holds in results.items():
        print(f"{'ok  ' if holds else 'FAIL'} {fact}")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
