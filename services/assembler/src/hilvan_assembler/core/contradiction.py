"""Contradictions: of statements that can't both hold the newest stays.

Reading a text costs more than all other stages together, and only what would be rendered has to
be read. So this stage is asked candidate by candidate (`Contradictions.verdict`), by the budget.
"""

from collections.abc import Iterator, Sequence

from hilvan_assembler.core.evidence import announces_change
from hilvan_assembler.core.neighbour import CONTRADICTION_FROM
from hilvan_assembler.core.order import age_key
from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.contradiction import FoundContradiction
from hilvan_assembler.model.kind import Layer, Reason
from hilvan_assembler.model.ranking import Neighbours, RankedCandidate, Verdict
from hilvan_assembler.ports.contradiction import ContradictionJudge

UNSTATED_CONFIDENCE = 0.5


def agree(one: Candidate, other: Candidate, judge: ContradictionJudge) -> bool:
    """Whether both can hold, as far as the judge can tell."""
    older, newer = sorted((one, other), key=lambda each: (age_key(each), each.id))
    return judge(older.text, newer.text) is None


class Contradictions:
    """Which of the standing candidates a newer one contradicts; each is read once.

    A candidate speaks for its duplicates: together they are as new as the newest of them. Of two
    of the same age the surer, then the more relevant, then the first by id stays.
    """

    def __init__(
        self, ranked: Sequence[RankedCandidate], near: Neighbours, judge: ContradictionJudge
    ) -> None:
        """Take the candidates after duplicates were folded."""
        self._near = near
        self._judge = judge
        self._members = {one.candidate.id: (one, one) for one in ranked if one.verdict is None}
        for survivor, _ in list(self._members.values()):
            for duplicate in survivor.duplicates:
                self._members[duplicate.id] = (duplicate, survivor)
        self._standings: dict[str, tuple[float, float, float, str]] = {}
        self._verdicts: dict[str, Verdict | None] = {}

    def verdict(self, one: RankedCandidate) -> Verdict | None:
        """The verdict on a standing candidate that the newest of its rivals contradicts.

        None: nothing newer contradicts it. The newest of all that contradict each other has no
        newer rival, so it always stays.
        """
        if one.id not in self._verdicts:
            self._verdicts[one.id] = self._read(one)
        return self._verdicts[one.id]

    @property
    def found(self) -> tuple[FoundContradiction, ...]:
        """The guesses that led to a verdict, in the order in which they were read.

        Only those of which both sides were stated at different times: of two at once nobody knows
        which is the newer. None of passages: of notes the files decide.
        """
        return tuple(
            verdict.contradiction
            for verdict in self._verdicts.values()
            if verdict is not None and verdict.contradiction is not None
        )

    def _read(self, one: RankedCandidate) -> Verdict | None:
        standing = self._standing(one)
        rivals = [
            (rival_standing, member.id, rival.id, member, rival, survivor)
            for member in (one, *one.duplicates)
            for rival, survivor in self._rivals(member)
            if (rival_standing := self._standing(survivor)) < standing
        ]
        for _, _, _, older, newer, survivor in sorted(rivals, key=lambda rival: rival[:3]):
            contradiction = self._judge(older.candidate.text, newer.candidate.text)
            if contradiction is not None:
                evidence = (
                    f"{contradiction.kind}: {contradiction.older_span!r} "
                    f"against {contradiction.newer_span!r}"
                )
                told = _reported(older.candidate, newer.candidate, evidence)
                return Verdict(Reason.CONTRADICTED_BY, survivor.id, evidence, told)
        return None

    def _rivals(self, member: RankedCandidate) -> Iterator[tuple[RankedCandidate, RankedCandidate]]:
        """What may contradict it, each with the survivor that speaks for it.

        Of the same owner and layer that is what is similar, and what is less so but announces a
        change.
        """
        candidate = member.candidate
        for other_id, similarity in self._near.get(candidate.id, ()):
            if other_id not in self._members:
                continue
            rival, survivor = self._members[other_id]
            theirs = rival.candidate
            same = theirs.owner == candidate.owner and theirs.layer is candidate.layer
            if same and (similarity >= CONTRADICTION_FROM or announces_change(theirs.text)):
                yield rival, survivor

    def _standing(self, survivor: RankedCandidate) -> tuple[float, float, float, str]:
        """Where a survivor stands among its rivals: the lesser wins."""
        if survivor.id not in self._standings:
            self._standings[survivor.id] = min(
                (-age_key(member.candidate), -_confidence(member), -member.relevance, member.id)
                for member in (survivor, *survivor.duplicates)
            )
        return self._standings[survivor.id]


def _confidence(one: RankedCandidate) -> float:
    stated = one.candidate.confidence
    return UNSTATED_CONFIDENCE if stated is None else stated


def _reported(older: Candidate, newer: Candidate, evidence: str) -> FoundContradiction | None:
    if age_key(older) < age_key(newer) and older.layer is not Layer.NOTE:
        return FoundContradiction(older.id, newer.id, evidence)
    return None
