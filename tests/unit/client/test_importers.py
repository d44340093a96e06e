"""Every import format: what becomes of records, good and bad."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st
from support.paths import DATA, TEAM

from hilvan.common.v1 import entry_pb2
from hilvan.common.v1.entry_pb2 import Entry, Origin, Owner
from hilvan_client.importers import (
    BadRecord,
    Fault,
    Format,
    ImportItem,
    UnknownFormat,
    detect,
    jsonl,
    locomo,
    read_file,
)

EXPORTS = DATA / "importers"
ANA = Owner(axis=entry_pb2.AXIS_USER, id="ana")
GOOD = {"id": "a", "layer": "memory", "owner": {"axis": "user", "id": "ana"}, "text": "x"}


def split(items: Sequence[ImportItem]) -> tuple[dict[str, Entry], list[Fault]]:
    """Entries by id, and faults."""
    good = {item.id: item for item in items if isinstance(item, Entry)}
    return good, [item for item in items if isinstance(item, Fault)]


def load(name: str, owner: Owner | None = None) -> tuple[dict[str, Entry], list[Fault]]:
    """Read a file of the test data."""
    return split(list(read_file(EXPORTS / name, None, owner)))


def instant(entry: Entry, name: str) -> str:
    """A time as text."""
    return str(getattr(entry, name).ToJsonString())


def line(**changes: Any) -> bytes:
    """A good line with changes; None takes a field out."""
    record = {key: value for key, value in (GOOD | changes).items() if value is not None}
    return orjson.dumps(record)


seconds = st.integers(-62_135_596_800, 253_402_300_799)
times = st.none() | st.builds(Timestamp, seconds=seconds, nanos=st.integers(0, 999_999_999))
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
filled = words.filter(str.strip)
fractions = st.none() | st.floats(0, 1)
counts = st.integers(0, 2**63 - 1)
origins = st.none() | st.builds(
    Origin, kind=words, uri=words, thread=words, position=st.none() | st.integers(0, 2**31 - 1)
)
valid_entries = st.builds(
    Entry,
    id=filled,
    layer=st.integers(1, 4),
    owner=st.builds(Owner, axis=st.integers(1, 3), id=filled),
    category=words,
    title=words,
    text=filled,
    importance=fractions,
    confidence=fractions,
    access_count=counts,
    reinforcement_count=counts,
    create_time=times,
    update_time=times,
    last_access_time=times,
    valid_from_time=times,
    valid_until_time=times,
    superseded_by=words,
    topics=st.lists(words, max_size=3),
    outcome=words,
    steps=st.lists(words, max_size=3),
    tags=st.lists(words, max_size=3),
    origin=origins,
)


@given(valid_entries)
def test_jsonl_round_trip(entry: Entry) -> None:
    """What is written as a line reads as the same entry, in every field and presence."""
    written = jsonl.dump(entry)
    assert b"\n" not in written
    assert list(jsonl.read([written])) == [entry]


@given(st.lists(st.binary(max_size=40)))
def test_any_bytes_make_items(lines: list[bytes]) -> None:
    """No line can stop the reading of the others."""
    found = list(jsonl.read([*lines, line()]))
    assert isinstance(found[-1], Entry)
    assert all(isinstance(item, Entry | Fault) for item in found)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from([*sorted(GOOD), "importance", "tags", "create_time", "origin"]), json_values)
def test_any_value_in_a_field_is_an_item(name: str, value: object) -> None:
    """A field of any type makes an entry or one fault, and no exception."""
    record = (
        orjson.dumps(GOOD | {name: value}, option=orjson.OPT_PASSTHROUGH_DATACLASS, default=str)
        if _fits(value)
        else b"{"
    )
    assert len(list(jsonl.read([record]))) == 1


def _fits(value: object) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"id": None}, "id is missing"),
        ({"id": ""}, "id is missing"),
        ({"text": "  "}, "text is missing"),
        ({"layer": "fact"}, "layer must be memory, episode, procedure, note"),
        ({"owner": None}, "owner must be an object"),
        ({"owner": {"axis": "team", "id": "a"}}, "axis must be user, project, space"),
        ({"importance": "high"}, "importance must be a number"),
        ({"importance": True}, "importance must be a number"),
        ({"access_count": 1.5}, "access_count must be a whole number"),
        ({"tags": ["a", 1]}, "tags must be a list of strings"),
        ({"title": 3}, "title must be a string"),
        ({"create_time": "soon"}, "create_time is no ISO 8601 time: 'soon'"),
        ({"create_time": "0001-01-01T00:00:00+12:00"}, "create_time is no ISO 8601 time"),
        ({"catgory": "x"}, "unknown field 'catgory'"),
        ({"origin": {"position": 2**40}}, "Value out of range"),
    ],
)
def test_jsonl_faults_say_line_and_field(changes: dict[str, Any], word: str) -> None:
    """A bad line becomes one fault that names its place and what is wrong."""
    first, second, third = jsonl.read([line(), b" ", line(**changes), line(id="b")])
    assert isinstance(first, Entry)
    assert isinstance(second, Fault)
    assert second.where == "line 3"
    assert word in second.description
    assert isinstance(third, Entry)


@pytest.mark.parametrize("bad", [b"{", b"[]", b'{"id": "\xff"}', rb'{"id": "\ud800"}', b"NaN"])
def test_lines_that_are_no_objects_are_faults(bad: bytes) -> None:
    """Broken JSON, bad UTF-8 and lone surrogates are faults of their line."""
    (only,) = jsonl.read([bad])
    assert isinstance(only, Fault)


def test_jsonl_times_are_utc_unless_they_say_otherwise() -> None:
    """Offsets, naive times, dates and nanoseconds are all read."""
    written = ["2025-01-01T00:00:00.123456789Z", "2025-01-01T02:00:00+02:00", "2025-01-01"]
    lines = [line(id=str(place), create_time=value) for place, value in enumerate(written)]
    read = [item.create_time for item in jsonl.read(lines) if isinstance(item, Entry)]
    assert [(stamp.seconds, stamp.nanos) for stamp in read] == [
        (1735689600, 123456789),
        (1735689600, 0),
        (1735689600, 0),
    ]


def test_given_owner_replaces_those_of_the_file() -> None:
    """The owner of an import stands above the file."""
    luis = Owner(axis=entry_pb2.AXIS_PROJECT, id="luis")
    (only,) = jsonl.read([line()], luis)
    assert isinstance(only, Entry)
    assert only.owner == luis


def test_dump_refuses_an_entry_without_layer() -> None:
    """What `read` would refuse is not written."""
    with pytest.raises(ValueError, match="memory, episode"):
        jsonl.dump(Entry(id="a", text="x", owner=ANA))


def test_locomo_turns() -> None:
    """A turn is an episode of its sample's project, placed in its session."""
    found, faults = load("locomo.json")
    assert list(found) == ["talk-1:D2:1", "talk-1:D10:1", "talk-1:D10:3"]
    sea = found["talk-1:D2:1"]
    assert sea.layer == entry_pb2.LAYER_EPISODE
    assert sea.text == "Luis: El mar estaba frío. [image: a grey beach]"
    assert sea.owner == Owner(axis=entry_pb2.AXIS_PROJECT, id="talk-1")
    assert instant(sea, "create_time") == "2024-03-03T10:05:00Z"
    assert sea.origin == Origin(kind="locomo", thread="talk-1/session_2", position=0)
    assert found["talk-1:D10:3"].origin.position == 2
    assert instant(found["talk-1:D10:1"], "create_time") == "2024-05-04T00:40:00Z"
    assert [fault.where for fault in faults] == [
        "talk-1/session_10, turn 1",
        "talk-1/session_11",
        "sample 1",
    ]


