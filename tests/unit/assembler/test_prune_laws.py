"""Pruning: laws that hold for any links, conflicts and similarities."""

from datetime import timedelta
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st
from support.assembler.pruning import Pairs, pruned
from support.assembler.values import AS_OF, disputes, entry

from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.kind import Reason

texts = st.sampled_from(["at nine", "at ten", "at eleven", "At nine.", "vague"])


@st.composite
def tangles(draw: st.DrawFn) -> tuple[list[Candidate], Pairs, list[float]]:
    """Candidates with a few texts, any links, and any similarities."""
    count = draw(st.integers(1, 7))
    names = [f"m{n}" for n in range(count)]
    rows = [
        entry(
            name,
            draw(texts),
            update_time=AS_OF - timedelta(days=draw(st.integers(0, 4))),
            superseded_by=draw(st.sampled_from(["", "", "", *names])),
        )
        for name in names
    ]
    pairs = {
        pair: draw(st.sampled_from([0.7, 0.8, 0.93, 0.97]))
        for pair in combinations(names, 2)
        if draw(st.booleans())
    }
    return rows, pairs, draw(st.lists(st.sampled_from([0.1, 0.5]), min_size=count, max_size=count))


CLOCK = disputes(("at nine", "at ten"), ("at ten", "at eleven"), ("at ten", "At nine."))


@given(tangles(), st.permutations(range(7)))
def test_the_order_of_candidates_decides_nothing(
    tangle: tuple[list[Candidate], Pairs, list[float]], order: list[int]
) -> None:
    """Shuffled candidates get the same verdicts and groups."""
    rows, pairs, relevance = tangle
    places = [place for place in order if place < len(rows)]
    shuffled = [rows[place] for place in places]
    again = pruned(shuffled, pairs, CLOCK, [relevance[place] for place in places])
    assert again == pruned(rows, pairs, CLOCK, relevance)


@given(tangles())
def test_never_are_all_sides_lost(tangle: tuple[list[Candidate], Pairs, list[float]]) -> None:
    """Whatever the links and conflicts, something stays, and no winner is out for its loser."""
    rows, pairs, relevance = tangle
    out, groups = pruned(rows, pairs, CLOCK, relevance)
    assert groups
    assert set(out) | set(groups) == {each.id for each in rows}
    assert all(out.get(other, ("", ""))[1] != loser for loser, (_, other) in out.items())


@given(tangles())
def test_the_newest_of_a_conflict_stays(
    tangle: tuple[list[Candidate], Pairs, list[float]],
) -> None:
    """A contradicted entry names one whose group is not older than its own."""
    rows, pairs, relevance = tangle
    rows = [entry(each.id, each.text, update_time=each.update_time) for each in rows]
    out, _ = pruned(rows, pairs, CLOCK, relevance)
    by_id = {each.id: each for each in rows}

    def newest(survivor: str) -> float:
        group = [survivor, *(one for one, (_, other) in out.items() if other == survivor)]
        merged = [one for one in group if out.get(one, (None,))[0] is not Reason.CONTRADICTED_BY]
        return max(by_id[one].update_time.timestamp() for one in [survivor, *merged])

    for loser, (reason, winner) in out.items():
        if reason is Reason.CONTRADICTED_BY:
            assert newest(winner) >= newest(loser)
