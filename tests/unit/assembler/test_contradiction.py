"""Which contradictions are told to retrieval: guesses of real calls, older against newer."""

from typing import Any

import pytest
from support.assembler.doubles import Composed, found_rows, turn
from support.assembler.values import WORDS, disputes, entry, options, retrieved

from hilvan_assembler.core import pipeline
from hilvan_assembler.errors import ServiceUnavailable
from hilvan_assembler.model.assembly import Assembly
from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.contradiction import FoundContradiction
from hilvan_assembler.model.curation import Curated
from hilvan_assembler.model.kind import Layer, View
from hilvan_assembler.usecases.report import MAX_CONTRADICTIONS

OLD = entry("old", "tea at nine", days=9)
NEW = entry("new", "tea at ten", days=1)
JUDGE = disputes((OLD.text, NEW.text))


def assembled(*rows: Candidate, alike: float = 0.8, judge: Any = JUDGE) -> Assembly:
    """A prompt of candidates that are all alike."""
    ids = [each.id for each in rows]
    pairs = {(a, b): alike for i, a in enumerate(ids) for b in ids[i + 1 :]}
    found = retrieved(*rows, pairs=pairs)
    return pipeline.assemble(found, Curated(), options(), WORDS, judge)


def pairs_of(assembly: Assembly) -> list[tuple[str, str]]:
    """The contradictions of a prompt, the older one first."""
    return [(each.older_id, each.newer_id) for each in assembly.contradictions]


@pytest.mark.parametrize("rows", [(OLD, NEW), (NEW, OLD)])
def test_a_contradicted_entry_is_found_with_its_evidence(rows: tuple[Candidate, ...]) -> None:
    """Whatever the order in which they were retrieved."""
    assembly = assembled(*rows)
    assert pairs_of(assembly) == [("old", "new")]
    assert (
        assembly.contradictions[0].evidence == "changed_value: 'tea at nine' against 'tea at ten'"
    )


@pytest.mark.parametrize(
    "rows",
    [
        (entry("old", OLD.text, days=9, superseded_by="new"), NEW),
        (entry("old", OLD.text, days=1), NEW),
        (
            entry("old", OLD.text, days=9, layer=Layer.NOTE),
            entry("new", NEW.text, layer=Layer.NOTE),
        ),
        (entry("old", OLD.text, days=9, muted=True), NEW),
        (entry("old", OLD.text, days=9, owner="user:bob"), NEW),
    ],
    ids=["linked", "of the same moment", "notes", "muted", "of two owners"],
)
def test_what_is_no_guess_or_not_retrievals_to_retire_is_not_found(
    rows: tuple[Candidate, ...],
) -> None:
    """A link says it already; of equals either may hold; of notes the files decide."""
    assert pairs_of(assembled(*rows)) == []


def test_a_group_that_is_newer_as_a_whole_only_tells_what_is_older_itself() -> None:
    """The newer side was said again later; the text that was compared is the older one."""
    again = entry("again", "tea at ten, sharp", days=0)
    early = entry("early", "tea at ten!", days=12)
    rows = (OLD, early, again)
    pairs = {("early", "again"): 0.95, ("old", "early"): 0.8}
    judge = disputes((OLD.text, early.text))
    found = retrieved(*rows, pairs=pairs)
    assembly = pipeline.assemble(found, Curated(), options(), WORDS, judge)
    assert "old" not in {each.id for each in assembly.items}
    assert pairs_of(assembly) == []


@pytest.fixture
def composed() -> Composed:
    """The use cases over doubles, with two entries that contradict each other."""
    found = Composed.over(judge=JUDGE)
    found.retrieval.answer = found_rows(OLD, NEW, pairs={("old", "new"): 0.8})
    return found


@pytest.mark.parametrize("call", [Composed.assemble, Composed.recall])
async def test_contradictions_are_told_once_after_the_answers(
    composed: Composed, call: Any
) -> None:
    """Gathered like accesses: found in two turns is one finding."""
    composed.retrieval.recording.open.clear()
    await call(composed, turn())
    await call(composed, turn())
    assert composed.retrieval.contradictions == []
    composed.retrieval.recording.open.set()
    await composed.use_cases.close()
    assert composed.retrieval.contradictions == [(FoundContradiction("old", "new"),)]
    assert composed.retrieval.recorded == [("new",)]


@pytest.mark.parametrize("call", [Composed.assemble, Composed.recall])
async def test_a_preview_tells_nothing(composed: Composed, call: Any) -> None:
    """Nothing is written for it."""
    await call(composed, turn(preview=True))
    await composed.use_cases.close()
    assert composed.retrieval.contradictions == []


async def test_lost_reports_are_no_error(composed: Composed) -> None:
    """The next turn finds the same again."""
    composed.retrieval.recording.error = ServiceUnavailable("retrieval")
    await composed.assemble(turn(view=View.FULL))
    await composed.use_cases.close()
    assert composed.retrieval.contradictions == []


async def test_a_report_has_no_more_contradictions_than_retrieval_takes() -> None:
    """All of many are told."""
    count = MAX_CONTRADICTIONS + 5
    rows = [entry(f"o{n}", f"{n} at nine", days=9) for n in range(count)]
    rows += [entry(f"n{n}", f"{n} at ten", days=1) for n in range(count)]
    pairs = {(f"o{n}", f"n{n}"): 0.8 for n in range(count)}
    judge = disputes(*((f"{n} at nine", f"{n} at ten") for n in range(count)))
    composed = Composed.over(judge=judge)
    composed.retrieval.answer = found_rows(*rows, pairs=pairs)
    await composed.assemble(turn(view=View.FULL))
    await composed.use_cases.close()
    assert [len(each) for each in composed.retrieval.contradictions] == [MAX_CONTRADICTIONS, 5]
