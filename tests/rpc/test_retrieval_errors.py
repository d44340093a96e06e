"""How calls fail: every reason of the contract."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import grpc
import pytest
import pytest_asyncio
from google.rpc import code_pb2
from support.retrieval.calls import REQUESTS, Fault, fault, message, owner, request_id
from support.retrieval.record import entry
from support.retrieval.service import Served, serve

from hilvan.retrieval.v1 import error_reason_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_kit.guards import TIMEOUT_KEY
from hilvan_retrieval.errors import SourceUnavailable

Code = grpc.StatusCode


@pytest_asyncio.fixture
async def served() -> AsyncIterator[Served]:
    """Serves a record with two memories of Ana's."""
    async with serve() as running:
        await running.parts.store(entry("m1"), entry("m2", "another thing"))
        yield running


async def invalid_field(served: Served) -> Fault:
    """Ask for an id that is none."""
    return await fault(served, "GetEntry", pb.GetEntryRequest())


async def entry_not_found(served: Served) -> Fault:
    """Ask for an id that nobody has."""
    found = await fault(served, "GetEntry", pb.GetEntryRequest(id="nothing"))
    assert (found.resource.resource_type, found.resource.resource_name) == (
        "hilvan.Entry",
        "nothing",
    )
    return found


async def etag_mismatch(served: Served) -> Fault:
    """Delete what has changed."""
    found = await fault(served, "DeleteEntry", pb.DeleteEntryRequest(id="m1", etag="7"))
    assert found.info.metadata["current_etag"] == "1"
    return found


async def request_id_reused(served: Served) -> Fault:
    """Use a request id for two requests."""
    request = pb.UpsertEntryRequest(entry=message("n1"), request_id=request_id())
    await served.stub.UpsertEntry(request, metadata=served.key("ana"))
    request.entry.text = "another"
    return await fault(served, "UpsertEntry", request)


async def all_sources_failed(served: Served) -> Fault:
    """Ask while both indexes are down."""
    served.parts.vector.error = served.parts.keyword.error = SourceUnavailable("secret host")
    found = await fault(served, "RetrieveCandidates", REQUESTS["RetrieveCandidates"]())
    assert found.retry_seconds == 1
    return found


async def embedder_unavailable(served: Served) -> Fault:
    """Remember without the model."""
    served.parts.embedder.error = SourceUnavailable("secret host")
    found = await fault(served, "Remember", REQUESTS["Remember"]())
    assert found.retry_seconds == 1
    return found


async def not_yet_searchable(served: Served) -> Fault:
    """Wait for an index that takes no writes; on a busy machine the caller may give up first."""
    served.parts.vector.check = refuse_to_write
    request = pb.UpsertEntryRequest(entry=message("n1"), wait=True)
    for seconds in (0.5, 2, 5):
        found = await fault(served, "UpsertEntry", request, seconds=seconds)
        if found.reason:
            break
    assert found.info.metadata["entry_id"] == "n1"
    assert await served.parts.record.store.count("acme") == 3
    return found


async def storage_unavailable(served: Served) -> Fault:
    """Read from a record that is gone."""
    await served.parts.record.store.close()
    found = await fault(served, "GetEntry", REQUESTS["GetEntry"]())
    assert found.retry_seconds == 1
    return found


def refuse_to_write(_: object) -> None:
    """Be down for writes."""
    raise SourceUnavailable("down")


async def credential_missing(served: Served) -> Fault:
    """Call without a key."""
    return await fault(served, "GetEntry", REQUESTS["GetEntry"](), ())


async def credential_invalid(served: Served) -> Fault:
    """Call with a key that nobody made."""
    return await fault(served, "GetEntry", REQUESTS["GetEntry"](), served.key("unknown"))


async def credential_expired(served: Served) -> Fault:
    """Call with an old key."""
    return await fault(served, "GetEntry", REQUESTS["GetEntry"](), served.key("expired"))


async def permission_denied(served: Served) -> Fault:
    """Write an entry of another user."""
    request = pb.UpsertEntryRequest(entry=message(owner=owner("bob")))
    return await fault(served, "UpsertEntry", request)


