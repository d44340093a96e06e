"""Errors of the kit on the wire, held against the examples in each service's error_reason.proto."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
from google.protobuf import text_format
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from support.kit.server import call, refusal, serve, shapes

from hilvan_kit.auth import DevelopmentAuthenticator, PermissionDenied, Reason, Unauthenticated
from hilvan_kit.calls import MalformedRequest
from hilvan_kit.failures import ErrorTable, Failure
from hilvan_kit.guards import NotBuilt, Overloaded, standard_guards
from hilvan_kit.paging import BadPageToken
from hilvan_kit.validation import InvalidRequest

PROTOS = Path(__file__).parents[2] / "proto" / "hilvan"
SERVICES = ("retrieval", "curation", "assembler")

COMMON = [
    (
        InvalidRequest([("text", "is required"), ("limit", "must be from 0 to 100")]),
        "INVALID_FIELD",
    ),
    (MalformedRequest([("entry.text", "is not UTF-8")]), "INVALID_FIELD"),
    (BadPageToken("not a page token of this service"), "INVALID_FIELD"),
    (Unauthenticated(Reason.CREDENTIAL_MISSING), "CREDENTIAL_MISSING"),
    (Unauthenticated(Reason.CREDENTIAL_INVALID), "CREDENTIAL_INVALID"),
    (Unauthenticated(Reason.CREDENTIAL_EXPIRED), "CREDENTIAL_EXPIRED"),
    (Unauthenticated(Reason.PRINCIPAL_INVALID), "CREDENTIAL_INVALID"),
    (Unauthenticated(Reason.TENANT_MISSING), "CREDENTIAL_INVALID"),
    (PermissionDenied(Reason.TENANT_NOT_ALLOWED), "PERMISSION_DENIED"),
    (PermissionDenied(Reason.USER_NOT_ALLOWED), "PERMISSION_DENIED"),
    (Overloaded(), "OVERLOADED"),
    (NotBuilt("Consolidate", "waits for a decision"), "NOT_BUILT_YET"),
    (TimeoutError(), "DEADLINE_EXCEEDED"),
    (ZeroDivisionError(), "INTERNAL"),
]


class Documented(NamedTuple):
    """An error as error_reason.proto shows it."""

    code: str
    details: dict[str, Message]


def documented(service: str) -> Iterator[tuple[str, Documented]]:
    """Every reason of a service with the example in its comment."""
    text = (PROTOS / service / "v1" / "error_reason.proto").read_text()
    for comment, reason in re.findall(r"((?: *//.*\n)+) *ERROR_REASON_(\w+) = \d+;", text):
        code = re.search(r"code: (\w+)", comment)
        details = {
            name: text_format.Parse(body, getattr(error_details_pb2, name)())
            for name, body in re.findall(r"details: (\w+) \{(.*)\}\n", comment)
        }
        if code:
            yield reason, Documented(code[1], details)


def likeness(detail: Message) -> object:
    """What every error of a reason shares with the example: all but the words of the case."""
    if isinstance(detail, error_details_pb2.ErrorInfo):
        return detail.reason, detail.domain, sorted(detail.metadata)
    if isinstance(detail, error_details_pb2.BadRequest):
        return bool(detail.field_violations)
    return detail


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    ("error", "reason"), COMMON, ids=[f"{type(error).__name__}-{r}" for error, r in COMMON]
)
async def test_common_failures_are_as_documented(
    service: str, error: Exception, reason: str
) -> None:
    """Code, reason, domain, metadata keys and kinds of details are those of the proto's example."""

    async def act(_: str, __: Any) -> str:
        raise error

    table = ErrorTable(f"{service}.hilvan", {})
    async with serve(standard_guards(DevelopmentAuthenticator(), table), shapes(act)) as channel:
        refused = await refusal(call(channel, "unary_unary", "a"))
    reasons = dict(documented(service))
    if reason == "NOT_BUILT_YET" and reason not in reasons:
        return  # a service that has every method of its contract needs no such reason
    expected = reasons[reason]
    assert refused.code.name == expected.code
    assert {name: likeness(detail) for name, detail in refused.details.items()} == {
        name: likeness(detail) for name, detail in expected.details.items()
    }


