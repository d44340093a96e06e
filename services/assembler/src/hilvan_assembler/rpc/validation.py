"""Bounds of requests. Every fault of a request is found before any is told."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan_assembler.model.candidate import CandidateRequest
from hilvan_assembler.model.kind import Layer, Section, Source, Tier
from hilvan_assembler.model.options import DEFAULT_BUDGETS, Fusion, Options
from hilvan_assembler.rpc import names
from hilvan_assembler.usecases.assembly import Wanted
from hilvan_kit.tokens import TokenCounter, Tokenizers
from hilvan_kit.validation import Faults, refuse, scan

QUERY_MOST = 8_192
BUDGET_MOST = 100_000
CANDIDATES_MOST = 100
CANDIDATES = 50
"""Candidates a layer and source of a request that names no limit: twice what the default budgets
hold, and half of what 100 cost (docs/performance.md)."""

HITS_MOST = 100
BOOSTS_MOST = 32
BOOST_MOST = 10
RECALL_BUDGET = 4_000
SEARCH_LIMIT = 20
CATEGORY_MOST = 64

_PROJECT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")

_TIERS = {
    "memories": Tier.MEMORIES,
    "episodes": Tier.EPISODES,
    "procedures": Tier.PROCEDURES,
    "identity": Tier.IDENTITY,
    "pinned": Tier.PINNED,
    "notes": Tier.NOTES,
}
_SOURCES_OF = {
    pb.SEARCH_MODE_UNSPECIFIED: tuple(Source),
    pb.SEARCH_MODE_HYBRID: tuple(Source),
    pb.SEARCH_MODE_KEYWORD: (Source.KEYWORD,),
    pb.SEARCH_MODE_SEMANTIC: (Source.VECTOR,),
}


class Validator:
    """Reads requests, knowing the tokenizers that they may name."""

    def __init__(self, tokenizers: Tokenizers) -> None:
        """Take the server's tokenizers."""
        self._tokenizers = tokenizers

    def assemble(
        self, request: pb.AssembleRequest, now: datetime
    ) -> tuple[Wanted, Options, TokenCounter]:
        """An Assemble in the model's words, or every fault of it."""
        faults = Faults()
        scan(request, faults)
        faults.length(request.query, "query", QUERY_MOST)
        _project_faults(request.scope.project_id, faults, "scope.project_id")
        self._overrides_faults(request.overrides, faults)
        refuse(faults)
        return (
            _wanted(request, request.scope.project_id),
            options(request.overrides, now),
            self._tokenizers.get(request.overrides.tokenizer),
        )

    def recall(
        self, request: pb.RecallRequest, now: datetime
    ) -> tuple[Wanted, Options, tuple[int, int], TokenCounter]:
        """A Recall in the model's words, or every fault of it."""
        faults = Faults()
        scan(request, faults)
        faults.length(request.query, "query", QUERY_MOST)
        faults.check(not request.query or bool(request.query.strip()), "query", "must not be blank")
        _project_faults(request.project_id, faults, "project_id")
        self._overrides_faults(request.overrides, faults)
        budget = request.token_budget if request.HasField("token_budget") else RECALL_BUDGET
        share = request.max_per_source if request.HasField("max_per_source") else budget // 2
        faults.between(budget, "token_budget", 0, BUDGET_MOST)
        faults.between(share, "max_per_source", 0, BUDGET_MOST)
        refuse(faults)
        return (
            _wanted(request, request.project_id),
            options(request.overrides, now),
            (budget, share),
            self._tokenizers.get(request.overrides.tokenizer),
        )

    def _overrides_faults(self, overrides: pb.Overrides, faults: Faults) -> None:
        path = "overrides"
        for name in _TIERS:
            if overrides.budgets.HasField(name):  # type: ignore[arg-type]  # all have presence
                value = getattr(overrides.budgets, name)
                faults.between(value, f"{path}.budgets.{name}", 0, BUDGET_MOST)
        faults.between(overrides.min_final, f"{path}.min_final", 0, 1)
        faults.between(overrides.min_semantic, f"{path}.min_semantic", 0, 1)
        if overrides.HasField("candidate_limit"):
            limit = overrides.candidate_limit
            faults.between(limit, f"{path}.candidate_limit", 1, CANDIDATES_MOST)
        _boost_faults(overrides, faults, f"{path}.category_boosts")
        fusion_faults(overrides.fusion, faults, f"{path}.fusion")
        offered = self._tokenizers.names
        known = not overrides.tokenizer or overrides.tokenizer in offered
        faults.check(known, f"{path}.tokenizer", f"must be one of {', '.join(offered)}")
        for index, section in enumerate(overrides.sections):
            given = section != pb.SECTION_UNSPECIFIED
            faults.check(given, f"{path}.sections[{index}]", "must be given")
        known = zone(overrides.time_zone) is not None
        faults.check(known, f"{path}.time_zone", "must be an IANA time zone")


