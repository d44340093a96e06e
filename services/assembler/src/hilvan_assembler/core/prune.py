"""Leaves out what says the same, and what no longer holds.

In three steps, all before scoring: what the record says was replaced; duplicates, of which the
best stays; statements that can't both hold, of which the newest stays. The last step is asked
entry by entry (`Conflicts.outdated`), because reading a text costs more than all the rest
together and only what would be rendered has to be read.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from hilvan_assembler.core.evidence import announces_change
from hilvan_assembler.model.candidate import Candidate, Pair
from hilvan_assembler.model.contradiction import FoundContradiction
from hilvan_assembler.model.kind import Layer, Reason
from hilvan_assembler.ports.contradiction import ContradictionJudge

DUPLICATE_ABOVE = 0.92
CONFLICT_FROM = 0.75
"""The band's edges on the calibrated scale (spec, section 4, steps 3 and 4). Above the band a
conflict is looked for as well: "at 9:30" and "at 10:00" are nearly the same text."""

EXPLICIT_FROM = 0.55
"""Where a conflict is looked for when the newer text says itself that something changed: "in room
12" and "moved to room 40" are far apart (docs/decisions/contradiction-evidence.md)."""

Near = Mapping[int, Sequence[tuple[int, float]]]
"""By index, the other side and the similarity of every pair from `CONFLICT_FROM` up, and of those
from `EXPLICIT_FROM` up in which a text announces a change."""

_READ_CHARACTERS = 1_000

_BEFORE, _AFTER = "\"'“„«‘([{*_`¡¿—–", ".,:;!…\"'”»’)]}*_`—–"
"""Marks around a word that don't change what is said. A question mark does, and so do the signs
of C++, -5 and 5 %."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a candidate is out: the other's id, and the evidence or numbers for people."""

    reason: Reason
    other_id: str = ""
    detail: str = ""


def order(candidates: Sequence[Candidate], values: Sequence[float]) -> list[int]:
    """Indexes by falling value; equal values: newer first, then id. The one order of ties."""
    return sorted(
        range(len(candidates)),
        key=lambda i: (-values[i], -_age(candidates[i]), candidates[i].id),
    )


def stated_words(candidate: Candidate) -> str:
    """What is said, without what does not change its meaning: form, case, marks, spacing.

    Two entries with equal words say the same, whatever a model makes of a full stop. Long texts
    are taken as they are: they are the same only where they are copies.
    """
    text = " ".join((candidate.title, candidate.text, candidate.outcome, *candidate.steps))
    return _words(text) if len(text) <= _READ_CHARACTERS else text


@lru_cache(maxsize=20_000)
def _words(text: str) -> str:
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    words = [word.lstrip(_BEFORE).rstrip(_AFTER) for word in plain.casefold().split()]
    return " ".join([word for word in words if word])


@dataclass(slots=True)
class Conflicts:
    """Which survivor is contradicted by a newer one.

    ``groups`` are the survivors, each with all that it stands for (itself first); a group is as
    new as its newest member. Of two of the same age the surer, then the more relevant, then the
    first by id stays. ``found`` are the guesses that led to a verdict, as far as both were stated
    at different times and are entries of their own: of notes the files decide.
    """

    candidates: Sequence[Candidate]
    relevance: Sequence[float]
    near: Near
    judge: ContradictionJudge
    groups: Mapping[int, Sequence[int]]
    _survivors: dict[int, int] = field(init=False)
    _known: dict[int, Verdict | None] = field(init=False, default_factory=dict)
    found: list[FoundContradiction] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._survivors = {m: survivor for survivor, group in self.groups.items() for m in group}

    def outdated(self, survivor: int) -> Verdict | None:
        """The verdict on a survivor that the newest of its rivals contradicts, else None.

        The newest of all that conflict with each other has no newer rival, so it always stays.
        """
        if survivor not in self._known:
            self._known[survivor] = self._outdated(survivor)
        return self._known[survivor]

    def _outdated(self, survivor: int) -> Verdict | None:
        mine = self._standing(survivor)
        rivals = [
            (standing, self.candidates[member].id, self.candidates[other].id, member, other)
            for member in self.groups[survivor]
            for other in self._comparable(member)
            if (standing := self._standing(self._survivors[other])) < mine
        ]
        for _, _, _, older, newer in sorted(rivals):
            found = self.judge(self.candidates[older].text, self.candidates[newer].text)
            if found is not None:
                detail = f"{found.kind}: {found.older_span!r} against {found.newer_span!r}"
                winner = self.candidates[self._survivors[newer]].id
                self._note(self.candidates[older], self.candidates[newer], detail)
                return Verdict(Reason.CONTRADICTED_BY, winner, detail)
        return None

    def _note(self, older: Candidate, newer: Candidate, evidence: str) -> None:
        if _age(older) < _age(newer) and older.layer is not Layer.NOTE:
            self.found.append(FoundContradiction(older.id, newer.id, evidence))

    def _comparable(self, index: int) -> Iterable[int]:
        """What may contradict an entry of the same owner and layer.

        That is what is similar, and what is less so but announces a change.
        """
        mine = self.candidates[index]
        for other, similarity in self.near.get(index, ()):
            theirs = self.candidates[other]
            same = theirs.owner == mine.owner and theirs.layer is mine.layer
            alike = similarity >= CONFLICT_FROM
            if same and other in self._survivors and (alike or announces_change(theirs.text)):
                yield other

    def _standing(self, survivor: int) -> tuple[float, float, float, str]:
        return min(
            (-_age(each), -(0.5 if each.confidence is None else each.confidence), -value, each.id)
            for each, value in (
                (self.candidates[m], self.relevance[m]) for m in self.groups[survivor]
            )
        )


