"""The table from exceptions to failures, and the status that is made of a failure."""

import grpc
import pytest
from google.rpc import error_details_pb2

from hilvan_kit.failures import ErrorTable, Failure, incident_failure, status


class Root(Exception):
    """The root of a small tree."""


class Branch(Root):
    """A class between."""


class Leaf(Branch):
    """The nearest class."""


class Mixed(ValueError, Root):
    """Two ancestries; Python's order of them decides."""


def failure(reason: str) -> Failure:
    """A failure that is told by its reason."""
    return Failure(grpc.StatusCode.NOT_FOUND, reason, "no")


TABLE = ErrorTable(
    "test.hilvan",
    {
        Root: lambda _: failure("ROOT"),
        Leaf: lambda error: failure(f"LEAF {error}"),
        ValueError: lambda _: failure("VALUE"),
    },
)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Root(), "ROOT"),
        (Branch(), "ROOT"),
        (Leaf("x"), "LEAF x"),
        (Mixed(), "VALUE"),
        (UnicodeError(), "VALUE"),
    ],
)
def test_the_nearest_class_decides(error: Exception, reason: str) -> None:
    """The row of the nearest class in the exception's ancestry tells the failure."""
    told = TABLE.failure(error)
    assert told is not None
    assert told.reason == reason


def test_what_nobody_foresaw_has_no_row() -> None:
    """An exception outside of the table is told to be unforeseen."""
    assert TABLE.failure(KeyError()) is None


def test_a_status_has_what_the_failure_has_and_no_more() -> None:
    """ErrorInfo is always there; the other details are there when the failure has them."""
    bare = status(failure("GONE"), "test.hilvan")
    assert (bare.code, bare.message) == (5, "no")
    (packed,) = bare.details
    info = error_details_pb2.ErrorInfo()
    assert packed.Unpack(info)
    assert (info.reason, info.domain, dict(info.metadata)) == ("GONE", "test.hilvan", {})
    full = Failure(
        grpc.StatusCode.ABORTED,
        "ETAG_MISMATCH",
        "no",
        metadata={"current_etag": "3"},
        violations=[("etag", "is old")],
        resource=("hilvan.Entry", "mem-1"),
        retry_after_seconds=0.25,
    )
    kinds = [packed.TypeName() for packed in status(full, "test.hilvan").details]
    assert kinds == [
        f"google.rpc.{name}" for name in ("ErrorInfo", "BadRequest", "ResourceInfo", "RetryInfo")
    ]


def test_no_two_incidents_share_a_number() -> None:
    """Each incident can be found in the log by its own number."""
    numbers = {incident_failure().metadata["incident"] for _ in range(100)}
    assert len(numbers) == 100
