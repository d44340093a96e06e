"""Asks retrieval and curation at the same time and assembles what came in time."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from hilvan_assembler.core import decision as explain
from hilvan_assembler.core import mute as mutes
from hilvan_assembler.core import pipeline, scope
from hilvan_assembler.core.prune import EXPLICIT_FROM, order
from hilvan_assembler.core.ranking import Ranking, rank, relevance_of
from hilvan_assembler.core.recall import Bundle, bundle
from hilvan_assembler.errors import ProjectNotFound, ServiceError, SourcesFailed
from hilvan_assembler.model.assembly import Assembly, Decision
from hilvan_assembler.model.candidate import Candidate, CandidateRequest, RetrievalAnswer, Retrieved
from hilvan_assembler.model.contradiction import FoundContradiction
from hilvan_assembler.model.curation import Curated, CurationAnswer
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.kind import Layer, PartStatus, Source
from hilvan_assembler.model.options import Fusion, Options
from hilvan_assembler.model.turn import Caller
from hilvan_assembler.ports.contradiction import ContradictionJudge
from hilvan_assembler.ports.curation import Curation
from hilvan_assembler.ports.retrieval import Retrieval
from hilvan_assembler.ports.tokenizer import Tokenizer
from hilvan_assembler.usecases.report import Reports
from hilvan_assembler.usecases.together import early, lost, timed, together
from hilvan_kit.deadlines import Deadline

IDS_MOST = 1_000
CONFLICTS_MOST = 100
"""Bounds of one report (proto/hilvan/retrieval/v1)."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a caller wants of retrieval, besides its options."""

    query: str
    project_id: str
    candidate_limit: int
    as_of_given: bool
    require_all_sources: bool = False
    accept_stale_mutes: bool = False


@dataclass(frozen=True, slots=True)
class Assembled:
    """An assembly with what is missing of it, and seconds by stage."""

    assembly: Assembly
    degraded: tuple[Degradation, ...]
    timings: dict[str, float]
    query_empty: bool = False


@dataclass(frozen=True, slots=True)
class Recalled:
    """A bundle with the ranking behind it."""

    bundle: Bundle
    ranking: Ranking
    decisions: tuple[Decision, ...]
    degraded: tuple[Degradation, ...]
    timings: dict[str, float]


@dataclass(frozen=True, slots=True)
class Searched:
    """Hits by falling relevance."""

    hits: Sequence[tuple[Candidate, float]]
    degraded: tuple[Degradation, ...]
    timings: dict[str, float] = field(default_factory=dict)