def test_locomo_questions_keep_what_resolves() -> None:
    """References that hold several ids are split, malformed ones left out, empty questions too."""
    document = orjson.loads((EXPORTS / "locomo.json").read_bytes())[:1]
    found = list(locomo.read_questions(document))
    assert [question.evidence for question in found] == [
        ("talk-1:D2:1",),
        ("talk-1:D2:1", "talk-1:D10:3"),
        ("talk-1:D10:1",),
    ]
    assert (found[1].answer, found[1].category, found[1].sample_id) == ("2", 1, "talk-1")


@pytest.mark.skipif("HILVAN_LOCOMO_FILE" not in os.environ, reason="HILVAN_LOCOMO_FILE is not set")
def test_locomo_development_half() -> None:
    """The development half of LoCoMo has 1,018 questions with resolvable evidence."""
    path = Path(os.environ["HILVAN_LOCOMO_FILE"])
    found, faults = split(list(read_file(path)))
    questions = list(locomo.read_questions(orjson.loads(path.read_bytes())))
    assert (len(questions), len(found), faults) == (1018, 2960, [])
    assert all(turn in found for question in questions for turn in question.evidence)


def test_mem0_memories() -> None:
    """Categories, times, the inclusive expiry, run and agent find their places."""
    found, faults = load("mem0.json")
    tea = found["mem0:5e1d8f5a-0001"]
    assert (tea.layer, tea.owner) == (entry_pb2.LAYER_MEMORY, ANA)
    assert (tea.category, list(tea.tags)) == ("food", ["health", "agent:desk"])
    assert instant(tea, "create_time") == "2025-08-11T15:14:02.118402Z"
    assert instant(tea, "update_time") == "2025-08-12T15:14:02Z"
    assert instant(tea, "valid_until_time") == "2026-01-01T00:00:00Z"
    assert tea.origin == Origin(kind="import:mem0", thread="chat-7")
    assert found["mem0:5e1d8f5a-0002"].category == "hobby"
    assert not found["mem0:5e1d8f5a-0002"].HasField("create_time")
    assert [fault.where for fault in faults] == ["memory 2", "memory 3"]
    assert "give an owner" in faults[0].description