async def violations_of(error: Exception) -> list[tuple[str, str]]:
    """What a caller reads of a bad request."""

    async def act(_: str, __: Any) -> str:
        raise error

    guards = standard_guards(DevelopmentAuthenticator(), ErrorTable("shapes.hilvan", {}))
    async with serve(guards, shapes(act)) as channel:
        refused = await refusal(call(channel, "unary_unary", "a"))
    assert refused.code is grpc.StatusCode.INVALID_ARGUMENT
    return refused.violations


async def test_all_faults_are_told_at_once() -> None:
    """Every violation of a request is in the details, in order, with its path."""
    faults = [("a.b[3].c", "is required"), ("limit", "must be from 0 to 100"), ("", "cut off")]
    assert await violations_of(InvalidRequest(faults)) == faults
    assert await violations_of(MalformedRequest(faults)) == faults


async def test_a_bad_page_token_names_its_field() -> None:
    """The field of a bad page token is page_token."""
    assert await violations_of(BadPageToken("no")) == [("page_token", "no")]


async def test_more_faults_than_a_client_takes() -> None:
    """An error that gRPC's trailers can't hold is cut and counted; the caller still reads it."""
    faults = [(f"ids[{number}]", "must not contain NUL") for number in range(1000)]
    told = await violations_of(InvalidRequest(faults))
    kept = len(told) - 1
    assert told[:-1] == faults[:kept]
    assert kept > 50
    assert told[-1] == ("", f"and {1000 - kept} more")


@pytest.mark.parametrize("text", ["a\udcffb", "é" * 100_000, "\x00\r\n", "a" * 100_000])
async def test_any_text_can_be_in_an_error(text: str) -> None:
    """Texts of any length, file names that are not UTF-8, control characters: the error arrives."""

    class Odd(Exception):
        pass

    def row(_: Odd) -> Failure:
        return Failure(
            grpc.StatusCode.NOT_FOUND,
            "NOTE_NOT_FOUND",
            text,
            metadata={"key": text},
            violations=[(text, text)],
            resource=("hilvan.Note", text),
        )

    async def act(_: str, __: Any) -> str:
        raise Odd

    guards = standard_guards(DevelopmentAuthenticator(), ErrorTable("shapes.hilvan", {Odd: row}))
    async with serve(guards, shapes(act)) as channel:
        refused = await refusal(call(channel, "unary_unary", "a"))
    assert (refused.code, refused.info.reason) == (grpc.StatusCode.NOT_FOUND, "NOTE_NOT_FOUND")
    start = text[:2].encode(errors="replace").decode()
    assert refused.message.startswith(start)
    assert refused.violations[0][0].startswith(start)


async def test_a_service_decides_over_its_own_classes() -> None:
    """A service's row beats the kit's for the same class; a nearer class beats both."""

    class Slow(TimeoutError):
        pass

    def row(reason: str) -> Any:
        return lambda _: Failure(grpc.StatusCode.UNAVAILABLE, reason, "no")

    async def reason_of(error: Exception, table: ErrorTable) -> str:
        async def act(_: str, __: Any) -> str:
            raise error

        guards = standard_guards(DevelopmentAuthenticator(), table)
        async with serve(guards, shapes(act)) as channel:
            refused = await refusal(call(channel, "unary_unary", "a"))
        return str(refused.info.reason)

    own = ErrorTable("shapes.hilvan", {TimeoutError: row("OWN"), OSError: row("FAR")})
    assert await reason_of(Slow(), own) == "OWN"
    assert await reason_of(OSError(), own) == "FAR"
    far = ErrorTable("shapes.hilvan", {OSError: row("FAR")})
    assert await reason_of(Slow(), far) == "DEADLINE_EXCEEDED"
