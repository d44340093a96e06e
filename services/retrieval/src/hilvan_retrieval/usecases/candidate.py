"""The fan-out: both indexes at once, each with its own share of the deadline."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

import numpy as np
from prometheus_client import Counter

from hilvan_kit.auth import Principal
from hilvan_kit.breaker import Breaker, Refused
from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.core import candidate as merging
from hilvan_retrieval.core import filter as plan
from hilvan_retrieval.core.candidate import Candidate, ListReport, SimilarPairs
from hilvan_retrieval.core.filter import CandidateRequest
from hilvan_retrieval.errors import AllSourcesFailed, QueryRefused, SourceError, SourceTimeout
from hilvan_retrieval.model.embedding import EmbeddingModel
from hilvan_retrieval.model.entry import Entry, Stored, Uid
from hilvan_retrieval.model.index import Filter, Hit, KeywordQuery, Source, VectorQuery
from hilvan_retrieval.model.policy import TenantPolicy
from hilvan_retrieval.ports.entry import EntryStore
from hilvan_retrieval.usecases.generation import Live
from hilvan_retrieval.usecases.policy import PolicyBook

SOURCES_SHARE = 0.8
"""Of the time that is left, what the sources may use: the record must be read after them."""

ENOUGH_SHARE = 0.5
"""Of an engine's cap: one that was given less and did not answer is not at fault."""

_LOST = Counter(
    "hilvan_source_lost", "Calls that were answered without a source.", ["source", "status"]
)


