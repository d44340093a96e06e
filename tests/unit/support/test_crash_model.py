"""What the crash harness knows: which records it accepts after a kill, and which never."""

import grpc
import pytest
from crash.model import ADDED, Operation, Violation, World, copied

from hilvan.common.v1.entry_pb2 import Entry
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb

LOOSE = frozenset({"content_hash"})


def entry(name: str = "a", text: str = "word", version: int = 1, count: int = 0) -> Entry:
    """Make an entry as the record would give it."""
    return Entry(id=name, text=text, etag=str(version), content_hash=text, access_count=count)


def sent(world: World, *afters: dict[str, Entry | None], text: str = "") -> Operation:
    """Send a call that has not been answered."""
    before = {name: world.truth.get(name) for after in afters for name in after if name}
    operation = Operation("put", "", pb.UpsertEntryRequest(), before, afters, LOOSE, text)
    world.issue(operation)
    return operation


@pytest.fixture
def world() -> World:
    """Gives a world in which one entry was acknowledged."""
    made = World()
    made.acknowledge(sent(made, {"a": entry()}), entry())
    return made


@pytest.mark.parametrize(
    "found",
    [[], [entry(text="other")], [entry(version=2)], [entry(), entry("b")], [entry(), entry()]],
    ids=["lost", "changed", "written twice", "from nowhere", "twice"],
)
def test_what_was_acknowledged_must_be_there_exactly(world: World, found: list[Entry]) -> None:
    """A record that lacks it, has it otherwise, or has more is a violation."""
    world.verify([entry()])
    with pytest.raises(Violation):
        world.verify(found)


def test_what_was_not_answered_may_be_there_or_not(world: World) -> None:
    """Both are right, and are told apart for the replay."""
    operation = sent(world, {"a": entry(text="new", version=2)})
    world.verify([entry()])
    assert [operation.applied] == [False]
    world.verify([entry(text="new", version=2)])
    assert [operation.applied] == [True]
    with pytest.raises(Violation, match="was there and is gone"):
        world.verify([entry()])


def test_what_was_not_answered_may_not_be_there_in_part(world: World) -> None:
    """One entry of two that a call writes at once is a violation."""
    sent(world, {"b": entry("b"), "c": entry("c")})
    world.verify([entry(), entry("b"), entry("c")])
    with pytest.raises(Violation, match="neither there nor not"):
        world.verify([entry(), entry("b")])


def test_a_replay_answers_what_was_there(world: World) -> None:
    """A second effect, which the versions show, is a violation at its answer."""
    operation = sent(world, {"a": entry(text="new", version=2)})
    world.verify([entry(text="new", version=2)])
    with pytest.raises(Violation, match="its replay answers otherwise"):
        world.acknowledge(operation, entry(text="new", version=3))


def test_one_call_makes_one_entry(world: World) -> None:
    """An entry that the server names is known by its text, and may be there once."""
    operation = sent(world, {ADDED: entry("", text="said")}, text="said")
    world.verify([entry(), entry("x", text="said")])
    with pytest.raises(Violation, match="two entries"):
        world.verify([entry(), entry("x", text="said"), entry("y", text="said")])
    world.acknowledge(operation, entry("x", text="said"))
    world.verify([entry(), entry("x", text="said")])


def test_counters_are_compared_and_a_time_of_the_servers_is_learnt(world: World) -> None:
    """A count that was not answered is there once; its time is what the record says first."""
    counted = entry(count=1)
    operation = Operation(
        "accesses",
        "",
        pb.RecordAccessesRequest(),
        {"a": entry()},
        [{"a": counted}],
        frozenset({"last_access_time"}),
    )
    world.issue(operation)
    dated = copied(counted)
    dated.last_access_time.seconds = 7
    world.verify([dated])
    world.acknowledge(operation)
    world.verify([dated])
    later = copied(dated)
    later.last_access_time.seconds = 8
    with pytest.raises(Violation):
        world.verify([later])


def test_a_refusal_must_be_the_expected_one(world: World) -> None:
    """A call that should work and is refused is a violation, with the entry's history."""
    operation = sent(world, {"a": entry(text="new", version=2)})
    with pytest.raises(Violation, match=r"NOT_FOUND gone\n +a: start: put"):
        world.refused(operation, grpc.StatusCode.NOT_FOUND, "gone")
