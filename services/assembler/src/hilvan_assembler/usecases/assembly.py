"""Asks retrieval and curation at the same time and assembles what came in time."""

import time
from dataclasses import dataclass

from hilvan_assembler.core import mute, pipeline, scope
from hilvan_assembler.model.assembly import Assembly
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.ports.contradiction import ContradictionJudge
from hilvan_assembler.usecases.report import TurnReports
from hilvan_assembler.usecases.services import Services, Timings, request_of
from hilvan_assembler.usecases.turn import Turn
from hilvan_kit.together import together


@dataclass(frozen=True, slots=True)
class Assembled:
    """An assembly with what is missing of it, and seconds by stage."""

    assembly: Assembly
    degraded: tuple[Degradation, ...]
    timings: Timings
    query_empty: bool = False


class Assembler:
    """Assembles the prompt of a turn. Keeps nothing between calls."""

    def __init__(self, services: Services, judge: ContradictionJudge, reports: TurnReports) -> None:
        """``reports`` hears what was rendered and what contradicts each other."""
        self._services = services
        self._judge = judge
        self._reports = reports

    async def assemble(self, turn: Turn) -> Assembled:
        """The prompt for one turn. Raises ProjectNotFound; SourcesFailed if all are required."""
        owners = scope.owners(turn.caller, turn.wanted.project_id)
        request = request_of(turn, scope.layers(turn.options), owners)
        timings: Timings = {}
        retrieval_answer, (curation_answer, missing) = await together(
            self._services.candidates_or_none(turn, request, timings),
            self._services.curated(turn, timings),
        )
        curated = mute.vouched(
            curation_answer.curated,
            () if missing else owners,
            retrieval_answer.mutes_age_seconds,
            accept_stale=turn.wanted.accept_stale_mutes,
        )
        retrieved = retrieval_answer.retrieved
        started = time.perf_counter()
        assembly = pipeline.assemble(
            retrieved,
            curated,
            turn.options,
            turn.tokenizer,
            self._judge,
            explain=turn.is_explained,
        )
        timings["assemble"] = time.perf_counter() - started
        rendered = [item.id for item in assembly.items if item.score is not None]
        self._reports.add(turn, rendered, assembly.contradictions)
        degraded = (*retrieval_answer.degraded, *missing, *mute.missing(curated, retrieved))
        return Assembled(assembly, degraded, timings, turn.wanted.is_empty)