class PartStatus(StrEnum):
    """What became of a source."""

    OK = "ok"
    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What one source did, and for how long it was waited."""

    source: Source
    status: PartStatus
    seconds: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """The answer of a fan-out. ``timings`` are seconds by stage.

    ``mutes_age_seconds`` is how long ago curation confirmed the mutes; None: never.
    """

    candidates: Sequence[Candidate]
    pairs: SimilarPairs
    sources: Sequence[SourceReport]
    lists: Sequence[ListReport]
    timings: dict[str, float] = field(default_factory=dict)
    mutes_age_seconds: float | None = None


class Retriever:
    """Finds candidates."""

    def __init__(
        self,
        live: Callable[[], Live],
        store: EntryStore,
        policies: PolicyBook,
        source_cap_seconds: float,
    ) -> None:
        """``live`` gives what answers, once a call.

        ``source_cap_seconds`` bounds each engine's answer, whatever the deadline.
        """
        self._live = live
        self._store = store
        self._policies = policies
        self._cap = source_cap_seconds
        self._breakers = {each: Breaker[PartStatus](each.value) for each in Source}

    async def candidates(
        self, who: Principal, request: CandidateRequest, now: datetime, deadline: Deadline
    ) -> Candidates:
        """Ask the sources in parallel and join what came in time.

        Raises:
            AllSourcesFailed: no source that was asked answered, or not all of them did and the
                request requires all.
            RecordUnavailable: the record can't be read.
            TimeoutError: it did not answer in time.
        """
        live = self._live()
        policy = self._policies.of(who.tenant)
        filters = plan.filters(request, policy, who, now)
        timings: dict[str, float] = {}
        for_sources = Deadline.after(SOURCES_SHARE * deadline.remaining())
        answers = await self._ask_both(live, request, filters, for_sources, timings)
        reports = [report for report, _ in answers]
        _require(request, reports)
        timings |= {report.source.value: report.seconds for report in reports}
        lists = {
            (report.source, layer): hits
            for report, hit_lists in answers
            for layer, hits in zip(request.layers, hit_lists, strict=False)
        }
        found = merging.merge(lists)
        model = live.embedder.model
        with_vectors = None if request.pair_similarity_floor is None else model.id
        with _timed(timings, "record"):
            # A record that hangs must not take the time that the caller needs to answer without.
            async with asyncio.timeout(deadline.downstream()):
                stored = await self._store.hydrate(who.tenant, list(found), model=with_vectors)
        kept = self._admitted(who, request, filters, stored)
        with _timed(timings, "pairs"):
            pairs = _pairs(request, model, [stored[uid] for uid in kept])
        candidates = self._candidates(
            [(found[uid], stored[uid].entry) for uid in kept], model, request, policy, who, now
        )
        list_reports = merging.reports(lists, request.limit)
        confirmed = policy.confirm_time
        age = None if confirmed is None else max(0.0, (now - confirmed).total_seconds())
        return Candidates(candidates, pairs, reports, list_reports, timings, age)

    async def _ask_both(
        self,
        live: Live,
        request: CandidateRequest,
        filters: Sequence[Filter],
        for_sources: Deadline,
        timings: dict[str, float],
    ) -> list[tuple[SourceReport, list[list[Hit]]]]:
        """What each source answered, in parallel."""
        # A group, so that a fault of ours in one branch leaves no other behind.
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    self._ask(
                        Source.VECTOR,
                        request,
                        lambda: self._by_meaning(live, request, filters, for_sources, timings),
                    )
                ),
                group.create_task(
                    self._ask(
                        Source.KEYWORD,
                        request,
                        lambda: self._by_words(live, request, filters, for_sources),
                    )
                ),
            ]
        return [task.result() for task in tasks]

    async def _by_meaning(
        self,
        live: Live,
        request: CandidateRequest,
        filters: Sequence[Filter],
        deadline: Deadline,
        timings: dict[str, float],
    ) -> list[list[Hit]]:
        # While the engine is not asked, embedding would be for nothing.
        self._breakers[Source.VECTOR].check()
        with _timed(timings, "embed"):
            async with asyncio.timeout(deadline.downstream()):
                vector = await live.embedder.embed_query(request.query)
        queries = [VectorQuery(each, vector, request.limit) for each in filters]
        return await self._try(Source.VECTOR, deadline, lambda: live.vector.search(queries))

    async def _by_words(
        self,
        live: Live,
        request: CandidateRequest,
        filters: Sequence[Filter],
        deadline: Deadline,
    ) -> list[list[Hit]]:
        queries = [KeywordQuery(each, request.query, request.limit) for each in filters]
        return await self._try(Source.KEYWORD, deadline, lambda: live.keyword.search(queries))

    async def _try(
        self, source: Source, deadline: Deadline, search: Callable[[], Awaitable[list[list[Hit]]]]
    ) -> list[list[Hit]]:
        """An engine's answer. Its breaker learns what became of it, unless the time was short.

        Raises Refused, TimeoutError, SourceError.
        """
        seconds = deadline.downstream(self._cap)
        with self._breakers[source].guard() as attempt:
            try:
                async with asyncio.timeout(seconds):
                    hits = await search()
            except (TimeoutError, SourceTimeout):
                if seconds >= ENOUGH_SHARE * self._cap:
                    attempt.failed(PartStatus.TIMEOUT)
                raise
            except QueryRefused:
                # One caller's odd query must not take the engine from the others.
                attempt.succeeded()
                raise
            except SourceError:
                attempt.failed(PartStatus.UNAVAILABLE)
                raise
            attempt.succeeded()
            return hits

    async def _ask(
        self,
        source: Source,
        request: CandidateRequest,
        search: Callable[[], Awaitable[list[list[Hit]]]],
    ) -> tuple[SourceReport, list[list[Hit]]]:
        """One source's lists, or none with what became of it; raises cancellation only."""
        if source not in request.sources:
            return SourceReport(source, PartStatus.SKIPPED, 0.0), []
        started = time.perf_counter()
        hits: list[list[Hit]] = []
        status = PartStatus.OK
        try:
            hits = await search()
        except Refused as refused:
            status = refused.kind
        except (TimeoutError, SourceTimeout):
            status = PartStatus.TIMEOUT
        except SourceError:
            status = PartStatus.UNAVAILABLE
        if status is not PartStatus.OK:
            _LOST.labels(source, status).inc()
        return SourceReport(source, status, time.perf_counter() - started), hits

    def _admitted(
        self,
        who: Principal,
        request: CandidateRequest,
        filters: Sequence[Filter],
        stored: dict[Uid, Stored],
    ) -> list[Uid]:
        """The record decides: what it does not have, or has otherwise, is left out."""
        by_layer = dict(zip(request.layers, filters, strict=True))
        return [
            uid
            for uid, each in stored.items()
            if each.entry.layer in by_layer
            and plan.admits(by_layer[each.entry.layer], who.tenant, each.entry)
        ]

    def _candidates(
        self,
        kept: Sequence[tuple[merging.Found, Entry]],
        model: EmbeddingModel,
        request: CandidateRequest,
        policy: TenantPolicy,
        who: Principal,
        now: datetime,
    ) -> list[Candidate]:
        """The candidates, calibrated all at once."""
        cosines = [math.nan if found.cosine is None else found.cosine for found, _ in kept]
        similarities = model.calibration(np.asarray(cosines, np.float32)).tolist()
        muted = [False] * len(kept)
        if request.include_muted:
            muted = plan.muted_among([entry for _, entry in kept], policy, who, now)
        return [
            Candidate(entry, found, None if found.cosine is None else similarity, silent)
            for (found, entry), similarity, silent in zip(kept, similarities, muted, strict=True)
        ]


def _pairs(
    request: CandidateRequest, model: EmbeddingModel, stored: Sequence[Stored]
) -> SimilarPairs:
    floor = request.pair_similarity_floor
    if floor is None:
        return SimilarPairs()
    return merging.similar_pairs([each.vector for each in stored], model.calibration, floor)


@contextmanager
def _timed(timings: dict[str, float], stage: str) -> Iterator[None]:
    started = time.perf_counter()
    try:
        yield
    finally:
        timings[stage] = time.perf_counter() - started


def _require(request: CandidateRequest, reports: Sequence[SourceReport]) -> None:
    asked = [report for report in reports if report.status is not PartStatus.SKIPPED]
    answered = [report for report in asked if report.status is PartStatus.OK]
    if not answered or (request.require_all_sources and len(answered) < len(asked)):
        raise AllSourcesFailed(", ".join(f"{each.source}: {each.status}" for each in asked))
