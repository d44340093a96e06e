"""`Retrieval` over gRPC."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import grpc
import structlog
from google.protobuf.timestamp_pb2 import Timestamp

from hilvan.common.v1 import entry_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as rpc
from hilvan_curation.errors import RetrievalUnavailable
from hilvan_curation.model.passage import NoteEntry
from hilvan_curation.model.policy import SpacePolicy
from hilvan_kit.auth import TENANT_KEY

PAGE = 1_000
OWNERS_MOST = 100
CALL_SECONDS = 10.0

_log = structlog.get_logger()

_AXES = {
    "user": entry_pb2.AXIS_USER,
    "project": entry_pb2.AXIS_PROJECT,
    "space": entry_pb2.AXIS_SPACE,
}
_AXIS_NAMES = {number: name for name, number in _AXES.items()}


class GrpcRetrieval:
    """Tells retrieval, as a service that acts for a tenant."""

    def __init__(self, channel: grpc.aio.Channel, credential: str) -> None:
        """``credential`` is a service's key or token; empty in development."""
        self._channel = channel
        self._stub: Any = rpc.RetrievalServiceStub(channel)
        self._credential = (("authorization", f"Bearer {credential}"),) if credential else ()

    async def put_policy(self, tenant: str, policy: SpacePolicy) -> None:
        """Set a space's policy."""
        message = pb.SpacePolicy(
            space_id=policy.space_id,
            readers=sorted(policy.readers),
            writers=sorted(policy.writers),
            project_ids=sorted(policy.project_ids),
            mutes=[
                pb.CategoryMute(
                    owner=entry_pb2.Owner(axis=_AXES[mute.axis.value], id=mute.owner_id),
                    category=mute.category,
                    until_time=_stamp(mute.muted_until),
                )
                for mute in policy.mutes
            ],
        )
        await self._call(
            tenant, self._stub.PutSpacePolicy, pb.PutSpacePolicyRequest(policy=message)
        )

    async def delete_policy(self, tenant: str, space_id: str) -> None:
        """Forget a space's policy."""
        request = pb.DeleteSpacePolicyRequest(space_id=space_id)
        await self._call(tenant, self._stub.DeleteSpacePolicy, request)

    async def confirm_policies(self, tenant: str) -> None:
        """Say that what was told holds."""
        await self._call(tenant, self._stub.ConfirmPolicies, pb.ConfirmPoliciesRequest())

    async def note_entries(self, tenant: str, owners: Sequence[str]) -> dict[str, str]:
        """Fingerprints of the passages in the store, page by page."""
        found: dict[str, str] = {}
        for start in range(0, len(owners), OWNERS_MOST):
            request = pb.ListEntriesRequest(
                owners=[_owner(each) for each in owners[start : start + OWNERS_MOST]],
                layers=[entry_pb2.LAYER_NOTE],
                page_size=PAGE,
            )
            more = True
            while more:
                page = await self._call(tenant, self._stub.ListEntries, request)
                found |= {each.id: _entry(each).fingerprint for each in page.entries}
                request.page_token = page.next_page_token
                more = bool(page.next_page_token)
        return found

    async def put_notes(self, tenant: str, entries: Sequence[NoteEntry]) -> None:
        """Store passages by the import, which may be repeated.

        One that retrieval refuses is logged and not tried again: it would be refused again.
        """
        request = pb.ImportEntriesRequest(
            batch=1, records=[pb.ImportRecord(entry=_message(each)) for each in entries]
        )

        async def once() -> AsyncIterator[pb.ImportEntriesRequest]:
            yield request

        async with _translated():
            call = self._stub.ImportEntries(
                once(), timeout=CALL_SECONDS, metadata=self._metadata(tenant)
            )
            async for answer in call:
                for fault in answer.faults:
                    _log.warning(
                        "passage refused",
                        tenant=tenant,
                        entry_id=fault.id,
                        field=fault.field,
                        fault=fault.description,
                    )

    async def delete_notes(self, tenant: str, ids: Sequence[str]) -> None:
        """Forget passages."""
        for entry_id in ids:
            request = pb.DeleteEntryRequest(id=entry_id)
            await self._call(tenant, self._stub.DeleteEntry, request, missing_is_fine=True)

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close()

    async def _call(
        self,
        tenant: str,
        method: Callable[..., Any],
        request: Any,
        *,
        missing_is_fine: bool = False,
    ) -> Any:
        async with _translated(missing_is_fine=missing_is_fine):
            return await method(request, timeout=CALL_SECONDS, metadata=self._metadata(tenant))

    def _metadata(self, tenant: str) -> tuple[tuple[str, str], ...]:
        return (*self._credential, (TENANT_KEY, tenant))


@asynccontextmanager
async def _translated(*, missing_is_fine: bool = False) -> AsyncIterator[None]:
    try:
        yield
    except grpc.aio.AioRpcError as error:
        if missing_is_fine and error.code() is grpc.StatusCode.NOT_FOUND:
            return
        raise RetrievalUnavailable(f"{error.code().name}: {error.details()}") from error


def _message(entry: NoteEntry) -> entry_pb2.Entry:
    return entry_pb2.Entry(
        id=entry.id,
        layer=entry_pb2.LAYER_NOTE,
        owner=_owner(entry.owner),
        title=entry.title,
        text=entry.text,
        tags=entry.tags,
        create_time=_stamp(entry.time),
        update_time=_stamp(entry.time),
        origin=entry_pb2.Origin(
            kind="note", uri=entry.note_id, thread=entry.note_id, position=entry.position
        ),
    )


def _entry(message: entry_pb2.Entry) -> NoteEntry:
    return NoteEntry(
        id=message.id,
        owner=f"{_AXIS_NAMES[message.owner.axis]}:{message.owner.id}",
        title=message.title,
        text=message.text,
        tags=tuple(message.tags),
        note_id=message.origin.uri,
        position=message.origin.position,
        time=message.update_time.ToDatetime(UTC),
    )


def _owner(key: str) -> entry_pb2.Owner:
    axis, _, owner_id = key.partition(":")
    return entry_pb2.Owner(axis=_AXES[axis], id=owner_id)


def _stamp(time: datetime | None) -> Timestamp | None:
    if time is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(time)
    return stamp
