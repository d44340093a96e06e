"""What is noticed in turns is told in few reports, and never twice."""

import asyncio

from support.assembler.doubles import MemoryRetrieval

from hilvan_assembler.errors import ServiceUnavailable
from hilvan_assembler.model.contradiction import FoundContradiction
from hilvan_assembler.model.turn import Caller
from hilvan_assembler.usecases.report import MAX_CALLERS, REPORT_SECONDS, Reports

MOST = 3
ANA, BOB = Caller("acme", "ana", ()), Caller("acme", "bob", ())


def accesses(retrieval: MemoryRetrieval, seconds: float = REPORT_SECONDS) -> Reports[str]:
    """Reports of accesses."""
    return Reports("accesses", retrieval.record_accesses, MOST, seconds)


async def test_a_callers_accesses_are_one_report() -> None:
    """What is loaded in several turns is told once, each entry once, each caller by itself."""
    retrieval = MemoryRetrieval()
    reports = accesses(retrieval)
    reports.add(ANA, ["m1", "m2"])
    reports.add(BOB, ["m1"])
    reports.add(ANA, ["m2", "m3"])
    reports.add(ANA, [])
    await reports.close()
    assert retrieval.recorded == [("m1", "m2", "m3"), ("m1",)]


async def test_reports_leave_by_themselves() -> None:
    """Nobody has to close anything for them to be told, and later ones are told later."""
    retrieval = MemoryRetrieval()
    reports = accesses(retrieval, seconds=0.01)
    for ids in (["m1"], ["m2"]):
        before = len(retrieval.recorded)
        reports.add(ANA, ids)
        async with asyncio.timeout(5):
            while len(retrieval.recorded) == before:  # noqa: ASYNC110 (the double has no event)
                await asyncio.sleep(0)
    assert retrieval.recorded == [("m1",), ("m2",)]
    await reports.close()


async def test_long_reports_are_cut() -> None:
    """A report has no more findings than retrieval takes."""
    retrieval = MemoryRetrieval()
    reports = accesses(retrieval)
    reports.add(ANA, [f"m{n}" for n in range(MOST + 1)])
    await reports.close()
    assert [len(each) for each in retrieval.recorded] == [MOST, 1]


async def test_callers_are_bounded() -> None:
    """While nothing is told yet, accesses of further callers are dropped."""
    retrieval = MemoryRetrieval()
    reports = accesses(retrieval)
    for number in range(MAX_CALLERS + 5):
        reports.add(Caller("acme", f"u{number}", ()), ["m1"])
    reports.add(Caller("acme", "u0", ()), ["m2"])
    await reports.close()
    assert len(retrieval.recorded) == MAX_CALLERS
    assert retrieval.recorded[0] == ("m1", "m2")


async def test_a_failed_report_is_no_error() -> None:
    """Accesses only count; losing some is nobody's fault to handle."""
    retrieval = MemoryRetrieval()
    retrieval.recording.error = ServiceUnavailable("retrieval")
    reports = accesses(retrieval)
    reports.add(ANA, ["m1"])
    await reports.close()
    assert retrieval.recorded == []


async def test_a_conflict_that_is_found_again_is_one_finding() -> None:
    """Whatever the evidence; the other way round it is another one."""
    retrieval = MemoryRetrieval()
    reports = Reports("conflicts", retrieval.record_contradictions, MOST)
    reports.add(ANA, [FoundContradiction("a", "b", "one")])
    reports.add(ANA, [FoundContradiction("a", "b", "two"), FoundContradiction("b", "a")])
    await reports.close()
    assert retrieval.contradictions == [
        (FoundContradiction("a", "b"), FoundContradiction("b", "a"))
    ]
