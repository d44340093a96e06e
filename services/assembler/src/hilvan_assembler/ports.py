"""What assembly asks of the outside."""

from collections.abc import Callable
from typing import Protocol

from hilvan_assembler.core.evidence import Conflict


class Tokenizer(Protocol):
    """Counts tokens."""

    @property
    def name(self) -> str:
        """What a request asks for."""

    @property
    def count(self) -> Callable[[str], int]:
        """The number of tokens of a text; 0 for the empty text, the same every time."""


class ConflictJudge(Protocol):
    """Tells whether two statements can't both hold."""

    def __call__(self, older: str, newer: str) -> Conflict | None:
        """The conflict with its evidence, or None. Pure: the same texts, the same answer."""
