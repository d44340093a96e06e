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


class Tokenizers(Protocol):
    """The tokenizers that requests may name."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that `get` knows."""

    def get(self, name: str = "") -> Tokenizer:
        """The tokenizer of that name; of no name the default one. KeyError for an unknown one."""
