"""Stated links: what the record says was replaced is out, and so are its older copies."""

from collections.abc import Mapping, Sequence

from hilvan_assembler.core.contradiction import agree
from hilvan_assembler.core.neighbour import close
from hilvan_assembler.core.words import stated_words
from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.kind import Reason
from hilvan_assembler.model.ranking import Neighbours, RankedCandidate, Verdict
from hilvan_assembler.ports.contradiction import ContradictionJudge


def drop_superseded(
    ranked: Sequence[RankedCandidate], near: Neighbours, judge: ContradictionJudge
) -> Sequence[RankedCandidate]:
    """The candidates with a verdict on those that a link leads from to another candidate.

    The same verdict is on copies of a replaced one by the same owner, unless they were stated
    after the replacement or replace something themselves. A replacement counts even when it is
    out itself: what is outdated is not shown instead.
    """
    known = {one.id: one.candidate for one in ranked}
    replaced_by = {
        one.id: known[one.candidate.superseded_by]
        for one in ranked
        if one.candidate.superseded_by in known and not _in_loop(one.candidate, known)
    }
    if not replaced_by:
        return ranked
    verdicts = {
        candidate_id: Verdict(Reason.SUPERSEDED_BY, replacement.id)
        for candidate_id, replacement in replaced_by.items()
    }
    for copy_id, verdict in _copies(known, replaced_by, near, judge):
        verdicts.setdefault(copy_id, verdict)
    return [
        one.judged(verdicts[one.id]) if one.stands and one.id in verdicts else one for one in ranked
    ]


def _copies(
    known: Mapping[str, Candidate],
    replaced_by: Mapping[str, Candidate],
    near: Neighbours,
    judge: ContradictionJudge,
) -> list[tuple[str, Verdict]]:
    """Copies of what was replaced, each with its verdict, by the id of what they copy."""
    replacements = {replacement.id for replacement in replaced_by.values()}
    verdicts: list[tuple[str, Verdict]] = []
    for replaced_id, replacement in sorted(replaced_by.items(), key=lambda pair: pair[0]):
        replaced = known[replaced_id]
        words, similar = stated_words(replaced), close(replaced_id, near)
        detail = f"says the same as {replaced_id}"
        verdict = Verdict(Reason.SUPERSEDED_BY, replacement.id, detail)
        verdicts += [
            (copy.id, verdict)
            for copy in known.values()
            if copy.owner == replaced.owner
            and copy.update_time <= replacement.update_time
            and copy.id not in replacements
            and (
                stated_words(copy) == words or (copy.id in similar and agree(replaced, copy, judge))
            )
        ]
    return verdicts


def _in_loop(start: Candidate, known: Mapping[str, Candidate]) -> bool:
    """Whether an entry's links lead back to it: then nobody knows which is the last."""
    seen: set[str] = set()
    here = start.superseded_by
    while here in known and here not in seen:
        if here == start.id:
            return True
        seen.add(here)
        here = known[here].superseded_by
    return False
