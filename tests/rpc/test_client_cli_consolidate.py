"""`hilvan consolidate` against a real retrieval and against doubles."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import grpc
import pytest
from support.client.runs import SERVICES, Real, Run, real, runner
from support.client.script import Refusal, Script
from support.client.server import serve_in_thread
from support.retrieval.record import NOW, T0, entry

from hilvan.retrieval.v1 import retrieval_service_pb2 as pb

STEP = pb.ConsolidationStep(
    id="a", action=pb.CONSOLIDATION_ACTION_RETIRED, other_id="b", reason="moved\x1b[2J", number=1
)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Real]:
    """A real retrieval with a pair of duplicates and an entry that ended long ago."""
    with real(tmp_path) as running:
        said = "Ana drinks tea in the morning, every day of the week"
        ended = entry("old", "the office is in Madrid", valid_until=T0)
        later = entry("m2", said, create_time=NOW, update_time=NOW)
        store = running.served.value.parts.store(entry("m1", said), later, ended)
        running.served.run(store)
        running.served.value.parts.record.clock.move(timedelta(days=400))
        yield running


@pytest.fixture
def script() -> Script:
    """What the double does."""
    return Script()


@pytest.fixture
def run(script: Script) -> Iterator[Run]:
    """The command against the double."""
    with serve_in_thread(script) as address:
        yield runner(dict.fromkeys(SERVICES, address))


def test_a_run_is_one_document_and_can_be_put_back(service: Real) -> None:
    """Steps and counts come with the run's id, which --list knows and --undo takes."""
    done = service.json("consolidate")
    assert done["counts"]["merged"] == 1
    assert done["counts"]["expired"] == 1
    assert sum(done["counts"].values()) == len(done["steps"])
    assert [each["number"] for each in done["steps"]] == [*range(1, len(done["steps"]) + 1)]
    assert service.run("get", "old").exit_code == 4
    (listed,) = service.json("consolidate", "--list")["consolidations"]
    assert (listed["run_id"], listed["step_count"]) == (done["run_id"], len(done["steps"]))
    assert service.run("consolidate", "--list").stdout.splitlines()[1].startswith(done["run_id"])
    undone = service.json("consolidate", "--undo", done["run_id"])
    assert undone == {"undone_count": len(done["steps"]), "changed_numbers": []}
    assert service.run("get", "old").exit_code == 0


def test_a_dry_run_changes_nothing(service: Real) -> None:
    """It has the steps without numbers, no run, and nothing to list afterwards."""
    told = service.json("consolidate", "--dry-run")
    assert (told["run_id"], told["dry_run"]) == ("", True)
    assert told["counts"]["expired"] == 1
    assert {each["number"] for each in told["steps"]} == {0}
    assert service.run("get", "old").exit_code == 0
    assert service.run("consolidate", "--list").stdout == "no runs are kept\n"
    assert "would be: " in service.run("consolidate", "--dry-run").stdout


def test_people_get_a_line_for_each_step(service: Real) -> None:
    """Number, action, entry and reason; then the counts and the way back."""
    done = service.run("consolidate")
    lines = done.stdout.splitlines()
    (line,) = [each for each in lines if " expired " in each]
    assert line.split()[1:3] == ["expired", "old:"]
    (line,) = [each for each in lines if " merged " in each]
    assert "→" in line
    assert lines[-1].startswith("run ")
    assert "1 merged" in lines[-1]
    assert "hilvan consolidate --undo" in done.stderr
    assert service.run("consolidate").stdout == "nothing is to be done\n"


def test_single_steps_are_put_back(service: Real) -> None:
    """--step leaves the other steps as they are."""
    done = service.json("consolidate")
    (number,) = [each["number"] for each in done["steps"] if each["id"] == "old"]
    words = ("consolidate", "--undo", done["run_id"], "--step", str(number))
    assert service.run(*words).stdout == "1 steps were put back\n"
    assert service.run("get", "old").exit_code == 0


def test_a_run_that_nobody_knows_says_where_to_look(service: Real) -> None:
    """An unknown run is exit code 4, and a member's key code 6."""
    words = ("consolidate", "--undo", "00000000-0000-4000-8000-000000000000")
    done = service.run(*words)
    assert done.exit_code == 4
    assert "next: `hilvan consolidate --list`" in done.stderr
    assert service.run("consolidate", who="ana").exit_code == 6


@pytest.mark.parametrize(
    "words",
    [
        ["--dry-run", "--list"],
        ["--list", "--undo", "x"],
        ["--step", "1"],
        ["--undo", "x", "--step", "0"],
    ],
)
def test_options_that_contradict_are_usage_errors(run: Run, words: list[str]) -> None:
    """Nothing is done when it is not clear what."""
    assert run("consolidate", *words).exit_code == 2


def test_steps_are_shown_when_they_come(run: Run, script: Script) -> None:
    """A run that is cut has told its steps, harmless for a terminal, and is not tried again."""
    script.taken = [pb.ConsolidateResponse(run_id="run-1", steps=[STEP])]
    script.refusals = [Refusal(grpc.StatusCode.UNAVAILABLE, "stopping")]
    done = run("consolidate")
    assert done.exit_code == 7
    assert done.stdout.startswith("     1 retired  a → b: moved")
    assert script.calls == ["Consolidate"]


@pytest.mark.parametrize(
    ("words", "method"),
    [
        (["consolidate"], "Consolidate"),
        (["consolidate", "--undo", "run-1"], "UndoConsolidation"),
        (["doctor", "--indexes"], "CheckIndexes"),
    ],
)
def test_long_calls_have_an_hour_and_one_try(
    run: Run, script: Script, words: list[str], method: str
) -> None:
    """What goes over all entries is not cut after seconds, and never begun twice unasked."""
    run(*words)
    left = script.remaining[script.calls.index(method)]
    assert left is not None
    assert 3000 < left < 3700
    script.calls.clear()
    script.refusals = [Refusal(grpc.StatusCode.OK)] * (1 if method == "CheckIndexes" else 0)
    script.refusals.append(Refusal(grpc.StatusCode.UNAVAILABLE))
    run(*words)
    assert script.calls.count(method) == 1


def test_all_pages_are_listed(run: Run) -> None:
    """The list goes on until there is no further page."""
    listed = json.loads(run("consolidate", "--list", "--json").stdout)["consolidations"]
    assert [each["run_id"] for each in listed] == ["run-1", "run-2"]
    assert "not yet" in run("consolidate", "--list").stdout


def test_steps_that_stay_want_attention(run: Run) -> None:
    """Entries that were changed since are left as they are; that is told."""
    done = run("consolidate", "--undo", "run-1", "--step", "1", "--step", "2", "--step", "3")
    assert done.exit_code == 9
    assert "changed since: steps 2, 3" in done.stdout