async def overloaded(served: Served) -> Fault:
    """Come late: of a second that the caller gave, nearly all is gone."""
    late = (*served.key("ana"), (TIMEOUT_KEY, "600000"))
    found = await fault(served, "GetEntry", REQUESTS["GetEntry"](), late, seconds=10)
    assert 0 < found.retry_seconds < 5
    return found


async def reindex_refused(served: Served) -> Fault:
    """Switch to an index that nobody builds."""
    request = pb.ReindexRequest(step=pb.REINDEX_STEP_SWITCH)
    return await fault(served, "Reindex", request, served.key("service"))


async def consolidation_running(served: Served) -> Fault:
    """Consolidate while another replica does."""
    async with served.parts.record.journal.hold("acme") as is_mine:
        assert is_mine
        found = await fault(served, "Consolidate", pb.ConsolidateRequest(), served.key("service"))
    assert found.retry_seconds == 10
    return found


async def consolidation_not_found(served: Served) -> Fault:
    """Undo what was never done."""
    request = REQUESTS["UndoConsolidation"]()
    found = await fault(served, "UndoConsolidation", request, served.key("service"))
    assert found.resource.resource_name == request.run_id
    return found


async def internal(served: Served) -> Fault:
    """Run into a fault of ours, of which the caller learns a number and nothing else."""
    served.parts.embedder.error = RuntimeError("secret detail")
    found = await fault(served, "Remember", REQUESTS["Remember"]())
    assert found.info.metadata["incident"]
    return found


async def deadline_exceeded(served: Served) -> Fault:
    """Meet a part that gave up at its own deadline."""
    served.parts.embedder.error = TimeoutError("secret detail")
    return await fault(served, "Remember", REQUESTS["Remember"]())


WAYS: Mapping[str, tuple[Code, Callable[[Served], Awaitable[Fault]]]] = {
    "INVALID_FIELD": (Code.INVALID_ARGUMENT, invalid_field),
    "ENTRY_NOT_FOUND": (Code.NOT_FOUND, entry_not_found),
    "ETAG_MISMATCH": (Code.ABORTED, etag_mismatch),
    "REQUEST_ID_REUSED": (Code.ALREADY_EXISTS, request_id_reused),
    "ALL_SOURCES_FAILED": (Code.UNAVAILABLE, all_sources_failed),
    "EMBEDDER_UNAVAILABLE": (Code.UNAVAILABLE, embedder_unavailable),
    "NOT_YET_SEARCHABLE": (Code.DEADLINE_EXCEEDED, not_yet_searchable),
    "CREDENTIAL_MISSING": (Code.UNAUTHENTICATED, credential_missing),
    "CREDENTIAL_INVALID": (Code.UNAUTHENTICATED, credential_invalid),
    "CREDENTIAL_EXPIRED": (Code.UNAUTHENTICATED, credential_expired),
    "PERMISSION_DENIED": (Code.PERMISSION_DENIED, permission_denied),
    "OVERLOADED": (Code.RESOURCE_EXHAUSTED, overloaded),
    "STORAGE_UNAVAILABLE": (Code.UNAVAILABLE, storage_unavailable),
    "REINDEX_REFUSED": (Code.FAILED_PRECONDITION, reindex_refused),
    "CONSOLIDATION_RUNNING": (Code.ABORTED, consolidation_running),
    "CONSOLIDATION_NOT_FOUND": (Code.NOT_FOUND, consolidation_not_found),
    "INTERNAL": (Code.INTERNAL, internal),
    "DEADLINE_EXCEEDED": (Code.DEADLINE_EXCEEDED, deadline_exceeded),
}


@pytest.mark.parametrize("reason", sorted(error_reason_pb2.ErrorReason.keys()))
async def test_every_reason_is_given(served: Served, reason: str) -> None:
    """With its code, our domain, and nothing about engines, hosts or classes in its message."""
    name = reason.removeprefix("ERROR_REASON_")
    if name == "UNSPECIFIED":
        return
    code, provoke = WAYS[name]
    found = await provoke(served)
    assert (found.code, found.reason) == (code, name)
    assert found.info.domain == "retrieval.hilvan"
    assert code_pb2.Code.Name(found.status.code) == code.name
    assert found.status.message
    assert "secret" not in str(found.status)
