"""`hilvan doctor` about indexes: generations, parked writes, the comparison with the record."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from support.client.runs import SERVICES, Real, Run, real, runner
from support.client.script import Refusal, Script, index_state
from support.client.server import serve_in_thread
from support.retrieval.record import entry
from support.retrieval.service import Served

from hilvan.common.v1.entry_pb2 import SOURCE_KEYWORD, SOURCE_VECTOR
from hilvan.common.v1.report_pb2 import PART_STATUS_UNAVAILABLE
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_retrieval.core.index import document
from hilvan_retrieval.model.entry import Uid

SAME = {"asked": True, "missing": 0, "stale": 0, "ghosts": 0, "parked": 0}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Real]:
    """A real retrieval with three entries in both indexes."""
    with real(tmp_path) as running:
        running.served.run(running.served.value.parts.store(*(entry(f"m{n}") for n in range(3))))
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


async def damage(served: Served) -> None:
    """Take two entries out of the index of words, and put one into it that never was."""
    index = served.parts.keyword.inner
    uids = [uid async for uid in _uids(served)]
    await index.delete(uids[:2])
    await index.upsert([document("acme", Uid("0" * 32), entry("ghost"))])


async def _uids(served: Served) -> Any:
    for digit in "0123456789abcdef":
        for other in "0123456789abcdef":
            for uid in await served.parts.keyword.inner.revisions(digit + other):
                yield uid


def compared(missing: int = 0, ghosts: int = 0) -> list[dict[str, Any]]:
    """Tell how the command reports differences of the keyword index alone."""
    keyword = {"index": "keyword.1", **SAME, "missing": missing, "ghosts": ghosts}
    return [keyword, {"index": "vector.1", **SAME}]


def by_index(comparison: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put them in order."""
    return sorted(comparison, key=lambda each: str(each["index"]))


def finding(document: Any, check: str) -> Any:
    """Find what a document says of a check."""
    (found,) = [each for each in document["findings"] if each["check"] == check]
    return found


def difference(**counts: int) -> pb.CheckIndexesResponse:
    """Make a part in which the vector index differs."""
    differs = pb.IndexDifference(source=SOURCE_VECTOR, generation=1, **counts)
    return pb.CheckIndexesResponse(checked_share=1, entry_count=5, differences=[differs])


def test_indexes_that_have_the_record_are_the_same(service: Real) -> None:
    """Every index is compared and has what the record has."""
    told = service.json("doctor", "--indexes", code=9)  # the clock of the tests stands still
    assert told["comparison"]["entries"] == 3
    assert by_index(told["comparison"]["indexes"]) == compared()
    assert finding(told, "keyword.1 as the record")["seen"] == "the same"
    assert finding(told, "vector.1 as the record")["ok"]


def test_differences_are_summed_up_and_mended(service: Real) -> None:
    """What is missing and what is too much is counted; --repair mends it and looks again."""
    service.served.run(damage(service.served.value))
    told = service.json("doctor", "--indexes", code=9)
    assert by_index(told["comparison"]["indexes"]) == compared(missing=2, ghosts=1)
    assert "hilvan doctor --repair" in finding(told, "keyword.1 as the record")["advice"]
    mended = service.json("doctor", "--repair", code=9)
    assert by_index(mended["comparison"]["repaired"]) == compared(missing=2, ghosts=1)
    assert by_index(mended["comparison"]["indexes"]) == compared()
    assert finding(mended, "repair")["ok"]
    again = service.json("doctor", "--indexes", code=9)
    assert by_index(again["comparison"]["indexes"]) == compared()


def test_each_index_has_a_finding(service: Real) -> None:
    """Its generation, its state and what it holds are told; nothing is compared unasked."""
    told = service.json("doctor", code=9)
    assert "comparison" not in told
    assert finding(told, "vector index 1")["seen"].startswith("live, OK, memory, 3 documents")


def test_comparing_needs_a_service(service: Real) -> None:
    """A member's key gets the usual findings, and is told why nothing was compared."""
    done = service.run("doctor", "--indexes", "--json", who="ana")
    told = json.loads(done.stdout)
    assert "role service" in finding(told, "indexes compared")["advice"]
    assert finding(told, "vector index 1")["ok"]


