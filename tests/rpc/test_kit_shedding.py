"""A call's deadline on the wire, and the shedding of calls that lost most of theirs."""

from typing import Any

import grpc
import pytest
from support.kit.server import call, refusal, serve, shapes

from hilvan_kit.auth import CredentialAuthenticator, DevelopmentAuthenticator
from hilvan_kit.deadlines import Deadline
from hilvan_kit.failures import ErrorTable
from hilvan_kit.guards import SHED_RETRY_SECONDS, TIMEOUT_KEY, standard_guards

TABLE = ErrorTable("shapes.hilvan", {})
GUARDS = standard_guards(DevelopmentAuthenticator(), TABLE)


async def echo(text: str, _: Any) -> str:
    """Answer what was asked."""
    return text


@pytest.mark.parametrize(
    ("stated", "given", "refused"),
    [
        ("1000000", 500, True),
        ("1000000", 590, True),
        ("1000000", 610, False),
        ("1000000", 1000, False),
        ("1000", 1000, False),
        ("0", 5, False),
        ("", 5, False),
        ("-9000", 5, False),
        ("90e3", 5, False),
        ("9" * 400, 5, False),
        ("9" * 5000, 5, False),
        (None, 5, False),
        ("1000000", None, False),
    ],
)
async def test_shedding_goes_by_the_share_of_the_deadline_that_is_lost(
    stated: str | None, given: float | None, *, refused: bool
) -> None:
    """More than 40 % of the stated timeout lost: RESOURCE_EXHAUSTED with RetryInfo; else served."""
    metadata = () if stated is None else ((TIMEOUT_KEY, stated),)
    async with serve(GUARDS, shapes(echo)) as channel:
        asked = call(channel, "unary_unary", "a", timeout=given, metadata=metadata)
        if not refused:
            assert await asked == "a"
            return
        answer = await refusal(asked)
    assert (answer.code, answer.info.reason) == (
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "OVERLOADED",
    )
    retry: Any = answer.details["RetryInfo"]
    assert retry.retry_delay.ToTimedelta().total_seconds() == SHED_RETRY_SECONDS


async def test_a_call_without_credential_is_shed_before_it_is_authenticated() -> None:
    """Shedding comes first: an overloaded server spends nothing on checking credentials."""
    guards = standard_guards(CredentialAuthenticator(None, None), TABLE)
    async with serve(guards, shapes(echo)) as channel:
        late = ((TIMEOUT_KEY, "1000000"),)
        shed = await refusal(call(channel, "unary_unary", "a", timeout=5, metadata=late))
        unknown = await refusal(call(channel, "unary_unary", "a", timeout=5))
    assert (shed.info.reason, unknown.info.reason) == ("OVERLOADED", "CREDENTIAL_MISSING")


@pytest.mark.parametrize(("given", "low", "high"), [(100, 90, 101), (None, 6, 7)])
async def test_the_deadline_of_a_call(given: float | None, low: float, high: float) -> None:
    """A call's deadline is the one that its caller set, or the default where there is none."""

    async def act(_: str, context: Any) -> str:
        return str(Deadline.of(context, default_seconds=7).remaining())

    async with serve(GUARDS, shapes(act)) as channel:
        assert low < float(await call(channel, "unary_unary", "a", timeout=given)) <= high
