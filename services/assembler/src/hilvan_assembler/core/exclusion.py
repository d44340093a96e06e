"""What is out before anything is compared: muted, not vouched for, pinned already, unlike."""

from collections.abc import Sequence

from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.curation import Curated
from hilvan_assembler.model.kind import Reason
from hilvan_assembler.model.options import Options
from hilvan_assembler.model.ranking import RankedCandidate, Verdict


def exclude(
    ranked: Sequence[RankedCandidate], curated: Curated, options: Options
) -> list[RankedCandidate]:
    """The candidates with a verdict on those that may not be shown."""
    pinned = frozenset(pin.id for pin in curated.loaded_pins)
    return [
        one.judged(verdict)
        if (verdict := _verdict(one.candidate, curated, options, pinned))
        else one
        for one in ranked
    ]


def _verdict(
    candidate: Candidate, curated: Curated, options: Options, pinned: frozenset[str]
) -> Verdict | None:
    if candidate.muted or (candidate.owner, candidate.category) in curated.muted:
        return Verdict(Reason.MUTED)
    if curated.vouched_for is not None and candidate.owner not in curated.vouched_for:
        return Verdict(Reason.MUTES_UNKNOWN)
    if candidate.note_id and candidate.note_id in pinned:
        return Verdict(Reason.ALREADY_PINNED, candidate.note_id)
    if candidate.similarity is not None and candidate.similarity < options.min_semantic:
        detail = f"{candidate.similarity:.3f} is below {options.min_semantic:g}"
        return Verdict(Reason.BELOW_MIN_SEMANTIC, detail=detail)
    return None
