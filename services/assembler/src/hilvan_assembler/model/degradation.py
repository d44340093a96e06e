"""A part of an answer that is missing."""

from dataclasses import dataclass

from hilvan_assembler.model.kind import PartStatus


@dataclass(frozen=True, slots=True)
class Degradation:
    """A part of the answer that is missing."""

    part: str
    status: PartStatus
