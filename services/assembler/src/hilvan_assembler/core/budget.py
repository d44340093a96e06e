"""Packs rendered pieces into their tiers. Tokens are those of the rendered bytes.

Two ways to fill a tier. *Ranked* (memories, episodes, procedures, notes): in rank order; one that
does not fit is skipped and the next may fit. *Strict prefix* (identity, pins): the first that
does not fit stops everything after it, because an order that people set is never reshuffled to
fill a gap.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from hilvan_assembler.model.curation import IdentityBlock, PinnedNote
from hilvan_assembler.model.kind import Reason, Section
from hilvan_assembler.model.ranking import RankedCandidate, Verdict

Count = Callable[[str], int]
Subject = RankedCandidate | PinnedNote | IdentityBlock
LastWord = Callable[[Subject], Verdict | None]
"""Asked only of what fits: its verdict puts the subject out, and then it takes no room."""


class Piece(NamedTuple):
    """One rendered item, and what it was made of."""

    subject: Subject
    text: str


class Placement(NamedTuple):
    """What became of a piece: its tokens, and why it is out; a verdict of None: it is in.

    A piece after the cut of a strict prefix is not counted and has 0 tokens.
    """

    piece: Piece
    token_count: int = 0
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Packed:
    """A section as far as it fits: its own lines, and every piece with what became of it.

    ``kept`` are the pieces that are in; ``text`` is the rendered section, nothing at all without
    an item.
    """

    opening: str
    closing: str
    placements: tuple[Placement, ...]
    kept: tuple[Placement, ...]
    text: str
    token_count: int = 0

    @staticmethod
    def of(opening: str, closing: str, placements: Sequence[Placement]) -> "Packed":
        """The section with these pieces; its tokens are still to be counted."""
        kept = tuple([placement for placement in placements if placement.verdict is None])
        items = "".join([placement.piece.text for placement in kept])
        text = f"{opening}{items}{closing}" if kept else ""
        return Packed(opening, closing, tuple(placements), kept, text)

    def without_last(self) -> "Packed":
        """The section after its last piece was taken out; its tokens are to be counted anew."""
        last = self.kept[-1]
        out = last._replace(verdict=Verdict(Reason.OVER_BUDGET))
        placements = [out if placement is last else placement for placement in self.placements]
        return Packed.of(self.opening, self.closing, placements)


def pack(
    pieces: Sequence[Piece],
    frame: tuple[str, str],
    budget: int,
    count: Count,
    *,
    strict: bool,
    before: str = "",
    last_word: LastWord = lambda _: None,
) -> Packed:
    """Fill one section with at most ``budget`` tokens, its own lines (``frame``) included.

    ``before`` is a text that is paid from the same budget.
    """
    frame_tokens = sum(map(count, frame))
    before_tokens = count(before)
    used = before_tokens + frame_tokens
    placements: list[Placement] = []
    cut = False
    for piece in pieces:
        if cut:
            placements.append(Placement(piece, verdict=Verdict(Reason.AFTER_CUT)))
            continue
        tokens = count(piece.text)
        if used + tokens > budget:
            too_large = frame_tokens + tokens > budget
            reason = Reason.TOO_LARGE if too_large else Reason.OVER_BUDGET
            placements.append(Placement(piece, tokens, Verdict(reason)))
            cut = strict
            continue
        verdict = last_word(piece.subject)
        placements.append(Placement(piece, tokens, verdict))
        used += tokens if verdict is None else 0
    return _fit(Packed.of(*frame, placements), (before, before_tokens), budget, count)


def _fit(packed: Packed, before: tuple[str, int], budget: int, count: Count) -> Packed:
    """Count the whole text, and take out the last item while it is over.

    Tokens of parts add up for tiktoken's encodings; another tokenizer may join over the seam.
    """
    text, tokens = before
    while packed.kept:
        whole = count(text + packed.text)
        if whole <= budget:
            return replace(packed, token_count=whole - tokens)
        packed = packed.without_last()
    return packed


def fit_sum(
    sections: Mapping[Section, Packed], budget: int, count: Count
) -> tuple[dict[Section, Packed], str, int]:
    """All sections, their text and its tokens; last items are taken out while it is over.

    Sections that fit each for itself are over together only where tokens don't add up.
    """
    fitted = dict(sections)
    while True:
        text = "".join(packed.text for packed in fitted.values())
        tokens = count(text)
        if tokens <= budget:
            return fitted, text, tokens
        last = next(section for section in reversed(fitted) if fitted[section].kept)
        shorter = fitted[last].without_last()
        fitted[last] = replace(shorter, token_count=count(shorter.text))