def search(request: pb.SearchRequest) -> tuple[CandidateRequest, Fusion, int]:
    """A Search in the model's words, or every fault of it."""
    faults = Faults()
    scan(request, faults)
    faults.length(request.query, "query", QUERY_MOST)
    faults.check(not request.query or bool(request.query.strip()), "query", "must not be blank")
    _project_faults(request.project_id, faults, "project_id")
    limit = request.limit if request.HasField("limit") else SEARCH_LIMIT
    faults.between(limit, "limit", 0, HITS_MOST)
    faults.between(request.min_semantic, "min_semantic", 0, 1)
    fusion_faults(request.fusion, faults, "fusion")
    for index, layer in enumerate(request.layers):
        faults.check(layer != 0, f"layers[{index}]", "must be given")
    joined = fusion(request.fusion)
    sources = tuple(s for s in _SOURCES_OF.get(request.mode, ()) if joined.weight(s) > 0)
    faults.check(bool(sources) or bool(faults.pairs), "fusion", "switches every source off")
    refuse(faults)
    as_of = request.as_of_time.ToDatetime(UTC) if request.HasField("as_of_time") else None
    wanted = CandidateRequest(
        query=request.query,
        layers=tuple(dict.fromkeys(names.LAYERS[each] for each in request.layers)) or tuple(Layer),
        owners=(f"project:{request.project_id}",) if request.project_id else None,
        limit=CANDIDATES_MOST,
        as_of=as_of,
        sources=sources,
        include_muted=True,
    )
    return wanted, joined, limit


def start_session(request: pb.StartSessionRequest) -> None:
    """Refuse a bad request to start a session."""
    faults = Faults()
    scan(request, faults)
    _project_faults(request.scope.project_id, faults, "scope.project_id")
    refuse(faults)


def options(overrides: pb.Overrides, now: datetime) -> Options:
    """The options with every default filled in."""
    as_of = now.replace(minute=0, second=0, microsecond=0)
    if overrides.HasField("as_of_time"):
        as_of = overrides.as_of_time.ToDatetime(UTC)
    sections = frozenset(names.SECTIONS[each] for each in overrides.sections)
    return Options(
        as_of=as_of,
        budgets=_budgets(overrides.budgets),
        min_final=overrides.min_final,
        min_semantic=overrides.min_semantic,
        boosts={each.category: each.factor for each in overrides.category_boosts},
        fusion=fusion(overrides.fusion),
        sections=sections or frozenset(Section),
        zone=zone(overrides.time_zone) or UTC,
    )


def fusion(message: pb.Fusion) -> Fusion:
    """The fusion with every default filled in."""
    known = Fusion(method=names.FUSION_METHODS[message.method])
    if message.HasField("vector_weight"):
        known = replace(known, vector_weight=message.vector_weight)
    if message.HasField("keyword_weight"):
        known = replace(known, keyword_weight=message.keyword_weight)
    if message.HasField("rank_constant"):
        known = replace(known, rank_constant=message.rank_constant)
    return known


def fusion_faults(message: pb.Fusion, faults: Faults, path: str) -> None:
    """Bounds of a fusion."""
    faults.between(message.vector_weight, f"{path}.vector_weight", 0, 1)
    faults.between(message.keyword_weight, f"{path}.keyword_weight", 0, 1)
    off = [
        message.HasField(name) and getattr(message, name) == 0
        for name in ("vector_weight", "keyword_weight")
    ]
    faults.check(not all(off), path, "switches every source off")
    if message.HasField("rank_constant"):
        faults.between(message.rank_constant, f"{path}.rank_constant", 1, 1000)


def zone(name: str) -> tzinfo | None:
    """A time zone by its IANA name, UTC for none, None for an unknown one."""
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not found, not a name, or a folder of names
        return None


def _project_faults(project_id: str, faults: Faults, path: str) -> None:
    """An id that no project can have; whether there is such a project is curation's to say."""
    if project_id:
        faults.check(
            bool(_PROJECT_ID.fullmatch(project_id)),
            path,
            "must be 1 to 128 of A-Z a-z 0-9 . _ @ -, starting with a letter or digit",
        )


def _wanted(request: pb.AssembleRequest | pb.RecallRequest, project_id: str) -> Wanted:
    overrides = request.overrides
    limit = overrides.candidate_limit if overrides.HasField("candidate_limit") else CANDIDATES
    return Wanted(
        query=request.query,
        project_id=project_id,
        candidate_limit=limit,
        as_of_given=overrides.HasField("as_of_time"),
        require_all_sources=overrides.require_all_sources,
        accept_stale_mutes=request.accept_stale_mutes,
    )


def _budgets(message: pb.TierBudgets) -> Mapping[Tier, int]:
    given = {
        tier: getattr(message, name)
        for name, tier in _TIERS.items()
        if message.HasField(name)  # type: ignore[arg-type]  # all have presence
    }
    return {**DEFAULT_BUDGETS, **given}


def _boost_faults(overrides: pb.Overrides, faults: Faults, path: str) -> None:
    boosts = list(overrides.category_boosts)
    faults.check(len(boosts) <= BOOSTS_MOST, path, f"must have at most {BOOSTS_MOST} values")
    seen: set[str] = set()
    for index, boost in enumerate(boosts[:BOOSTS_MOST]):
        faults.between(boost.factor, f"{path}[{index}].factor", 0, BOOST_MOST)
        faults.length(boost.category, f"{path}[{index}].category", CATEGORY_MOST)
        faults.check(boost.category not in seen, f"{path}[{index}].category", "must not repeat")
        seen.add(boost.category)
