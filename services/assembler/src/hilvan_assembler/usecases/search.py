"""Searches: hits by relevance alone, muted ones included."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hilvan_assembler.core.search import Bounds, hits
from hilvan_assembler.model.candidate import CandidateRequest
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.options import Fusion
from hilvan_assembler.model.ranking import RankedCandidate
from hilvan_assembler.model.turn import Caller
from hilvan_assembler.usecases.services import Services, Timings
from hilvan_kit.deadlines import Deadline


@dataclass(frozen=True, slots=True)
class Query:
    """A call for hits."""

    caller: Caller
    request: CandidateRequest
    fusion: Fusion
    bounds: Bounds
    deadline: Deadline


@dataclass(frozen=True, slots=True)
class Searched:
    """Hits by falling relevance, with what is missing and seconds by stage."""

    hits: Sequence[RankedCandidate]
    degraded: tuple[Degradation, ...]
    timings: Timings = field(default_factory=dict)


class Searcher:
    """Searches the store. Keeps nothing between calls."""

    def __init__(self, services: Services) -> None:
        """Ask retrieval alone."""
        self._services = services

    async def search(self, query: Query) -> Searched:
        """The best hits. Raises ServiceError, SourcesFailed."""
        timings: Timings = {}
        answer = await self._services.candidates(
            query.caller, query.request, query.deadline, timings
        )
        found = hits(answer.retrieved, query.fusion, query.bounds)
        return Searched(found, answer.degraded, timings)