def test_parked_writes_are_named(run: Run, script: Script) -> None:
    """The doctor names the entries, what they failed with, and how to try again."""
    parked = [pb.ParkedWrite(entry_id="m1", attempt_count=5, error="too long")]
    script.states = [[index_state(SOURCE_KEYWORD, 3, parked_count=1, parked=parked)]]
    done = run("doctor")
    assert done.exit_code == 9
    assert "m1 failed 5 times: too long" in " ".join(done.stdout.split())
    assert "next: keyword index 3: mend what they failed with" in done.stdout


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (index_state(SOURCE_VECTOR, pending_count=1000), 0),
        (index_state(SOURCE_VECTOR, pending_count=1001), 9),
        (
            index_state(SOURCE_VECTOR, 2, pending_count=9_999, state=pb.GENERATION_STATE_BUILDING),
            0,
        ),
        (
            index_state(SOURCE_VECTOR, pending_count=1, oldest_pending_time=Timestamp(seconds=1)),
            9,
        ),
        (index_state(SOURCE_VECTOR, status=PART_STATUS_UNAVAILABLE), 9),
    ],
)
def test_an_index_that_is_behind_or_down_wants_attention(
    run: Run, script: Script, state: pb.IndexState, code: int
) -> None:
    """Too many writes wait, or too long, or the engine is down; an index being built may wait."""
    script.states = [[state]]
    assert run("doctor").exit_code == code


def test_the_parts_of_a_comparison_are_added_up(run: Run, script: Script) -> None:
    """Entries and differences of all parts are one sum, and want attention."""
    script.parts = [
        [difference(missing_count=1, parked_count=4), difference(missing_count=2, stale_count=3)]
    ]
    done = run("doctor", "--indexes", "--json")
    assert done.exit_code == 9
    comparison = json.loads(done.stdout)["comparison"]
    assert comparison["entries"] == 10
    counts = {"missing": 3, "stale": 3, "ghosts": 0, "parked": 4}
    assert comparison["indexes"] == [{"index": "vector.1", "asked": True, **counts}]


def test_an_index_that_could_not_be_asked_wants_attention(run: Run, script: Script) -> None:
    """No difference was seen, but nobody looked everywhere."""
    silent = pb.CheckIndexesResponse(checked_share=0.5, unavailable_sources=[SOURCE_VECTOR])
    script.parts = [[silent, pb.CheckIndexesResponse(checked_share=1)]]
    done = run("doctor", "--indexes")
    assert done.exit_code == 9
    assert "it could not be asked throughout" in done.stdout


def test_a_repair_that_mends_all_is_healthy(run: Run, script: Script) -> None:
    """Only the first comparison repairs; the second decides."""
    script.parts = [[difference(missing_count=1)], [pb.CheckIndexesResponse(checked_share=1)]]
    done = run("doctor", "--repair", "--json")
    assert done.exit_code == 0
    asked = [each.repair for each in script.requests if isinstance(each, pb.CheckIndexesRequest)]
    assert asked == [True, False]
    assert json.loads(done.stdout)["comparison"]["repaired"][0]["missing"] == 1


def test_a_repair_is_waited_for_until_what_it_wrote_is_through(run: Run, script: Script) -> None:
    """It looks until nothing older than the repair is pending; newer writes don't hold it up."""
    old = index_state(SOURCE_VECTOR, pending_count=2, oldest_pending_time=Timestamp(seconds=1))
    new = index_state(
        SOURCE_VECTOR, pending_count=2, oldest_pending_time=Timestamp(seconds=1 << 32)
    )
    script.states = [[index_state(SOURCE_VECTOR)], [old], [old], [new]]
    done = run("doctor", "--repair", "--json")
    assert done.exit_code == 0
    before = script.calls[
        : script.calls.index("CheckIndexes", script.calls.index("CheckIndexes") + 1)
    ]
    assert before.count("GetIndexState") == 5


def test_a_repair_is_not_waited_for_for_ever(run: Run, script: Script) -> None:
    """After --wait seconds the doctor says what is still pending, and that wants attention."""
    old = index_state(SOURCE_VECTOR, pending_count=2, oldest_pending_time=Timestamp(seconds=1))
    script.states = [[old]]
    done = run("doctor", "--repair", "--wait", "0", "--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["comparison"]["pending"]) == (9, 2)
    assert "2 writes still wait after 0 s" in finding(told, "repair")["seen"]


def test_a_comparison_that_breaks_off_is_a_finding(run: Run, script: Script) -> None:
    """An error on the way does not hide what else was found."""
    script.refusals = [Refusal(grpc.StatusCode.OK), Refusal(grpc.StatusCode.INTERNAL, "broken")]
    done = run("doctor", "--indexes", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 9
    assert "broken" in finding(told, "indexes compared")["seen"]
    assert finding(told, "record")["ok"]
