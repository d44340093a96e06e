"""Two lists become one relevance in 0..1 for each candidate; raw scores are kept.

    convex:   Σ w·norm(score) / Σ w       norm = (score − zero) / (best − zero)
    ranks:    Σ w/(k + rank) / Σ w/(k+1)  rank from 1

The sums run over the sources that were asked and found anything. Convex combination of normalised
scores beats rank fusion in and out of domain (Bruch, Gai, Ingber, arXiv 2210.11934), and on the
LoCoMo set by up to ten points (`docs/decisions/fusion.md`). ``zero`` is the score of something
unrelated: 0 for BM25, `UNRELATED` for a calibrated similarity. ``best`` is the best score of the
source in this answer.

An entry that a source did not return is not given a zero: in a full list it scores at most what
the last one did, and that is what it gets; from a list that was exhausted, BM25 says truthfully
that no word matches, while a missing vector says nothing, so the other source decides alone.
"""

from collections.abc import Mapping, Sequence

from hilvan_assembler.model.candidate import Candidate, ListReport
from hilvan_assembler.model.kind import FusionMethod, Layer, Source
from hilvan_assembler.model.options import Fusion

UNRELATED = 0.3
"""Where a passage that has nothing to do with a query lies on the calibrated scale."""

_ZERO = {Source.VECTOR: UNRELATED, Source.KEYWORD: 0.0}

Lists = Mapping[tuple[Layer, Source], ListReport]


def relevances(
    candidates: Sequence[Candidate], lists: Sequence[ListReport], fusion: Fusion
) -> list[float]:
    """The relevance of each candidate, in their order."""
    by_key: Lists = {(each.layer, each.source): each for each in lists}
    heard = {each.source for each in lists if each.hit_count}
    sources = [each for each in Source if each in heard and fusion.weight(each) > 0]
    if not sources:
        return [0.0] * len(candidates)
    if fusion.method is FusionMethod.RECIPROCAL_RANK:
        return [_by_rank(each, by_key, sources, fusion) for each in candidates]
    tops = {source: _best(candidates, source) for source in sources}
    tails = _tails(candidates, by_key)
    return [_convex(each, tops, tails, fusion) for each in candidates]


def _convex(
    candidate: Candidate,
    tops: Mapping[Source, float],
    tails: Mapping[tuple[Layer, Source], float],
    fusion: Fusion,
) -> float:
    total = weights = 0.0
    for source, top in tops.items():
        score = _score(candidate, source)
        if score is None:
            score = tails.get((candidate.layer, source))
        if score is None:
            continue
        weight = fusion.weight(source)
        total += weight * _normalised(score, _ZERO[source], top)
        weights += weight
    return total / weights if weights else 0.0


def _by_rank(
    candidate: Candidate, lists: Lists, sources: Sequence[Source], fusion: Fusion
) -> float:
    total = most = 0.0
    k = fusion.rank_constant
    for source in sources:
        weight = fusion.weight(source)
        most += weight / (k + 1)
        rank = candidate.vector_rank if source is Source.VECTOR else candidate.keyword_rank
        report = lists.get((candidate.layer, source))
        if rank is None and report is not None and not report.exhausted:
            rank = report.hit_count + 1
        if rank is not None:
            total += weight / (k + rank)
    return total / most


def _tails(candidates: Sequence[Candidate], lists: Lists) -> dict[tuple[Layer, Source], float]:
    """What a candidate scores at most where a source did not return it; no key: unknown."""
    tails: dict[tuple[Layer, Source], float] = {}
    for key, report in lists.items():
        layer, source = key
        if not report.exhausted:
            scores = (_score(each, source) for each in candidates if each.layer is layer)
            tails[key] = min((s for s in scores if s is not None), default=_ZERO[source])
        elif source is Source.KEYWORD:
            tails[key] = 0.0
    return tails


def _best(candidates: Sequence[Candidate], source: Source) -> float:
    scores = (_score(each, source) for each in candidates)
    return max((score for score in scores if score is not None), default=0.0)


def _score(candidate: Candidate, source: Source) -> float | None:
    return candidate.similarity if source is Source.VECTOR else candidate.bm25


def _normalised(score: float, zero: float, best: float) -> float:
    if best <= zero:
        return 0.0
    return min(1.0, max(0.0, (score - zero) / (best - zero)))
