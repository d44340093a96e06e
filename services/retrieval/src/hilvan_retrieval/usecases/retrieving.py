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

from hilvan_kit.auth import Principal
from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.core import merge as merging
from hilvan_retrieval.core import plan
from hilvan_retrieval.core.merge import Candidate, ListReport, SimilarPairs
from hilvan_retrieval.core.plan import CandidateRequest
from hilvan_retrieval.errors import AllSourcesFailed, SourceError, SourceTimeout
from hilvan_retrieval.model import (
    Entry,
    Filter,
    Hit,
    KeywordQuery,
    Source,
    Stored,
    TenantPolicy,
    Uid,
    VectorQuery,
)
from hilvan_retrieval.ports import Embedder, EntryStore, KeywordIndex, VectorIndex
from hilvan_retrieval.usecases.policies import PolicyBook

SOURCES_SHARE = 0.8
"""Of the time that is left, what the sources may use: the record must be read after them."""


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
    """The answer of a fan-out. ``timings`` are seconds by stage."""

    candidates: Sequence[Candidate]
    pairs: SimilarPairs
    sources: Sequence[SourceReport]
    lists: Sequence[ListReport]
    timings: dict[str, float] = field(default_factory=dict)


class Retriever:
    """Finds candidates."""

    def __init__(
        self,
        embedder: Embedder,
        vector: VectorIndex,
        keyword: KeywordIndex,
        store: EntryStore,
        policies: PolicyBook,
        source_cap_seconds: float,
    ) -> None:
        """``source_cap_seconds`` bounds each engine's answer, whatever the deadline."""
        self._embedder = embedder
        self._vector = vector
        self._keyword = keyword
        self._store = store
        self._policies = policies
        self._cap = source_cap_seconds

    async def candidates(
        self, who: Principal, request: CandidateRequest, now: datetime, deadline: Deadline
    ) -> Candidates:
        """Ask the sources in parallel and join what came in time.

        Raises:
            AllSourcesFailed: no source that was asked answered, or not all of them did and the
                request requires all.
        """
        policy = self._policies.of(who.tenant)
        filters = plan.filters(request, policy, who, now)
        timings: dict[str, float] = {}
        for_sources = Deadline.after(SOURCES_SHARE * deadline.remaining())
        # A group, so that a fault of ours in one branch leaves no other behind.
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    self._ask(
                        Source.VECTOR,
                        request,
                        for_sources.downstream(),
                        lambda: self._by_meaning(request, filters, for_sources, timings),
                    )
                ),
                group.create_task(
                    self._ask(
                        Source.KEYWORD,
                        request,
                        for_sources.downstream(self._cap),
                        lambda: self._by_words(request, filters),
                    )
                ),
            ]
        answers = [task.result() for task in tasks]
        reports = [report for report, _ in answers]
        _require(request, reports)
        timings |= {report.source.value: report.seconds for report in reports}
        lists = {
            (report.source, layer): hits
            for report, hit_lists in answers
            for layer, hits in zip(request.layers, hit_lists, strict=False)
        }
        found = merging.merge(lists)
        with_vectors = request.pair_similarity_floor is not None
        with _timed(timings, "record"):
            stored = await self._store.hydrate(who.tenant, list(found), vectors=with_vectors)
        kept = self._admitted(who, request, filters, stored)
        with _timed(timings, "pairs"):
            pairs = self._pairs(request, [stored[uid] for uid in kept])
        candidates = self._candidates(
            [(found[uid], stored[uid].entry) for uid in kept], request, policy, who, now
        )
        list_reports = merging.reports(lists, request.limit)
        return Candidates(candidates, pairs, reports, list_reports, timings)

    async def _by_meaning(
        self,
        request: CandidateRequest,
        filters: Sequence[Filter],
        deadline: Deadline,
        timings: dict[str, float],
    ) -> list[list[Hit]]:
        with _timed(timings, "embed"):
            vector = await self._embedder.embed_query(request.query)
        queries = [VectorQuery(each, vector, request.limit) for each in filters]
        async with asyncio.timeout(deadline.downstream(self._cap)):
            return await self._vector.search(queries)

    async def _by_words(
        self, request: CandidateRequest, filters: Sequence[Filter]
    ) -> list[list[Hit]]:
        queries = [KeywordQuery(each, request.query, request.limit) for each in filters]
        return await self._keyword.search(queries)

    async def _ask(
        self,
        source: Source,
        request: CandidateRequest,
        seconds: float,
        search: Callable[[], Awaitable[list[list[Hit]]]],
    ) -> tuple[SourceReport, list[list[Hit]]]:
        """One source's lists, or none with what became of it; raises cancellation only."""
        if source not in request.sources:
            return SourceReport(source, PartStatus.SKIPPED, 0.0), []
        started = time.perf_counter()
        hits: list[list[Hit]] = []
        try:
            async with asyncio.timeout(seconds):
                hits = await search()
            status = PartStatus.OK
        except (TimeoutError, SourceTimeout):
            status = PartStatus.TIMEOUT
        except SourceError:
            status = PartStatus.UNAVAILABLE
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

    def _pairs(self, request: CandidateRequest, stored: Sequence[Stored]) -> SimilarPairs:
        floor = request.pair_similarity_floor
        if floor is None:
            return SimilarPairs()
        calibration = self._embedder.model.calibration
        return merging.similar_pairs([each.vector for each in stored], calibration, floor)

    def _candidates(
        self,
        kept: Sequence[tuple[merging.Found, Entry]],
        request: CandidateRequest,
        policy: TenantPolicy,
        who: Principal,
        now: datetime,
    ) -> list[Candidate]:
        """The candidates, calibrated all at once."""
        cosines = [math.nan if found.cosine is None else found.cosine for found, _ in kept]
        similarities = self._embedder.model.calibration(np.asarray(cosines, np.float32)).tolist()
        muted = [False] * len(kept)
        if request.include_muted:
            muted = plan.muted_among([entry for _, entry in kept], policy, who, now)
        return [
            Candidate(entry, found, None if found.cosine is None else similarity, silent)
            for (found, entry), similarity, silent in zip(kept, similarities, muted, strict=True)
        ]


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
