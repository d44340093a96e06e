"""Ranks the candidates of one request: fuse, prune, score. No token is counted here."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hilvan_assembler.core import fusion as fuse
from hilvan_assembler.core.prune import Conflicts, Verdict, order, prune
from hilvan_assembler.core.score import score, signals
from hilvan_assembler.core.sequence import supported
from hilvan_assembler.model.candidate import Candidate, Retrieved
from hilvan_assembler.model.curation import Curated
from hilvan_assembler.model.kind import Layer, Reason, Section
from hilvan_assembler.model.options import Fusion, Options
from hilvan_assembler.model.ranking import Signals
from hilvan_assembler.ports.contradiction import ContradictionJudge

PREFERENCE_CATEGORIES = frozenset({"preference", "preferences", "preferencia", "preferencias"})
PREFERENCE_IMPORTANCE = 0.8

_LAYER_SECTIONS = {
    Layer.MEMORY: Section.FACTS,
    Layer.NOTE: Section.NOTES,
    Layer.EPISODE: Section.EPISODES,
    Layer.PROCEDURE: Section.WORKFLOWS,
}


@dataclass(slots=True)
class Ranking:
    """The candidates of one request with everything that ranking found out about them.

    Lists are by candidate index; ``verdicts`` has those that are out, ``ranked`` the others by
    falling score. Whether one of these is outdated is only looked at where it is asked: by
    `stands`, and for all of them by `settle`.
    """

    candidates: tuple[Candidate, ...]
    relevance: list[float]
    signals: list[Signals]
    scores: list[float]
    verdicts: dict[int, Verdict]
    conflicts: Conflicts
    ranked: list[int] = field(default_factory=list)

    def stands(self, index: int) -> bool:
        """Whether nothing newer contradicts a ranked candidate; if something does, it is out."""
        verdict = self.conflicts.outdated(index)
        if verdict is not None:
            self.verdicts[index] = verdict
        return verdict is None

    def settle(self) -> None:
        """Take out of ``ranked`` everything that is outdated."""
        self.ranked = [index for index in self.ranked if self.stands(index)]

    @property
    def nothing_relevant(self) -> bool:
        """Whether nothing is left that could be rendered, whatever the budgets."""
        return not any(self.stands(index) for index in self.ranked)

    def merged(self, index: int) -> tuple[str, ...]:
        """The ids of those that say the same as a survivor and stand behind it."""
        return tuple(sorted(self.candidates[each].id for each in self.conflicts.groups[index][1:]))


def relevance_of(retrieved: Retrieved, fusion: Fusion) -> list[float]:
    """The relevance of each candidate: fused, with what its sequence adds."""
    candidates = retrieved.candidates
    return supported(candidates, fuse.fuse(candidates, retrieved.lists, fusion))


def rank(
    retrieved: Retrieved, curated: Curated, options: Options, judge: ContradictionJudge
) -> Ranking:
    """Fuse, prune and score."""
    candidates = retrieved.candidates
    relevance = relevance_of(retrieved, options.fusion)
    excluded = _excluded(candidates, curated, options)
    pruned = prune(candidates, retrieved.pairs, relevance, judge, excluded)
    values = [signals(c, r, options) for c, r in zip(candidates, relevance, strict=True)]
    scores = [score(each) for each in values]
    verdicts = pruned.verdicts
    for index, value in enumerate(scores):
        if index not in verdicts and value < options.min_final:
            detail = f"{value:.3f} is below {options.min_final:g}"
            verdicts[index] = Verdict(Reason.BELOW_MIN_FINAL, detail=detail)
    ranked = [index for index in order(candidates, scores) if index not in verdicts]
    return Ranking(candidates, relevance, values, scores, verdicts, pruned.conflicts, ranked)


def is_preference(candidate: Candidate) -> bool:
    """Whether it is a standing preference: a user's own, stated as important."""
    return (
        candidate.layer is Layer.MEMORY
        and candidate.category.casefold() in PREFERENCE_CATEGORIES
        and candidate.owner.startswith("user:")
        and (candidate.importance or 0.0) >= PREFERENCE_IMPORTANCE
    )


def _excluded(
    candidates: Sequence[Candidate], curated: Curated, options: Options
) -> dict[int, Verdict]:
    """What is out before anything is compared."""
    pinned = {pin.id for pin in curated.loaded_pins}
    out: dict[int, Verdict] = {}
    for index, each in enumerate(candidates):
        if each.muted or (each.owner, each.category) in curated.muted:
            out[index] = Verdict(Reason.MUTED)
        elif curated.vouched_for is not None and each.owner not in curated.vouched_for:
            out[index] = Verdict(Reason.MUTES_UNKNOWN)
        elif each.note_id and each.note_id in pinned:
            out[index] = Verdict(Reason.ALREADY_PINNED, each.note_id)
        elif each.similarity is not None and each.similarity < options.min_semantic:
            detail = f"{each.similarity:.3f} is below {options.min_semantic:g}"
            out[index] = Verdict(Reason.BELOW_MIN_SEMANTIC, detail=detail)
    return out


def section_of(candidate: Candidate) -> Section:
    """The section that a candidate would stand in."""
    return Section.PREFERENCES if is_preference(candidate) else _LAYER_SECTIONS[candidate.layer]
