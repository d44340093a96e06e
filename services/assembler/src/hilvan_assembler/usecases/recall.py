"""Recalls a bundle of passages with their sources."""

import time
from dataclasses import dataclass

from hilvan_assembler.core import mute
from hilvan_assembler.core.decision import recall_decisions
from hilvan_assembler.core.ranking import rank
from hilvan_assembler.core.recall import Bundle, BundleBudget, bundle
from hilvan_assembler.model.assembly import Decision
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.kind import Layer
from hilvan_assembler.ports.contradiction import ContradictionJudge
from hilvan_assembler.usecases.report import TurnReports
from hilvan_assembler.usecases.services import Services, Timings, request_of
from hilvan_assembler.usecases.turn import Turn


@dataclass(frozen=True, slots=True)
class Recalled:
    """A bundle with what is missing of it, and seconds by stage."""

    bundle: Bundle
    no_relevant_memory: bool
    decisions: tuple[Decision, ...]
    degraded: tuple[Degradation, ...]
    timings: Timings


class Recaller:
    """Recalls what the store has to say. Keeps nothing between calls."""

    def __init__(self, services: Services, judge: ContradictionJudge, reports: TurnReports) -> None:
        """``reports`` hears what was rendered and what contradicts each other."""
        self._services = services
        self._judge = judge
        self._reports = reports

    async def recall(self, turn: Turn, budget: BundleBudget) -> Recalled:
        """A bundle within the budget. Raises ServiceError without retrieval."""
        project_id = turn.wanted.project_id
        owners = (f"project:{project_id}",) if project_id else None
        request = request_of(turn, tuple(Layer), owners)
        timings: Timings = {}
        answer = await self._services.candidates(turn.caller, request, turn.deadline, timings)
        curated = await self._services.mutes(turn, answer, timings)
        started = time.perf_counter()
        ranking = rank(answer.retrieved, curated, turn.options, self._judge)
        if turn.is_explained:
            ranking = ranking.settled()
        bundled = bundle(ranking, turn.options, budget, turn.tokenizer)
        decisions = recall_decisions(ranking, bundled) if turn.is_explained else ()
        nothing_relevant = ranking.nothing_relevant
        timings["assemble"] = time.perf_counter() - started
        rendered = [one.id for one, _ in bundled.passages]
        self._reports.add(turn, rendered, ranking.contradictions.found)
        degraded = (*answer.degraded, *mute.missing(curated, answer.retrieved))
        return Recalled(bundled, nothing_relevant, decisions, degraded, timings)
