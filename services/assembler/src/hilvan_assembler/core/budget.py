"""Packs rendered items into their tiers. Tokens are those of the rendered bytes.

Two ways to fill a tier. *Ranked* (memories, episodes, procedures, notes): in rank order; one that
does not fit is skipped and the next may fit. *Strict prefix* (identity, pins): the first that
does not fit stops everything after it, because an order that people set is never reshuffled to
fill a gap.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hilvan_assembler.model.kind import Reason

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Piece:
    """One rendered item."""

    id: str
    text: str


@dataclass(slots=True)
class Packed:
    """What of a section fitted: indexes of pieces in order, their tokens, and why the rest not."""

    pieces: Sequence[Piece]
    opening: str
    closing: str
    kept: list[int] = field(default_factory=list)
    tokens: dict[int, int] = field(default_factory=dict)
    left_out: dict[int, Reason] = field(default_factory=dict)
    token_count: int = 0

    @property
    def text(self) -> str:
        """The rendered section; nothing at all without an item."""
        if not self.kept:
            return ""
        return "".join(
            (self.opening, *(self.pieces[index].text for index in self.kept), self.closing)
        )

    def drop_last(self) -> None:
        """Take the last item out again."""
        self.left_out[self.kept.pop()] = Reason.OVER_BUDGET


def pack(
    pieces: Sequence[Piece],
    frame: tuple[str, str],
    budget: int,
    count: Count,
    *,
    strict: bool,
    before: str = "",
    admit: Callable[[int], bool] = lambda _: True,
) -> Packed:
    """Fill one section with at most ``budget`` tokens, its own lines included.

    ``before`` is a text that is paid from the same budget. ``admit`` has the last word on a
    piece that fits, by its index; one that it turns away takes no room.
    """
    packed = Packed(pieces, *frame)
    frame_tokens = sum(map(count, frame))
    before_tokens = count(before)
    used = before_tokens + frame_tokens
    cut = False
    for index, piece in enumerate(pieces):
        if cut:
            packed.left_out[index] = Reason.AFTER_CUT
            continue
        tokens = packed.tokens[index] = count(piece.text)
        if used + tokens > budget:
            too_large = frame_tokens + tokens > budget
            packed.left_out[index] = Reason.TOO_LARGE if too_large else Reason.OVER_BUDGET
            cut = strict
        elif admit(index):
            packed.kept.append(index)
            used += tokens
    _fit(packed, (before, before_tokens), budget, count)
    return packed


def _fit(packed: Packed, before: tuple[str, int], budget: int, count: Count) -> None:
    """Count the whole text, and take out the last item while it is over.

    Tokens of parts add up for tiktoken's encodings; another tokenizer may join over the seam.
    """
    text, tokens = before
    while packed.kept:
        whole = count(text + packed.text)
        packed.token_count = whole - tokens
        if whole <= budget:
            return
        packed.drop_last()
    packed.token_count = 0


def fit_sum(sections: Sequence[Packed], budget: int, count: Count) -> tuple[str, int]:
    """The text of all sections and its tokens; last items are taken out while it is over.

    Sections that fit each for itself are over together only where tokens don't add up.
    """
    while True:
        text = "".join(each.text for each in sections)
        tokens = count(text)
        if tokens <= budget:
            return text, tokens
        last = next(each for each in reversed(sections) if each.kept)
        last.drop_last()
        last.token_count = count(last.text)
