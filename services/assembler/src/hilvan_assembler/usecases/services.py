"""Asks retrieval and curation, early enough to still answer without them."""

import time
from collections.abc import Awaitable
from typing import TypeVar

from hilvan_assembler.core import mute, scope
from hilvan_assembler.core.neighbour import EXPLICIT_FROM
from hilvan_assembler.errors import (
    ProjectNotFound,
    ServiceError,
    ServiceTimeout,
    SourcesFailed,
)
from hilvan_assembler.model.candidate import CandidateRequest, RetrievalAnswer, Retrieved
from hilvan_assembler.model.curation import Curated, CurationAnswer
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.kind import Layer, PartStatus, Source
from hilvan_assembler.model.turn import Caller
from hilvan_assembler.ports.curation import Curation
from hilvan_assembler.ports.retrieval import Retrieval
from hilvan_assembler.usecases.turn import Turn
from hilvan_kit.deadlines import Deadline

RESERVE_SECONDS = 0.015
RESERVE_SHARE = 0.2
"""What an answer without the other services takes: rendering cold, and the way back. Of a short
deadline a share, so that something is left to ask with."""

Timings = dict[str, float]
"""Seconds by the name of a stage."""

T = TypeVar("T")


class Services:
    """The two other services, as a turn asks them."""

    def __init__(self, retrieval: Retrieval, curation: Curation) -> None:
        """Ask these two."""
        self._retrieval = retrieval
        self._curation = curation

    async def candidates(
        self, caller: Caller, request: CandidateRequest, deadline: Deadline, timings: Timings
    ) -> RetrievalAnswer:
        """Candidates of the store. Raises ServiceError, SourcesFailed."""
        asked = self._retrieval.candidates(caller, request, early(deadline))
        answer = await timed(asked, "retrieval", timings)
        timings.update(answer.timings)
        return answer

    async def candidates_or_none(
        self, turn: Turn, request: CandidateRequest, timings: Timings
    ) -> RetrievalAnswer:
        """Candidates, or none with what became of retrieval; a prompt can do without them.

        A query of nothing is not asked. Raises SourcesFailed when all sources are required.
        """
        if turn.wanted.is_empty:
            return RetrievalAnswer(Retrieved())
        try:
            return await self.candidates(turn.caller, request, turn.deadline, timings)
        except SourcesFailed:
            if request.require_all_sources:
                raise
            silent = [
                Degradation(source.value, PartStatus.UNAVAILABLE) for source in request.sources
            ]
            return RetrievalAnswer(Retrieved(), tuple(silent))
        except ServiceError as error:
            if request.require_all_sources:
                raise SourcesFailed("retrieval") from error
            return RetrievalAnswer(Retrieved(), (lost(error),))

    async def curated(
        self, turn: Turn, timings: Timings
    ) -> tuple[CurationAnswer, tuple[Degradation, ...]]:
        """What curation says of the scope, or nothing with what became of it.

        Raises ProjectNotFound.
        """
        asked = self._curation.resolve(
            turn.caller, turn.wanted.project_id, turn.tokenizer.name, early(turn.deadline)
        )
        try:
            return await timed(asked, "curation", timings), ()
        except ServiceError as error:
            return CurationAnswer(Curated()), (lost(error),)

    async def mutes(self, turn: Turn, answer: RetrievalAnswer, timings: Timings) -> Curated:
        """What is muted of a recall's candidates, and whose mutes are known.

        Retrieval knows it already as a rule; curation is asked when its last word is too old.
        """
        age, accept = answer.mutes_age_seconds, turn.wanted.accept_stale_mutes
        unasked = mute.vouched(Curated(), (), age, accept_stale=accept)
        if not mute.missing(unasked, answer.retrieved):
            return unasked
        try:
            curation_answer, missing = await self.curated(turn, timings)
        except ProjectNotFound:
            return unasked
        if missing:
            return unasked
        known = Curated(muted=curation_answer.curated.muted)
        owners = scope.owners(turn.caller, turn.wanted.project_id)
        return mute.vouched(known, owners, None, accept_stale=False)


def request_of(
    turn: Turn, layers: tuple[Layer, ...], owners: tuple[str, ...] | None
) -> CandidateRequest:
    """What a turn asks of retrieval; ``owners`` None: of all that the caller can reach."""
    wanted, options = turn.wanted, turn.options
    return CandidateRequest(
        query=wanted.query,
        layers=layers,
        owners=owners,
        limit=wanted.candidate_limit,
        as_of=options.as_of if wanted.as_of_given else None,
        sources=tuple(source for source in Source if options.fusion.weight(source) > 0),
        pair_similarity_floor=EXPLICIT_FROM,
        require_all_sources=wanted.require_all_sources,
    )


def early(deadline: Deadline) -> Deadline:
    """The deadline of what an answer can do without."""
    reserve = min(RESERVE_SECONDS, RESERVE_SHARE * deadline.remaining())
    return Deadline(deadline.at - reserve, deadline.clock)


def lost(error: ServiceError) -> Degradation:
    """What an answer without a service says of it."""
    late = isinstance(error, ServiceTimeout)
    return Degradation(error.service, PartStatus.TIMEOUT if late else PartStatus.UNAVAILABLE)


async def timed(asked: Awaitable[T], stage: str, timings: Timings) -> T:
    """What was asked for; notes the seconds that it took, also when it fails."""
    started = time.perf_counter()
    try:
        return await asked
    finally:
        timings[stage] = time.perf_counter() - started
