"""Judging whether two statements contradict each other."""

from typing import Protocol

from hilvan_assembler.model.contradiction import Contradiction


class ContradictionJudge(Protocol):
    """Tells whether two statements can't both hold."""

    def __call__(self, older: str, newer: str) -> Contradiction | None:
        """The contradiction with its evidence, or None. Pure: the same texts, the same answer."""
