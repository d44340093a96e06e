"""What a request's descriptor alone refuses, for every request of every service."""

import re
from collections.abc import Mapping
from contextlib import suppress

import pytest
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st
from support.paths import ROOT

from hilvan.assembler.v1 import assembler_service_pb2 as assembler
from hilvan.common.v1.entry_pb2 import AXIS_USER, LAYER_MEMORY, LAYER_NOTE, Entry, Owner
from hilvan.curation.v1 import curation_service_pb2 as curation
from hilvan.retrieval.v1 import retrieval_service_pb2 as retrieval
from hilvan_kit.validation import Faults, InvalidRequest, refuse, scan

PROTOS = ROOT / "proto"
SERVICES: tuple[ServiceDescriptor, ...] = tuple(
    module.DESCRIPTOR.services_by_name[name]
    for module, name in (
        (retrieval, "RetrievalService"),
        (curation, "CurationService"),
        (assembler, "AssemblerService"),
    )
)
REQUESTS: Mapping[str, type[Message]] = {
    f"{service.full_name}.{method.name}": GetMessageClass(method.input_type)
    for service in SERVICES
    for method in service.methods
}


def required_in_source(file: str, message: str) -> list[str]:
    """The REQUIRED fields of a message as a reader of the proto finds them."""
    text = (PROTOS / file).read_text()
    body = re.search(rf"^message {message} \{{(\}}$|\n.*?^\}})", text, re.MULTILINE | re.DOTALL)
    assert body, message
    return re.findall(r"(\w+) = \d+ \[\(google\.api\.field_behavior\) = REQUIRED\]", body[1])


def faults_of(message: Message, *, required: bool = True) -> list[tuple[str, str]]:
    """Every fault that `scan` finds."""
    faults = Faults()
    scan(message, faults, required=required)
    return faults.pairs


@pytest.mark.parametrize("method", REQUESTS)
def test_an_empty_request_lacks_exactly_its_required_fields(method: str) -> None:
    """Each REQUIRED field of each method's request is named when it is absent, and nothing else."""
    request = REQUESTS[method]()
    expected = required_in_source(request.DESCRIPTOR.file.name, request.DESCRIPTOR.name)
    assert faults_of(request) == [(name, "is required") for name in expected]


def test_required_fields_were_found_at_all() -> None:
    """The requests of the three services have dozens of REQUIRED fields; none may go unseen."""
    found = [path for request in REQUESTS.values() for path, _ in faults_of(request())]
    assert len(REQUESTS) > 40
    assert len(found) > 30


def test_a_caller_may_look_after_required_fields_itself() -> None:
    """Without ``required`` the message's own fields may be absent, and those below may not."""
    request = retrieval.UpsertEntryRequest()
    assert faults_of(request, required=False) == []
    request.entry.SetInParent()
    below = faults_of(request, required=False)
    assert below
    assert all(path.startswith("entry.") for path, _ in below)


def whole_entry() -> Entry:
    """An entry without a fault."""
    return Entry(layer=LAYER_MEMORY, owner=Owner(axis=AXIS_USER, id="ana"), text="tea")


def test_a_whole_request_has_no_fault() -> None:
    """A request with all it needs passes."""
    assert faults_of(retrieval.UpsertEntryRequest(entry=whole_entry())) == []


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_are_finite(value: float) -> None:
    """NaN and both infinities are named wherever they are."""
    request = retrieval.UpsertEntryRequest(entry=whole_entry())
    request.entry.importance = value
    assert faults_of(request) == [("entry.importance", "must be a finite number")]


def test_texts_have_no_nul() -> None:
    """NUL is named in single texts, lists of texts and lists of messages."""
    request = retrieval.ImportEntriesRequest(batch=1)
    for title in ("good", "b\x00d"):
        request.records.add(entry=whole_entry()).entry.title = title
    request.records[0].entry.tags.extend(["a", "\x00"])
    assert faults_of(request) == [
        ("records[0].entry.tags[1]", "must not contain NUL"),
        ("records[1].entry.title", "must not contain NUL"),
    ]


