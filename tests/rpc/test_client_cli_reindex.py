"""`hilvan reindex` against a real retrieval and against doubles."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from support.client.runs import SERVICES, Real, Run, real, runner
from support.client.script import Refusal, Script, index_state
from support.client.server import serve_in_thread
from support.retrieval.record import AS_SERVICE, entry

from hilvan.common.v1.entry_pb2 import SOURCE_KEYWORD, SOURCE_VECTOR
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_client.cli import progress
from hilvan_client.cli.settings import Settings

BUILDING = pb.GENERATION_STATE_BUILDING


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Real]:
    """A real retrieval of an empty record: what is begun there is filled at once."""
    with real(tmp_path) as running:
        yield running


@pytest.fixture
def idle(tmp_path: Path) -> Iterator[Real]:
    """A real retrieval with an entry that indexes nothing until it is told to."""
    with real(tmp_path, indexing=False) as running:
        parts = running.served.value.parts
        running.served.run(parts.writer.upsert(AS_SERVICE, entry(), None))
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


def states(document: dict[str, list[dict[str, object]]]) -> dict[str, str]:
    """Tell what each index is for."""
    return {
        f"{str(each['source'])[7:].lower()}.{each['generation']}": str(each["state"])[17:].lower()
        for each in document["indexes"]
    }


async def begin_indexing(service: Real) -> "asyncio.Task[None]":
    """Start what was left out."""
    return asyncio.create_task(service.served.value.parts.indexer.run())


def test_both_indexes_are_built_and_switched_to(service: Real) -> None:
    """New indexes answer in the end; the former ones are kept; stdout is one document."""
    done = service.json("reindex")
    assert sorted(done["switched"]) == ["keyword.2", "vector.2"]
    assert done["not_switched"] == []
    expected = {"vector.1": "retired", "vector.2": "live"}
    expected |= {"keyword.1": "retired", "keyword.2": "live"}
    assert states(done) == expected


def test_one_source_alone_is_built(service: Real) -> None:
    """--source leaves the other index as it is, and people are told the way back."""
    done = service.run("reindex", "--source", "keyword")
    assert done.exit_code == 0
    assert done.stdout == "keyword.2 answers; the former one is kept up to date\n"
    assert "building keyword.2 beside" in done.stderr
    assert "hilvan reindex rollback" in done.stderr
    assert states(service.json("reindex", "status")).keys() == {
        "vector.1",
        "keyword.1",
        "keyword.2",
    }


def test_the_steps_can_be_taken_one_by_one(service: Real) -> None:
    """Begin, switch, roll back and drop each answer with all indexes."""
    assert states(service.json("reindex", "begin", "--source", "vector"))["vector.2"] == "building"
    only = ("--source", "vector")
    assert states(service.json("reindex", "switch", *only))["vector.2"] == "live"
    assert states(service.json("reindex", "rollback", *only))["vector.1"] == "live"
    left = states(service.json("reindex", "drop", *only))
    assert left == {"vector.1": "live", "keyword.1": "live"}


def test_status_shows_a_table(service: Real) -> None:
    """Every index has a row with its state, engine, recipe and counts."""
    parts = service.served.value.parts
    service.served.run(parts.store(*(entry(f"m{n}") for n in range(3))))
    table = service.run("reindex", "status").stdout
    assert "filled" in table.splitlines()[0]
    (row,) = [line.split() for line in table.splitlines() if line.startswith("keyword.1")]
    assert row == ["keyword.1", "live", "OK", "memory", "words", "3", "100", "%", "0", "0"]


def test_a_refused_step_says_where_to_look(service: Real) -> None:
    """Switching to nothing is refused with exit code 3."""
    done = service.run("reindex", "switch")
    assert done.exit_code == 3
    assert "next: `hilvan reindex status` shows" in done.stderr


def test_only_a_service_may(service: Real) -> None:
    """A member's key is told which role it takes."""
    done = service.run("reindex", who="ana")
    assert done.exit_code == 6
    assert "need role service" in done.stderr


def test_a_source_before_a_subcommand_is_no_use(service: Real) -> None:
    """An option that would be overlooked is a mistake that is told."""
    assert service.run("reindex", "--source", "vector", "drop").exit_code == 2


def stop_waiting(service: Real, sent: signal.Signals) -> tuple[int, str]:
    """Start a reindex, and stop it once it waits; its exit code and what it said then."""
    command = [sys.executable, "-m", "hilvan_client.cli.main", "reindex"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=service.variables()
    ) as child:
        assert child.stderr is not None
        assert "building" in child.stderr.readline()
        child.send_signal(sent)
        said = child.communicate(timeout=60)[1]
    return child.returncode, said


def test_a_stopped_command_goes_on_with_what_was_begun(idle: Real) -> None:
    """Interrupted or killed while it waits, the next one waits for the same indexes."""
    code, said = stop_waiting(idle, signal.SIGINT)
    assert code == 130
    assert "the service goes on building" in said
    assert "`hilvan reindex drop` gives it up" in said
    code, said = stop_waiting(idle, signal.SIGKILL)
    assert (code, said) == (-signal.SIGKILL, "")
    indexing = idle.served.run(begin_indexing(idle))
    done = idle.json("reindex")
    assert sorted(done["switched"]) == ["keyword.2", "vector.2"]
    assert {each["document_count"] for each in done["indexes"]} == {"1"}
    idle.served.loop.call_soon_threadsafe(indexing.cancel)


