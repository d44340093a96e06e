"""The use cases behind the wire."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hilvan_kit.deadlines import Deadline
from hilvan_retrieval.usecases.checking import Checker
from hilvan_retrieval.usecases.indexes import Indexes
from hilvan_retrieval.usecases.policies import PolicyBook
from hilvan_retrieval.usecases.reading import Reader
from hilvan_retrieval.usecases.retrieving import Retriever
from hilvan_retrieval.usecases.writing import Writer

Context = Any
"""grpc.aio's servicer context; its generics say nothing that is used here."""


@dataclass(frozen=True, slots=True)
class Uses:
    """The use cases behind the wire, and the clock of the edge."""

    retriever: Retriever
    reader: Reader
    writer: Writer
    indexes: Indexes
    checker: Checker
    policies: PolicyBook
    now: Callable[[], datetime]
    default_deadline_seconds: float

    def deadline(self, context: Context) -> Deadline:
        """The call's deadline."""
        return Deadline.of(context, self.default_deadline_seconds)
