"""Calls to retrieval by the name of the method, and what an error says."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from support.retrieval.service import PATIENCE_S, Served

from hilvan.common.v1 import entry_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_kit.failures import DETAILS_KEY

METHODS: Mapping[str, Any] = pb.DESCRIPTOR.services_by_name["RetrievalService"].methods_by_name
SERVICE_ONLY = frozenset(
    {
        "PutSpacePolicy",
        "DeleteSpacePolicy",
        "PutUserMutes",
        "ConfirmPolicies",
        "Consolidate",
        "UndoConsolidation",
        "ListConsolidations",
        "Reindex",
        "CheckIndexes",
    }
)

RUN_ID = "00000000-0000-4000-8000-000000000000"

Metadata = Sequence[tuple[str, str]]


def owner(user: str = "ana", axis: Any = entry_pb2.AXIS_USER) -> entry_pb2.Owner:
    """Make an owner, a user unless told otherwise."""
    return entry_pb2.Owner(axis=axis, id=user)


def message(entry_id: str = "m1", text: str = "a statement", **values: Any) -> entry_pb2.Entry:
    """Make an entry of Ana's as a caller gives it."""
    base: dict[str, Any] = {"layer": entry_pb2.LAYER_MEMORY, "owner": owner()}
    return entry_pb2.Entry(id=entry_id, text=text, **(base | values))


REQUESTS: Mapping[str, Callable[[], Any]] = {
    "RetrieveCandidates": lambda: pb.RetrieveCandidatesRequest(
        query="statement", layers=[entry_pb2.LAYER_MEMORY]
    ),
    "SearchEntries": lambda: pb.SearchEntriesRequest(
        query="statement", source=entry_pb2.SOURCE_KEYWORD
    ),
    "UpsertEntry": lambda: pb.UpsertEntryRequest(entry=message()),
    "GetEntry": lambda: pb.GetEntryRequest(id="m1"),
    "BatchGetEntries": lambda: pb.BatchGetEntriesRequest(ids=["m1"]),
    "ListEntries": pb.ListEntriesRequest,
    "UpdateEntry": lambda: pb.UpdateEntryRequest(
        entry=entry_pb2.Entry(id="m1", text="changed"),
        update_mask={"paths": ["text"]},  # type: ignore[arg-type]  # a dictionary will do
    ),
    "DeleteEntry": lambda: pb.DeleteEntryRequest(id="m1"),
    "SupersedeEntry": lambda: pb.SupersedeEntryRequest(id="m1", superseded_by="m2"),
    "ImportEntries": lambda: pb.ImportEntriesRequest(
        batch=1, records=[pb.ImportRecord(entry=message())]
    ),
    "ExportEntries": pb.ExportEntriesRequest,
    "Remember": lambda: pb.RememberRequest(entry=message("r1", "something else")),
    "RecordAccesses": lambda: pb.RecordAccessesRequest(ids=["m1"]),
    "GetIndexState": pb.GetIndexStateRequest,
    "PutSpacePolicy": lambda: pb.PutSpacePolicyRequest(policy=pb.SpacePolicy(space_id="s1")),
    "DeleteSpacePolicy": lambda: pb.DeleteSpacePolicyRequest(space_id="s1"),
    "PutUserMutes": lambda: pb.PutUserMutesRequest(user="ana"),
    "ConfirmPolicies": pb.ConfirmPoliciesRequest,
    "RecordConflicts": lambda: pb.RecordConflictsRequest(
        conflicts=[pb.Conflict(older_id="m1", newer_id="m2", evidence="moved")]
    ),
    "Consolidate": pb.ConsolidateRequest,
    "UndoConsolidation": lambda: pb.UndoConsolidationRequest(run_id=RUN_ID),
    "ListConsolidations": pb.ListConsolidationsRequest,
    "Reindex": lambda: pb.ReindexRequest(step=pb.REINDEX_STEP_BEGIN),
    "CheckIndexes": pb.CheckIndexesRequest,
}
"""A good request of Ana's for each method, given that she has the entries m1 and m2.

The run of `UndoConsolidation` is nobody's.
"""


async def invoke(
    served: Served,
    method: str,
    request: Message | Sequence[Message],
    metadata: Metadata | None = None,
    seconds: float = PATIENCE_S,
) -> list[Any]:
    """Call a method as Ana, or with other metadata; all messages of the answer come back."""
    metadata = served.key("ana") if metadata is None else tuple(metadata)
    call = getattr(served.stub, method)
    sent: Any = request
    if METHODS[method].client_streaming:
        sent = iter([request] if isinstance(request, Message) else request)
    answer = call(sent, metadata=metadata, timeout=seconds)
    if METHODS[method].server_streaming:
        return [each async for each in answer]
    return [await answer]


@dataclass(frozen=True, slots=True)
class Fault:
    """An error as the caller sees it."""

    code: grpc.StatusCode
    status: status_pb2.Status
    info: error_details_pb2.ErrorInfo
    fields: dict[str, str]
    resource: error_details_pb2.ResourceInfo
    retry_seconds: float

    @property
    def reason(self) -> str:
        """The reason of its ErrorInfo."""
        return str(self.info.reason)


async def fault(
    served: Served, method: str, request: Message | Sequence[Message], *args: Any, **options: Any
) -> Fault:
    """Make a call that must fail, and tell how."""
    try:
        answer = await invoke(served, method, request, *args, **options)
    except grpc.aio.AioRpcError as error:
        return read(error)
    raise AssertionError(f"{method} answered {answer}")


def read(error: grpc.aio.AioRpcError) -> Fault:
    """Unpack the rich status; an error without one has no reason."""
    status = status_pb2.Status()
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY:
            status.MergeFromString(value if isinstance(value, bytes) else value.encode())
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    resource, retry = error_details_pb2.ResourceInfo(), error_details_pb2.RetryInfo()
    for detail in status.details:
        assert any(detail.Unpack(each) for each in (info, bad, resource, retry))
    fields = {each.field: each.description for each in bad.field_violations}
    seconds = retry.retry_delay.ToTimedelta().total_seconds()
    return Fault(error.code(), status, info, fields, resource, seconds)


def request_id() -> str:
    """Make a request id."""
    return str(uuid.uuid4())
