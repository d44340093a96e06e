"""Packs rendered items into their tiers. Tokens are those of the rendered bytes.

Two ways to fill a tier. *Ranked* (memories, episodes, procedures, notes): in rank order; one that
does not fit is skipped and the next may fit. *Strict prefix* (identity, pins): the first that
does not fit stops everything after it, because an order that people set is never reshuffled to
fill a gap.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hilvan_assembler.model import Reason

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Piece:
    """One rendered item."""

    id: str
    text: str


@dataclass(slots=True)
class Packed:
    """What of a section fitted: indexes of pieces in order, their tokens, and why the rest not."""

    opening: str
    closing: str
    kept: list[int] = field(default_factory=list)
    tokens: dict[int, int] = field(default_factory=dict)
    left_out: dict[int, Reason] = field(default_factory=dict)
    text: str = ""
    token_count: int = 0


def pack(
    pieces: Sequence[Piece], opening: str, closing: str, budget: int, count: Count, *, strict: bool
) -> Packed:
    """Fill one section with at most ``budget`` tokens, its own lines included."""
    packed = Packed(opening, closing)
    frame = count(opening) + count(closing)
    used = frame
    cut = False
    for index, piece in enumerate(pieces):
        tokens = count(piece.text)
        packed.tokens[index] = tokens
        if cut:
            packed.left_out[index] = Reason.AFTER_CUT
        elif used + tokens <= budget:
            packed.kept.append(index)
            used += tokens
        else:
            too_large = frame + tokens > budget
            packed.left_out[index] = Reason.TOO_LARGE if too_large else Reason.OVER_BUDGET
            cut = strict
    _fit(packed, pieces, budget, count)
    return packed


def _fit(packed: Packed, pieces: Sequence[Piece], budget: int, count: Count) -> None:
    """Count the whole text, and take out the last item while it is over.

    Tokens of parts add up for tiktoken's encodings; another tokenizer may join over the seam.
    """
    while packed.kept:
        body = "".join(pieces[index].text for index in packed.kept)
        packed.text = packed.opening + body + packed.closing
        packed.token_count = count(packed.text)
        if packed.token_count <= budget:
            return
        packed.left_out[packed.kept.pop()] = Reason.OVER_BUDGET
    packed.text, packed.token_count = "", 0
