"""Pruning by ids: what tests of it ask for."""

from collections.abc import Mapping

from support.assembler.values import agrees, retrieved

from hilvan_assembler.core.prune import Verdict, prune
from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.kind import Reason
from hilvan_assembler.ports.contradiction import ContradictionJudge

Pairs = Mapping[tuple[str, str], float]
Outcome = dict[str, tuple[Reason, str]]


def pruned(
    rows: list[Candidate],
    pairs: Pairs | None = None,
    judge: ContradictionJudge = agrees,
    relevance: list[float] | None = None,
    excluded: Mapping[int, Verdict] | None = None,
) -> tuple[Outcome, dict[str, list[str]]]:
    """Reasons and others by id for all that is out, and what each survivor stands for."""
    found = prune(
        rows,
        retrieved(*rows, pairs=pairs).pairs,
        relevance or [0.5] * len(rows),
        judge,
        excluded or {},
    )
    out = dict(found.verdicts)
    for index in found.conflicts.groups:
        if (verdict := found.conflicts.outdated(index)) is not None:
            out[index] = verdict
    return (
        {rows[index].id: (each.reason, each.other_id) for index, each in out.items()},
        {
            rows[survivor].id: [rows[each].id for each in group]
            for survivor, group in found.conflicts.groups.items()
            if survivor not in out
        },
    )
