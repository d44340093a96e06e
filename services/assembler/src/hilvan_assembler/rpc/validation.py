"""Bounds of requests. Every fault of a request is found before any is told."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan_assembler.core.recall import BundleBudget
from hilvan_assembler.core.search import Bounds
from hilvan_assembler.model.candidate import CandidateRequest
from hilvan_assembler.model.kind import Layer, Section, Source, Tier, View
from hilvan_assembler.model.options import DEFAULT_BUDGETS, Fusion, Options
from hilvan_assembler.model.turn import Caller, Wanted
from hilvan_assembler.ports.tokenizer import Tokenizers
from hilvan_assembler.rpc import names
from hilvan_assembler.usecases.search import Query
from hilvan_assembler.usecases.session import SessionCall
from hilvan_assembler.usecases.turn import Turn
from hilvan_kit.deadlines import Deadline
from hilvan_kit.validation import Faults, refuse, scan

MAX_QUERY_CHARACTERS = 8_192
MAX_BUDGET = 100_000
MAX_CANDIDATES = 100
DEFAULT_CANDIDATES = 50
"""Candidates a layer and source of a request that names no limit: twice what the default budgets
hold, and half of what 100 cost (docs/performance.md)."""

MAX_HITS = 100
MAX_BOOSTS = 32
MAX_BOOST = 10
DEFAULT_RECALL_BUDGET = 4_000
DEFAULT_SEARCH_LIMIT = 20
MAX_CATEGORY_CHARACTERS = 64

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


@dataclass(frozen=True, slots=True)
class Call:
    """What a call has whatever it asks: who, until when, and whether it is a preview."""

    caller: Caller
    deadline: Deadline
    preview: bool = False


class Validator:
    """Reads requests, knowing the tokenizers that they may name, and what time it is."""

    def __init__(self, tokenizers: Tokenizers, clock: Callable[[], datetime]) -> None:
        """``clock`` dates requests that state no moment."""
        self._tokenizers = tokenizers
        self._clock = clock

    def assemble(self, request: pb.AssembleRequest, call: Call) -> Turn:
        """An Assemble as a turn. Raises InvalidRequest with every fault of it."""
        faults = Faults()
        scan(request, faults)
        faults.length(request.query, "query", MAX_QUERY_CHARACTERS)
        _project_faults(request.scope.project_id, faults, "scope.project_id")
        self._overrides_faults(request.overrides, faults)
        refuse(faults)
        return self._turn(request, _wanted(request, request.scope.project_id), call)

    def recall(self, request: pb.RecallRequest, call: Call) -> tuple[Turn, BundleBudget]:
        """A Recall as a turn, and its budget. Raises InvalidRequest with every fault of it."""
        faults = Faults()
        scan(request, faults)
        _query_faults(request.query, faults)
        _project_faults(request.project_id, faults, "project_id")
        self._overrides_faults(request.overrides, faults)
        tokens = request.token_budget if request.HasField("token_budget") else DEFAULT_RECALL_BUDGET
        share = request.max_per_source if request.HasField("max_per_source") else tokens // 2
        faults.between(tokens, "token_budget", 0, MAX_BUDGET)
        faults.between(share, "max_per_source", 0, MAX_BUDGET)
        refuse(faults)
        turn = self._turn(request, _wanted(request, request.project_id), call)
        return turn, BundleBudget(tokens, share)

    def search(self, request: pb.SearchRequest, call: Call) -> Query:
        """A Search. Raises InvalidRequest with every fault of it."""
        faults = Faults()
        scan(request, faults)
        _query_faults(request.query, faults)
        _project_faults(request.project_id, faults, "project_id")
        limit = request.limit if request.HasField("limit") else DEFAULT_SEARCH_LIMIT
        faults.between(limit, "limit", 0, MAX_HITS)
        faults.between(request.min_semantic, "min_semantic", 0, 1)
        fusion_faults(request.fusion, faults, "fusion")
        for index, layer in enumerate(request.layers):
            faults.check(layer != 0, f"layers[{index}]", "must be given")
        joined = fusion(request.fusion)
        sources = tuple(s for s in _SOURCES_OF.get(request.mode, ()) if joined.weight(s) > 0)
        faults.check(bool(sources) or bool(faults.pairs), "fusion", "switches every source off")
        refuse(faults)
        as_of = request.as_of_time.ToDatetime(UTC) if request.HasField("as_of_time") else None
        layers = tuple(dict.fromkeys(names.LAYERS[layer] for layer in request.layers))
        wanted = CandidateRequest(
            query=request.query,
            layers=layers or tuple(Layer),
            owners=(f"project:{request.project_id}",) if request.project_id else None,
            limit=MAX_CANDIDATES,
            as_of=as_of,
            sources=sources,
            include_muted=True,
        )
        bounds = Bounds(limit, request.min_semantic)
        return Query(call.caller, wanted, joined, bounds, call.deadline)

    def start_session(self, request: pb.StartSessionRequest, call: Call) -> SessionCall:
        """A StartSession. Raises InvalidRequest with every fault of it."""
        faults = Faults()
        scan(request, faults)
        _project_faults(request.scope.project_id, faults, "scope.project_id")
        refuse(faults)
        return SessionCall(call.caller, request.scope.project_id, call.deadline, call.preview)

    def _turn(
        self, request: pb.AssembleRequest | pb.RecallRequest, wanted: Wanted, call: Call
    ) -> Turn:
        return Turn(
            caller=call.caller,
            wanted=wanted,
            options=options(request.overrides, self._clock()),
            tokenizer=self._tokenizers.get(request.overrides.tokenizer),
            deadline=call.deadline,
            view=View.FULL if request.view == pb.VIEW_FULL else View.BASIC,
            preview=call.preview,
        )

    def _overrides_faults(self, overrides: pb.Overrides, faults: Faults) -> None:
        path = "overrides"
        for name in _TIERS:
            if overrides.budgets.HasField(name):  # type: ignore[arg-type]  # all have presence
                value = getattr(overrides.budgets, name)
                faults.between(value, f"{path}.budgets.{name}", 0, MAX_BUDGET)
        faults.between(overrides.min_final, f"{path}.min_final", 0, 1)
        faults.between(overrides.min_semantic, f"{path}.min_semantic", 0, 1)
        if overrides.HasField("candidate_limit"):
            limit = overrides.candidate_limit
            faults.between(limit, f"{path}.candidate_limit", 1, MAX_CANDIDATES)
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


def _query_faults(query: str, faults: Faults) -> None:
    faults.length(query, "query", MAX_QUERY_CHARACTERS)
    faults.check(not query or bool(query.strip()), "query", "must not be blank")


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
    given = overrides.HasField("candidate_limit")
    limit = overrides.candidate_limit if given else DEFAULT_CANDIDATES
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
    faults.check(len(boosts) <= MAX_BOOSTS, path, f"must have at most {MAX_BOOSTS} values")
    seen: set[str] = set()
    for index, boost in enumerate(boosts[:MAX_BOOSTS]):
        faults.between(boost.factor, f"{path}[{index}].factor", 0, MAX_BOOST)
        faults.length(boost.category, f"{path}[{index}].category", MAX_CATEGORY_CHARACTERS)
        faults.check(boost.category not in seen, f"{path}[{index}].category", "must not repeat")
        seen.add(boost.category)