def test_enums_are_known() -> None:
    """A number that the enum does not have is named, also in a list; those it has pass."""
    request = retrieval.RetrieveCandidatesRequest(query="q")
    request.MergeFromString(b"\x12\x03\x01\x63\x02")  # layers: 1, 99, 2
    assert list(request.layers) == [1, 99, 2]
    assert faults_of(request) == [("layers[1]", "is not a Layer")]


@pytest.mark.parametrize(
    ("seconds", "nanos", "good"),
    [
        (0, 0, True),
        (-62_135_596_800, 0, True),
        (253_402_300_799, 999_999_999, True),
        (-62_135_596_801, 0, False),
        (253_402_300_800, 0, False),
        (2**63 - 1, 0, False),
        (-(2**63), 0, False),
        (0, -1, False),
        (0, 1_000_000_000, False),
        (0, -(2**31), False),
    ],
)
def test_times_are_of_the_years_1_to_9999(seconds: int, nanos: int, *, good: bool) -> None:
    """A timestamp outside of what protobuf defines is named; the limits themselves pass."""
    request = retrieval.RetrieveCandidatesRequest(query="q", layers=[LAYER_NOTE])
    request.as_of_time.CopyFrom(Timestamp(seconds=seconds, nanos=nanos))
    expected = [] if good else [("as_of_time", "is not a time from year 1 to 9999")]
    assert faults_of(request) == expected


def test_the_chosen_member_of_a_oneof_is_looked_into() -> None:
    """Faults inside of a oneof have its member in their path; the members not chosen have none."""
    request = assembler.PreviewRequest()
    assert faults_of(request) == []
    request.assemble.query = "\x00"
    request.assemble.overrides.min_final = float("nan")
    assert faults_of(request) == [
        ("assemble.query", "must not contain NUL"),
        ("assemble.overrides.min_final", "must be a finite number"),
    ]


def test_several_faults_are_told_together() -> None:
    """Absent, NUL, NaN, unknown enum and bad time in one request: one fault each."""
    request = retrieval.UpsertEntryRequest(request_id="\x00")
    request.entry.MergeFromString(b"\x10\x63")  # layer: 99
    request.entry.confidence = float("nan")
    request.entry.create_time.nanos = -1
    paths = [path for path, _ in faults_of(request)]
    assert sorted(paths) == [
        "entry.confidence",
        "entry.create_time",
        "entry.layer",
        "entry.owner",
        "entry.text",
        "request_id",
    ]


@given(st.binary(max_size=60), st.sampled_from(sorted(REQUESTS)))
def test_whatever_parses_can_be_scanned(data: bytes, method: str) -> None:
    """Any bytes that parse as any request are scanned without an exception, the same twice."""
    request = REQUESTS[method]()
    with suppress(DecodeError):
        request.MergeFromString(data)
    assert faults_of(request) == faults_of(request)


def test_lengths_and_bounds() -> None:
    """Both ends of a bound are inside; an absent text is left to `scan`; NaN is never inside."""
    faults = Faults()
    for text in ("", "ab", "abc"):
        faults.length(text, f"length {text!r}", most=3, least=2)
    for value in (0, 1, 0.5):
        faults.between(value, f"value {value}", 0, 1)
    refuse(faults)
    faults.length("a", "short", most=3, least=2)
    faults.length("abcd", "long", most=3)
    faults.between(1.01, "high", 0, 1)
    faults.between(float("nan"), "nan", 0, 1)
    faults.check(False, "check", "must hold")  # noqa: FBT003 (as `check` reads)
    with pytest.raises(InvalidRequest) as caught:
        refuse(faults)
    assert caught.value.pairs == (
        ("short", "must have 2 to 3 characters"),
        ("long", "must have 0 to 3 characters"),
        ("high", "must be from 0 to 1"),
        ("nan", "must be from 0 to 1"),
        ("check", "must hold"),
    )