class Assembler:
    """The use cases of a turn."""

    def __init__(self, retrieval: Retrieval, curation: Curation, judge: ContradictionJudge) -> None:
        """Keeps nothing between calls but reports that are on their way."""
        self._retrieval = retrieval
        self._curation = curation
        self._judge = judge
        self._accesses = Reports("accesses", retrieval.record_accesses, IDS_MOST)
        self._conflicts = Reports("conflicts", retrieval.record_conflicts, CONFLICTS_MOST)

    async def assemble(
        self,
        caller: Caller,
        wanted: Wanted,
        options: Options,
        tokenizer: Tokenizer,
        deadline: Deadline,
        *,
        explained: bool,
        preview: bool,
    ) -> Assembled:
        """The prompt for one turn. Raises ProjectNotFound; SourcesFailed if all are required."""
        query_empty = not wanted.query.strip()
        owners = scope.owners(caller, wanted.project_id)
        timings: dict[str, float] = {}
        request = _request(wanted, options, scope.layers(options), owners)
        answer, (said, missing) = await together(
            _nothing() if query_empty else self._retrieve(caller, request, deadline, timings),
            self._curate(caller, wanted.project_id, tokenizer, deadline, timings),
        )
        curated = mutes.vouched(
            said.curated,
            () if missing else owners,
            answer.mutes_age_seconds,
            accept_stale=wanted.accept_stale_mutes,
        )
        started = time.perf_counter()
        assembly = pipeline.assemble(
            answer.retrieved,
            curated,
            options,
            tokenizer,
            self._judge,
            explain=explained,
        )
        timings["assemble"] = time.perf_counter() - started
        if not preview:
            entries = [item.id for item in assembly.items if item.score is not None]
            self._report(caller, entries, assembly.conflicts)
        degraded = (*answer.degraded, *missing, *mutes.missing(curated, answer.retrieved))
        return Assembled(assembly, degraded, timings, query_empty)

    async def recall(
        self,
        caller: Caller,
        wanted: Wanted,
        options: Options,
        budget: tuple[int, int],
        tokenizer: Tokenizer,
        deadline: Deadline,
        *,
        explained: bool,
        preview: bool,
    ) -> Recalled:
        """A bundle within (budget, share of a source). Raises ServiceError without retrieval."""
        owners = (f"project:{wanted.project_id}",) if wanted.project_id else None
        timings: dict[str, float] = {}
        answer = await self._retrieve_or_fail(
            caller, _request(wanted, options, tuple(Layer), owners), deadline, timings
        )
        curated = await self._mutes(caller, wanted, tokenizer, answer, deadline, timings)
        started = time.perf_counter()
        ranking = rank(answer.retrieved, curated, options, self._judge)
        if explained:
            ranking.settle()
        packed = bundle(ranking, options, *budget, tokenizer)
        told = explain.recall_decisions(ranking, packed) if explained else ()
        timings["assemble"] = time.perf_counter() - started
        if not preview:
            entries = [ranking.candidates[index].id for index, _ in packed.passages]
            self._report(caller, entries, ranking.conflicts.found)
        degraded = (*answer.degraded, *mutes.missing(curated, answer.retrieved))
        return Recalled(packed, ranking, told, degraded, timings)

    async def search(
        self,
        caller: Caller,
        request: CandidateRequest,
        fusion: Fusion,
        min_semantic: float,
        limit: int,
        deadline: Deadline,
    ) -> Searched:
        """Hits by relevance alone, muted ones included. Raises ServiceError, SourcesFailed."""
        timings: dict[str, float] = {}
        answer = await self._retrieve_or_fail(caller, request, deadline, timings)
        candidates = answer.retrieved.candidates
        relevance = relevance_of(answer.retrieved, fusion)
        hits = [
            (candidates[index], relevance[index])
            for index in order(candidates, relevance)
            if (similarity := candidates[index].similarity) is None or similarity >= min_semantic
        ]
        return Searched(hits[:limit], answer.degraded, timings)

    async def close(self) -> None:
        """Report what was gathered."""
        await asyncio.gather(self._accesses.close(), self._conflicts.close())

    def _report(
        self, caller: Caller, entries: Sequence[str], conflicts: Sequence[FoundContradiction]
    ) -> None:
        self._accesses.add(caller, entries)
        self._conflicts.add(caller, conflicts)

    async def _retrieve(
        self,
        caller: Caller,
        request: CandidateRequest,
        deadline: Deadline,
        timings: dict[str, float],
    ) -> RetrievalAnswer:
        """Candidates, or none with what became of retrieval; a prompt can do without them."""
        try:
            return await self._retrieve_or_fail(caller, request, deadline, timings)
        except SourcesFailed:
            if request.require_all_sources:
                raise
            silent = [Degradation(each.value, PartStatus.UNAVAILABLE) for each in request.sources]
            return RetrievalAnswer(Retrieved(), tuple(silent))
        except ServiceError as error:
            if request.require_all_sources:
                raise SourcesFailed("retrieval") from error
            return RetrievalAnswer(Retrieved(), (lost(error),))

    async def _retrieve_or_fail(
        self,
        caller: Caller,
        request: CandidateRequest,
        deadline: Deadline,
        timings: dict[str, float],
    ) -> RetrievalAnswer:
        answer = await timed(
            self._retrieval.candidates(caller, request, early(deadline)), "retrieval", timings
        )
        timings.update(answer.timings)
        return answer

    async def _curate(
        self,
        caller: Caller,
        project_id: str,
        tokenizer: Tokenizer,
        deadline: Deadline,
        timings: dict[str, float],
    ) -> tuple[CurationAnswer, tuple[Degradation, ...]]:
        """What curation says, or nothing with what became of it."""
        try:
            asked = self._curation.resolve(caller, project_id, tokenizer.name, early(deadline))
            return await timed(asked, "curation", timings), ()
        except ServiceError as error:
            return CurationAnswer(Curated()), (lost(error),)

    async def _mutes(
        self,
        caller: Caller,
        wanted: Wanted,
        tokenizer: Tokenizer,
        answer: RetrievalAnswer,
        deadline: Deadline,
        timings: dict[str, float],
    ) -> Curated:
        """What is muted of a recall's candidates, and whose mutes are known.

        Retrieval knows it already as a rule; curation is asked when its last word is too old.
        """
        age, accept = answer.mutes_age_seconds, wanted.accept_stale_mutes
        unsaid = mutes.vouched(Curated(), (), age, accept_stale=accept)
        if not mutes.missing(unsaid, answer.retrieved):
            return unsaid
        try:
            asked = self._curate(caller, wanted.project_id, tokenizer, deadline, timings)
            said, missing = await asked
        except ProjectNotFound:
            return unsaid
        if missing:
            return unsaid
        known = Curated(muted=said.curated.muted)
        owners = scope.owners(caller, wanted.project_id)
        return mutes.vouched(known, owners, None, accept_stale=False)


def _request(
    wanted: Wanted, options: Options, layers: tuple[Layer, ...], owners: tuple[str, ...] | None
) -> CandidateRequest:
    return CandidateRequest(
        query=wanted.query,
        layers=layers,
        owners=owners,
        limit=wanted.candidate_limit,
        as_of=options.as_of if wanted.as_of_given else None,
        sources=tuple(each for each in Source if options.fusion.weight(each) > 0),
        pair_similarity_floor=EXPLICIT_FROM,
        require_all_sources=wanted.require_all_sources,
    )


async def _nothing() -> RetrievalAnswer:
    return RetrievalAnswer(Retrieved())
