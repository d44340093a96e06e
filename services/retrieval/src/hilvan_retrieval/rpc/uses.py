"""The use cases behind the wire, and what all of its methods share."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as rpc
from hilvan_kit.auth import PermissionDenied, Reason, Role
from hilvan_kit.deadlines import Deadline
from hilvan_kit.guards import principal
from hilvan_retrieval.usecases.candidate import Retriever
from hilvan_retrieval.usecases.consolidation import Consolidator
from hilvan_retrieval.usecases.entry import EntryWriter
from hilvan_retrieval.usecases.entry_read import EntryReader
from hilvan_retrieval.usecases.generation import OpenIndexes
from hilvan_retrieval.usecases.index import IndexChecker
from hilvan_retrieval.usecases.policy import PolicyBook

Context = Any
"""grpc.aio's servicer context; its generics say nothing that is used here."""


@dataclass(frozen=True, slots=True)
class UseCases:
    """The use cases behind the wire, and the clock of the edge."""

    retriever: Retriever
    reader: EntryReader
    writer: EntryWriter
    indexes: OpenIndexes
    checker: IndexChecker
    consolidator: Consolidator
    policies: PolicyBook
    now: Callable[[], datetime]
    default_deadline_seconds: float

    def deadline(self, context: Context) -> Deadline:
        """The call's deadline."""
        return Deadline.of(context, self.default_deadline_seconds)


class Methods(rpc.RetrievalServiceServicer):
    """Some of the service's methods: they translate, validate, delegate."""

    def __init__(self, uses: UseCases) -> None:
        """Take the use cases."""
        self._uses = uses


def service_tenant() -> str:
    """The tenant of a service. Raises PermissionDenied for anybody else."""
    who = principal()
    if who.role is not Role.SERVICE:
        raise PermissionDenied(Reason.TENANT_NOT_ALLOWED)
    return who.tenant
