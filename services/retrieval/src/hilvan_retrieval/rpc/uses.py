"""The use cases behind the wire, and what all of its methods share."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as rpc
from hilvan_kit.auth import PermissionDenied, Reason, Role
from hilvan_kit.deadlines import Deadline
from hilvan_kit.guards import principal
from hilvan_retrieval.usecases.checking import Checker
from hilvan_retrieval.usecases.consolidating import Consolidator
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
    consolidator: Consolidator
    policies: PolicyBook
    now: Callable[[], datetime]
    default_deadline_seconds: float

    def deadline(self, context: Context) -> Deadline:
        """The call's deadline."""
        return Deadline.of(context, self.default_deadline_seconds)


class Methods(rpc.RetrievalServiceServicer):
    """Some of the service's methods: they translate, validate, delegate."""

    def __init__(self, uses: Uses) -> None:
        """Take the use cases."""
        self._uses = uses


def service_tenant() -> str:
    """The tenant of a service. Raises PermissionDenied for anybody else."""
    who = principal()
    if who.role is not Role.SERVICE:
        raise PermissionDenied(Reason.TENANT_NOT_ALLOWED)
    return who.tenant