def test_what_was_switched_before_a_kill_is_not_built_again(service: Real) -> None:
    """A run that comes after one of two switches only finishes the other one."""
    service.json("reindex", "begin")
    service.json("reindex", "switch", "--source", "keyword")
    done = service.run("reindex")
    assert done.exit_code == 0
    assert "keyword: left as it is; `hilvan reindex --source keyword` begins one" in done.stderr
    now = states(service.json("reindex", "status"))
    assert (now["keyword.2"], now["vector.2"]) == ("live", "live")
    assert "keyword.3" not in now


def test_a_service_that_is_away_for_a_while_is_waited_for(run: Run, script: Script) -> None:
    """Calls that fail while an index is built are asked again."""
    begun = index_state(SOURCE_VECTOR, 2, state=BUILDING, filled_share=0.5)
    script.states = [[begun], [index_state(SOURCE_VECTOR, 2)]]
    # The first two calls are those that begin; a call that is retried takes three refusals.
    passed = [Refusal(grpc.StatusCode.OK)] * 2
    script.refusals = [*passed, *[Refusal(grpc.StatusCode.UNAVAILABLE)] * 3]
    done = run("reindex", "--source", "vector", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["switched"] == ["vector.2"]
    assert script.calls.count("GetIndexState") == 6


def test_a_service_that_stays_away_ends_the_waiting(run: Run, script: Script) -> None:
    """When its patience is over, the command fails with what the service said."""
    script.states = [[index_state(SOURCE_VECTOR, 2, state=BUILDING)]]
    passed = [Refusal(grpc.StatusCode.OK)] * 2
    script.refusals = [*passed, *[Refusal(grpc.StatusCode.UNAVAILABLE, "away")] * 3]
    done = run("reindex", "--source", "vector", "--patience", "0")
    assert done.exit_code == 7
    assert "away" in done.stderr


@pytest.mark.parametrize(
    ("later", "reason"),
    [
        ([index_state(SOURCE_VECTOR, 2, state=BUILDING, parked_count=2)], "2 entries could not"),
        ([index_state(SOURCE_VECTOR, 2, state=BUILDING, filled_share=0.5)], "not moved for 0 s"),
        ([index_state(SOURCE_VECTOR, 2, state=pb.GENERATION_STATE_RETIRED)], "and back"),
        ([], "was it dropped?"),
    ],
)
def test_what_can_not_answer_is_told(
    run: Run, script: Script, later: list[pb.IndexState], reason: str
) -> None:
    """An index that is stuck or gone ends the waiting, wants attention, and is not switched to."""
    begun = index_state(SOURCE_VECTOR, 2, state=BUILDING, filled_share=0.5)
    script.states = [[begun], later]
    done = run("reindex", "--source", "vector", "--patience", "0")
    assert done.exit_code == 9, done.output
    assert "vector.2 does not answer yet: " in done.stdout
    assert reason in done.stdout
    assert script.calls.count("Reindex") == 1


def test_a_switch_that_is_refused_is_tried_again(run: Run, script: Script) -> None:
    """The service has the last word on what has caught up; a refusal is waited out."""
    state = index_state(SOURCE_KEYWORD, 2, state=BUILDING, pending_count=200)
    script.states = [[state]]
    passed = [Refusal(grpc.StatusCode.OK)] * 3
    script.refusals = [*passed, Refusal(grpc.StatusCode.FAILED_PRECONDITION, "not yet")]
    done = run("reindex", "--source", "keyword", "--json")
    assert done.exit_code == 0, done.output
    steps = [each.step for each in script.requests if isinstance(each, pb.ReindexRequest)]
    assert steps == [pb.REINDEX_STEP_BEGIN, *[pb.REINDEX_STEP_SWITCH] * 2]
    assert list(script.requests[-2].sources) == [SOURCE_KEYWORD]


def test_an_index_far_behind_is_not_switched_to(run: Run, script: Script) -> None:
    """As long as many writes wait, the command does not even ask."""
    behind = index_state(SOURCE_VECTOR, 2, state=BUILDING, pending_count=257)
    script.states = [[behind]] * 3 + [[index_state(SOURCE_VECTOR, 2)]]
    assert run("reindex", "--source", "vector").exit_code == 0
    assert script.calls.count("Reindex") == 1


def test_bars_are_for_terminals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is drawn into a file or a pipe."""
    with progress.bars(Settings(home=tmp_path, given={})) as update:
        update("vector.2", 0.5, "filled")
    assert capsys.readouterr() == ("", "")


def test_bars_show_share_and_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal gets a bar for each name, on stderr; with --json nothing."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    for is_json in (True, False):
        with progress.bars(Settings(home=tmp_path, given={}, json=is_json)) as update:
            update("vector.2", 0.5, "filled, 7 pending")
        drawn = capsys.readouterr()
        assert drawn.out == ""
        assert ("vector.2" in drawn.err, "7 pending" in drawn.err) == (not is_json,) * 2
