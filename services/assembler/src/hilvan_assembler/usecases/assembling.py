"""Asks retrieval and curation at the same time and assembles what came in time."""

import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hilvan_assembler.core import explain, pipeline
from hilvan_assembler.core.prune import EXPLICIT_FROM, order
from hilvan_assembler.core.ranking import Ranking, rank, relevance_of
from hilvan_assembler.core.recall import Bundle, bundle
from hilvan_assembler.errors import ServiceError, SourcesFailed
from hilvan_assembler.model import (
    Assembly,
    Caller,
    Candidate,
    CandidateRequest,
    Curated,
    CurationAnswer,
    Decision,
    Degradation,
    Fusion,
    Layer,
    Options,
    PartStatus,
    RetrievalAnswer,
    Retrieved,
    Source,
    Tier,
)
from hilvan_assembler.ports import ConflictJudge, Curation, Retrieval, Tokenizer
from hilvan_assembler.usecases.counting import AccessReports
from hilvan_assembler.usecases.together import early, lost, together
from hilvan_kit.deadlines import Deadline

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a caller wants of retrieval, besides its options."""

    query: str
    project_id: str
    candidate_limit: int
    as_of_given: bool
    require_all_sources: bool = False


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

    def __init__(self, retrieval: Retrieval, curation: Curation, judge: ConflictJudge) -> None:
        """Keeps nothing between calls but reports of accesses that are on their way."""
        self._retrieval = retrieval
        self._curation = curation
        self._judge = judge
        self._reports = AccessReports(retrieval)

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
        layers = _layers(options)
        owners = _owners(caller, wanted.project_id)
        timings: dict[str, float] = {}
        request = _request(wanted, options, layers, owners)
        answer, curated = await together(
            _nothing() if query_empty else self._retrieve(caller, request, deadline, timings),
            self._curate(caller, wanted.project_id, tokenizer, deadline, timings),
        )
        started = time.perf_counter()
        assembly = pipeline.assemble(
            answer.retrieved,
            curated[0].curated,
            options,
            tokenizer,
            self._judge,
            explain=explained,
        )
        timings["assemble"] = time.perf_counter() - started
        if not preview:
            entries = [item.id for item in assembly.items if item.score is not None]
            self._reports.add(caller, entries)
        degraded = (*answer.degraded, *curated[1])
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
        started = time.perf_counter()
        ranking = rank(answer.retrieved, Curated(), options, self._judge)
        if explained:
            ranking.settle()
        packed = bundle(ranking, options, *budget, tokenizer)
        told = explain.recall_decisions(ranking, packed) if explained else ()
        timings["assemble"] = time.perf_counter() - started
        if not preview:
            self._reports.add(
                caller, [ranking.candidates[index].id for index, _ in packed.passages]
            )
        return Recalled(packed, ranking, told, answer.degraded, timings)

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
        """Report the accesses that were gathered."""
        await self._reports.close()

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
        answer = await _timed(
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
            return await _timed(asked, "curation", timings), ()
        except ServiceError as error:
            return CurationAnswer(Curated()), (lost(error),)


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


def _layers(options: Options) -> tuple[Layer, ...]:
    """Layers that may be rendered; notes only where the request gives them a budget."""
    return tuple(
        layer for layer in Layer if layer is not Layer.NOTE or options.budgets[Tier.NOTES] > 0
    )


def _owners(caller: Caller, project_id: str) -> tuple[str, ...]:
    """Whose entries a prompt may hold: the caller's own, and the project's."""
    own = f"user:{caller.user}"
    return (own, f"project:{project_id}") if project_id else (own,)


async def _nothing() -> RetrievalAnswer:
    return RetrievalAnswer(Retrieved())


async def _timed(asked: Awaitable[T], stage: str, timings: dict[str, float]) -> T:
    started = time.perf_counter()
    try:
        return await asked
    finally:
        timings[stage] = time.perf_counter() - started