def test_mem0_list_without_envelope(tmp_path: Path) -> None:
    """The bare list of the older API is read as well."""
    path = tmp_path / "m.json"
    path.write_bytes(orjson.dumps([{"id": "1", "memory": "x", "user_id": "ana"}]))
    assert detect(path) is Format.MEM0
    assert [item.id for item in read_file(path) if isinstance(item, Entry)] == ["mem0:1"]


def test_zep_graph() -> None:
    """Facts hold from valid_at to invalid_at, entities are memories, episodes follow time."""
    found, faults = load("zep.json")
    home = found["zep:edge-1"]
    assert (home.text, home.category, home.owner) == ("Ana lives in Bogotá", "lives_in", ANA)
    assert instant(home, "valid_from_time") == "2024-01-01T00:00:00Z"
    assert instant(home, "valid_until_time") == "2025-06-01T00:00:00Z"
    assert instant(found["zep:edge-2"], "valid_until_time") == "2025-06-02T00:00:00Z"
    assert not found["zep:edge-2"].HasField("valid_from_time")
    assert (found["zep:node-1"].category, found["zep:node-1"].title) == ("entity", "Vereda")
    assert "zep:node-2" not in found
    first, second = found["zep:ep-1"], found["zep:ep-2"]
    assert first.origin == Origin(kind="import:zep", thread="t-1", position=0)
    assert (second.text, second.origin.position) == ("desk: Second.", 1)
    assert found["zep:ep-3"].text == '{"a": 1}'
    assert not found["zep:ep-3"].origin.HasField("position")
    said = found["zep:msg-1"]
    assert (said.text, said.origin.thread) == ("Ana: Said in a thread.", "t-2")
    assert sorted(fault.where for fault in faults) == ["edges 2", "episodes 4", "threads 1"]


def test_letta_agent_file() -> None:
    """Blocks and passages are memories, talk is episodes, machinery is left out."""
    found, faults = load("letta.json", ANA)
    block = found["letta:hebra:human"]
    assert (block.layer, block.category, block.text) == (1, "human", "Name: Ana")
    assert block.title == "Who the person is."
    passage = found["letta:passage-1"]
    assert (passage.category, list(passage.tags)) == ("archive", ["meetings"])
    assert passage.origin == Origin(kind="import:letta", uri="archive-1")
    talk = [entry for entry in found.values() if entry.layer == entry_pb2.LAYER_EPISODE]
    assert [entry.text for entry in talk] == ["user: Hola", "assistant: Hola, Ana."]
    assert [entry.origin.position for entry in talk] == [0, 1]
    assert len(found) == 4
    assert [fault.where for fault in faults] == ["hebra, message 5"]


