"""Naming the fields of messages that can't be parsed."""

from typing import Any

import pytest
from google.protobuf.message import DecodeError, Message
from google.rpc.error_details_pb2 import ErrorInfo
from hypothesis import given, settings
from hypothesis import strategies as st

from hilvan.assembler.v1.assembler_service_pb2 import PreviewRequest
from hilvan.common.v1.entry_pb2 import Entry
from hilvan.retrieval.v1.retrieval_service_pb2 import (
    ImportEntriesRequest,
    ImportRecord,
    UpsertEntryRequest,
)
from hilvan_kit.malformed import undecodable_fields

CUT = "the message is cut off or is not protobuf"
NOT_TEXT = "is not UTF-8 (a lone surrogate perhaps)"
MARK = "MARK"
BROKEN = "\ud800".encode("utf-8", "surrogatepass").ljust(4, b"\xff")


def broken(message: Message) -> bytes:
    """The message's bytes with every MARK turned into bytes that are not UTF-8."""
    data = message.SerializeToString().replace(MARK.encode(), BROKEN)
    with pytest.raises(DecodeError):
        type(message).FromString(data)
    return data


def named(message: Any) -> list[tuple[str, str]]:
    """The faults of the message with every MARK broken."""
    return undecodable_fields(broken(message), message.DESCRIPTOR)


@pytest.mark.parametrize(
    ("message", "paths"),
    [
        (UpsertEntryRequest(request_id=MARK), ["request_id"]),
        (UpsertEntryRequest(entry=Entry(text=f"a{MARK}b")), ["entry.text"]),
        (Entry(tags=["a", MARK, "b", MARK], steps=[MARK]), ["tags[1]", "tags[3]", "steps[0]"]),
        (
            ImportEntriesRequest(records=[ImportRecord(), ImportRecord(entry=Entry(tags=[MARK]))]),
            ["records[1].entry.tags[0]"],
        ),
        (ErrorInfo(metadata={"key": MARK}), ["metadata.value"]),
        (ErrorInfo(metadata={MARK: "value"}), ["metadata.key"]),
        (Entry(id=MARK, text=MARK, title="good"), ["id", "text"]),
    ],
)
def test_texts_that_are_not_utf8_are_named(message: Message, paths: list[str]) -> None:
    """Every such text is named with its whole path: nested, repeated, in a map, several at once."""
    assert sorted(named(message)) == sorted((path, NOT_TEXT) for path in paths)


def test_a_text_inside_a_oneof_is_named() -> None:
    """The member of a oneof is a step of the path."""
    request = PreviewRequest()
    request.assemble.query = MARK
    assert named(request) == [("assemble.query", NOT_TEXT)]


@pytest.mark.parametrize(
    "data",
    [
        b"not protobuf at all",
        b"\xff",
        b"\xff" * 11,
        b"\x0a",
        b"\x0a\x05abc",
        b"\x0d\x00",
        b"\x0b\x08\x01",
        b"\x00",
    ],
)
def test_what_is_not_protobuf_is_said_to_be_cut_off(data: bytes) -> None:
    """Bytes that are no message have one fault, at the request as a whole."""
    with pytest.raises(DecodeError):
        Entry.FromString(data)
    assert undecodable_fields(data, Entry.DESCRIPTOR) == [("", CUT)]


def test_a_nested_message_that_is_cut_off_is_named() -> None:
    """Where the outer message is whole, the inner one that is not is named."""
    data = (
        UpsertEntryRequest(entry=Entry(id="abc"))
        .SerializeToString()
        .replace(b"\x03abc", b"\x07abc")
    )
    assert undecodable_fields(data, UpsertEntryRequest.DESCRIPTOR) == [("entry", CUT)]


def test_faults_before_the_cut_are_told_too() -> None:
    """A text that is not UTF-8 is named even when the bytes end in the middle later on."""
    data = broken(Entry(id=MARK)) + b"\x12\x7f"
    assert undecodable_fields(data, Entry.DESCRIPTOR) == [("id", NOT_TEXT)]


def test_without_a_descriptor_only_the_cut_is_told() -> None:
    """A handler whose messages have no descriptor still gets a fault to answer with."""
    assert undecodable_fields(b"\xff", None) == [("", CUT)]


def test_unknown_fields_are_no_fault() -> None:
    """Fields of a newer contract are skipped on the way to the fault, whatever their kind."""
    newer = (
        b"\xf8\x7f\x01" + b"\xfa\x7f\x02\xff\xff" + b"\xf9\x7f" + bytes(8) + b"\xfd\x7f" + bytes(4)
    )
    Entry.FromString(newer)
    data = newer + broken(Entry(title=MARK))
    assert undecodable_fields(data, Entry.DESCRIPTOR) == [("title", NOT_TEXT)]


messages = st.builds(
    lambda text, tags: UpsertEntryRequest(entry=Entry(text=text, tags=tags)).SerializeToString(),
    st.text(min_size=1, max_size=40),
    st.lists(st.text(max_size=10), max_size=5),
)
mutated = st.builds(
    lambda data, at, byte: data[: at % len(data)] + bytes([byte]) + data[at % len(data) + 1 :],
    messages,
    st.integers(0, 10_000),
    st.integers(0, 255),
)
cut = st.builds(lambda data, at: data[: at % len(data)], messages, st.integers(0, 10_000))


@given(st.binary(max_size=200) | mutated | cut)
@settings(max_examples=500)
def test_whatever_protobuf_refuses_gets_a_fault(data: bytes) -> None:
    """Any bytes that don't parse have at least one fault with a text, and none raises."""
    try:
        UpsertEntryRequest.FromString(data)
    except DecodeError:
        faults = undecodable_fields(data, UpsertEntryRequest.DESCRIPTOR)
        assert faults
        assert all(description for _, description in faults)