@dataclass(frozen=True, slots=True)
class Pruned:
    """Verdicts by candidate index, the survivors' groups, and the conflicts among them."""

    verdicts: dict[int, Verdict]
    conflicts: Conflicts


def prune(
    candidates: Sequence[Candidate],
    pairs: Iterable[Pair],
    relevance: Sequence[float],
    judge: ContradictionJudge,
    excluded: Mapping[int, Verdict],
) -> Pruned:
    """Find the replaced and the duplicates among the candidates that are not excluded."""
    near = _near(pairs, candidates)
    words = [stated_words(each) for each in candidates]
    verdicts = dict(excluded)
    _superseded(candidates, words, near, judge, verdicts)
    ranked = order(candidates, relevance)
    groups = _duplicates(candidates, words, near, judge, ranked, verdicts)
    return Pruned(verdicts, Conflicts(candidates, relevance, near, judge, groups))


def _near(pairs: Iterable[Pair], candidates: Sequence[Candidate]) -> Near:
    """See `Near`. Among turns of a chat nearly all pairs are weak ones, so most go here."""
    near: dict[int, list[tuple[int, float]]] = {}
    told: set[int] | None = None
    for pair in pairs:
        left, right, similarity = pair.left, pair.right, pair.similarity
        if similarity < CONFLICT_FROM:
            if told is None:
                told = {i for i, each in enumerate(candidates) if announces_change(each.text)}
            if similarity < EXPLICIT_FROM or not (left in told or right in told):
                continue
        near.setdefault(left, []).append((right, similarity))
        near.setdefault(right, []).append((left, similarity))
    return near


def _superseded(
    candidates: Sequence[Candidate],
    words: Sequence[str],
    near: Near,
    judge: ContradictionJudge,
    verdicts: dict[int, Verdict],
) -> None:
    """Explicit links win over guesses: what is linked to another candidate is out.

    So are its copies by the same owner, unless they were stated after the replacement or replace
    something themselves. A replacement counts even when it is excluded itself: what is outdated
    is not shown instead.
    """
    known = {each.id: index for index, each in enumerate(candidates)}
    linked = {
        index: known[each.superseded_by]
        for index, each in enumerate(candidates)
        if each.superseded_by in known and not _in_loop(each, candidates, known)
    }
    for index, link in linked.items():
        verdicts.setdefault(index, Verdict(Reason.SUPERSEDED_BY, candidates[link].id))
    replacements = set(linked.values())
    for index, link in sorted(linked.items(), key=lambda pair: candidates[pair[0]].id):
        replaced, replacement = candidates[index], candidates[link]
        verdict = Verdict(Reason.SUPERSEDED_BY, replacement.id, f"says the same as {replaced.id}")
        same = [other for other, said in enumerate(words) if said == words[index]]
        same += [other for other in _close(index, near) if _agree(index, other, candidates, judge)]
        for copy in same:
            each = candidates[copy]
            older = each.owner == replaced.owner and each.update_time <= replacement.update_time
            if older and copy not in replacements:
                verdicts.setdefault(copy, verdict)


def _in_loop(start: Candidate, candidates: Sequence[Candidate], known: Mapping[str, int]) -> bool:
    """Whether an entry's links lead back to it: then nobody knows which is the last."""
    seen: set[str] = set()
    here = start.superseded_by
    while here in known and here not in seen:
        if here == start.id:
            return True
        seen.add(here)
        here = candidates[known[here]].superseded_by
    return False


def _duplicates(
    candidates: Sequence[Candidate],
    words: Sequence[str],
    near: Near,
    judge: ContradictionJudge,
    ranked: Sequence[int],
    verdicts: dict[int, Verdict],
) -> dict[int, list[int]]:
    """Survivors, best first, each with all that it stands for; the others get their verdicts.

    Nothing joins a group with a member that it conflicts with: that is a contradiction.
    """
    groups: dict[int, list[int]] = {}
    by_words: dict[tuple[str, str], int] = {}
    place = {index: position for position, index in enumerate(ranked)}
    for index in ranked:
        if index in verdicts:
            continue
        key = (candidates[index].layer, words[index])
        twin, detail = by_words.get(key), "the same words"
        if twin is None:
            close = _close(index, near)
            found = [
                (-close[other], place[other], other)
                for other in close.keys() & groups.keys()
                if _agree_all(index, groups[other], near, candidates, judge)
            ]
            if found:
                similarity, _, twin = min(found)
                detail = f"similarity {-similarity:.3f}"
        if twin is None:
            groups[index] = [index]
        else:
            verdicts[index] = Verdict(Reason.DUPLICATE_OF, candidates[twin].id, detail)
            groups[twin].append(index)
        by_words.setdefault(key, index if twin is None else twin)
    return groups


def _close(index: int, near: Near) -> dict[int, float]:
    return {other: value for other, value in near.get(index, ()) if value > DUPLICATE_ABOVE}


def _agree_all(
    index: int,
    group: Iterable[int],
    near: Near,
    candidates: Sequence[Candidate],
    judge: ContradictionJudge,
) -> bool:
    similar = {other for other, _ in near[index]}
    return all(_agree(index, each, candidates, judge) for each in group if each in similar)


def _agree(
    one: int, other: int, candidates: Sequence[Candidate], judge: ContradictionJudge
) -> bool:
    older, newer = sorted(
        (candidates[one], candidates[other]), key=lambda each: (_age(each), each.id)
    )
    return judge(older.text, newer.text) is None


def _age(candidate: Candidate) -> float:
    return candidate.update_time.timestamp()