def test_letta_older_format() -> None:
    """Wrapped user messages and what is said through send_message are unwrapped."""
    found, faults = load("letta-v1.json", ANA)
    texts = [entry.text for entry in found.values()]
    assert texts == ["First name: Chad", "user: Are you there?", "assistant: I am."]
    assert faults == []


def test_letta_ids_do_not_hang_on_numbers_of_the_file(tmp_path: Path) -> None:
    """Another export of the same agent with other file-local ids gives the same entry ids."""
    text = (EXPORTS / "letta.json").read_text(encoding="utf-8")
    path = tmp_path / "again.af"
    renamed = text.replace("block-0", "block-5").replace("message-1", "message-8")
    path.write_text(renamed.replace('"agent-0"', '"agent-3"'), encoding="utf-8")
    again, _ = split(list(read_file(path, None, ANA)))
    assert again.keys() == load("letta.json", ANA)[0].keys()


@pytest.mark.parametrize(
    ("name", "expected", "owner"),
    [
        ("locomo.json", Format.LOCOMO, None),
        ("mem0.json", Format.MEM0, None),
        ("zep.json", Format.ZEP, None),
        ("letta.json", Format.LETTA, ANA),
        ("letta-v1.json", Format.LETTA, ANA),
    ],
)
def test_formats_are_detected_and_read_the_same_twice(
    name: str, expected: Format, owner: Owner | None
) -> None:
    """The content tells the format, and ids and contents do not change between readings."""
    assert detect(EXPORTS / name) is expected
    first = list(read_file(EXPORTS / name, None, owner))
    assert first == list(read_file(EXPORTS / name, expected, owner))
    ids = [item.id for item in first if isinstance(item, Entry)]
    assert ids
    assert len(set(ids)) == len(ids)


def test_jsonl_is_detected_behind_broken_lines(tmp_path: Path) -> None:
    """A byte order mark and a broken first line do not hide the format."""
    path = tmp_path / "e.jsonl"
    path.write_bytes(b"\xef\xbb\xbf\n{broken\n" + line() + b"\r\n" + line() + b"\n")
    assert detect(path) is Format.JSONL
    found, faults = split(list(read_file(path)))
    assert list(found) == ["a"]
    assert [fault.where for fault in faults] == ["line 2", "a"]


@pytest.mark.parametrize("content", [b"", b"hello", b"{}", b"[]", b'[{"a": 1}]', b"7"])
def test_unknown_files_are_refused_with_the_formats(tmp_path: Path, content: bytes) -> None:
    """A file of no known format says which formats there are."""
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(UnknownFormat, match=r"known format \(jsonl|neither JSON"):
        detect(path)


def test_a_file_of_another_format_is_refused() -> None:
    """A format that is named and does not fit is an error, not an empty import."""
    with pytest.raises(UnknownFormat, match="does not look like zep"):
        read_file(EXPORTS / "mem0.json", Format.ZEP)


@pytest.mark.parametrize("name", ["letta.json"])
def test_a_file_that_names_nobody_needs_an_owner(name: str) -> None:
    """A file without users is refused as a whole when no owner is given."""
    with pytest.raises(BadRecord, match="owner"):
        list(read_file(EXPORTS / name))


def test_ids_that_can_not_stand_become_digests(tmp_path: Path) -> None:
    """A source's id with other characters gives a stable id of allowed ones."""
    path = tmp_path / "m.json"
    path.write_bytes(orjson.dumps([{"id": "ñ 1", "memory": "x", "user_id": "ana"}]))
    (first,), (again,) = read_file(path), read_file(path)
    assert isinstance(first, Entry)
    assert first == again
    assert first.id.startswith("mem0:")
    assert first.id.isascii()


@pytest.mark.parametrize(
    "name",
    ["entries.jsonl", "mem0-export.json", "zep-export.json", "letta-export.json"],
)
def test_the_sample_team_imports_without_faults(name: str) -> None:
    """Every export of the sample team is read whole."""
    path = TEAM / name
    owner = ANA if name.startswith(("zep", "letta")) else None
    found, faults = split(list(read_file(path, None, owner)))
    assert found
    assert faults == []
