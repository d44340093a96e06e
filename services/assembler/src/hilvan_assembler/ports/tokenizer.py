"""Counting tokens."""

from collections.abc import Callable
from typing import Protocol


class Tokenizer(Protocol):
    """Counts tokens."""

    @property
    def name(self) -> str:
        """What a request asks for."""

    @property
    def count(self) -> Callable[[str], int]:
        """The number of tokens of a text; 0 for the empty text, the same every time."""
