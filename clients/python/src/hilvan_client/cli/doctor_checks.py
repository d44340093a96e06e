"""What `hilvan doctor` looks at. Each check answers; none raises."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hilvan_client.cli import index_views
from hilvan_client.errors import HilvanError
from hilvan_client.service_config import Service

if TYPE_CHECKING:
    from hilvan.retrieval.v1.retrieval_service_pb2 import IndexState
    from hilvan_client import Hilvan

# Half a minute moves recency by 0.001 % of its half-life, but breaks tokens that just expired.
_CLOCK_LIMIT = 30.0
# An outbox works off some thousand writes a minute; more than this is falling behind.
_PENDING_LIMIT = 1_000
# Seconds. Every row is tried again within 30 s.
_AGE_LIMIT = 120.0
_PARKED_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: whether it is fine, what was seen, and what to do where it is not."""

    check: str
    ok: bool
    seen: str
    advice: str = ""


def versions() -> Finding:
    """What runs here."""
    packages = ("hilvan", "grpcio", "protobuf")
    return Finding("versions", ok=True, seen=", ".join(f"{p} {_version(p)}" for p in packages))


def health(service: Service, target: str) -> Finding:
    """Whether a service is there and serves."""
    from hilvan_client.health import UNREACHABLE, check

    status = check(service, target)
    advice = {
        "SERVING": "",
        UNREACHABLE: f"start it (`hilvan dev up`) or give --{service} its address",
        "NOT_SERVING": "it waits for what it needs, or is stopping: see its log",
    }.get(status, f"is it {service} that listens there?")
    return Finding(f"{service} health", ok=not advice, seen=f"{status} at {target}", advice=advice)


def contract(service: Service, target: str) -> Finding:
    """Whether a server has the methods that this client knows, by reflection."""
    name = f"{service} contract"
    try:
        theirs, ours = _server_methods(service, target), _own_methods(service)
    except Exception as error:  # noqa: BLE001 - reflection may be off, or answer anything
        return Finding(name, ok=True, seen=f"not compared: {type(error).__name__}")
    missing, more = sorted(ours - theirs), sorted(theirs - ours)
    if missing:
        seen = f"the server lacks {', '.join(missing)}"
        return Finding(name, ok=False, seen=seen, advice="update the server")
    if more:
        seen = f"the server also has {', '.join(more)}"
        return Finding(name, ok=False, seen=seen, advice="update this client")
    return Finding(name, ok=True, seen=f"{len(ours)} methods, the same on both sides")


async def record(hilvan: "Hilvan") -> list[Finding]:
    """What the indexes hold and how far they are behind, the record, and retrieval's clock."""
    from hilvan.retrieval.v1.retrieval_service_pb2 import GetIndexStateRequest

    try:
        state = await hilvan.retrieval.GetIndexState(GetIndexStateRequest())
    except HilvanError as error:
        return [Finding("indexes", ok=False, seen=str(error), advice="see retrieval's log")]
    now = state.read_time.ToNanoseconds() / 1e9
    seen = f"{state.entry_count} entries; {state.embedding_model}, {state.embedding_dimensions}-d"
    return [
        *(_index(index, now) for index in state.indexes),
        Finding("record", ok=True, seen=seen),
        _clock(now),
    ]


def _index(index: "IndexState", now: float) -> Finding:
    from hilvan.common.v1.report_pb2 import PART_STATUS_OK
    from hilvan.retrieval.v1.retrieval_service_pb2 import GENERATION_STATE_BUILDING

    seen = (
        f"{index_views.state_name(index)}, {index_views.status_name(index)}, {index.engine},"
        f" {index.document_count} documents, {index.pending_count} pending,"
        f" {index.parked_count} parked"
    )
    age = 0.0
    if index.HasField("oldest_pending_time"):
        age = now - index.oldest_pending_time.ToNanoseconds() / 1e9
        seen += f", the oldest waits for {age:.0f} s"
    is_building = index.state == GENERATION_STATE_BUILDING
    if is_building:
        seen += f", {index_views.percent(index.filled_share)} filled"
    for write in index.parked[:_PARKED_SHOWN]:
        seen += f"; {write.entry_id} failed {write.attempt_count} times: {write.error}"
    advice = ""
    if index.status != PART_STATUS_OK:
        advice = f"check that {index.engine} runs and is not full"
    elif index.parked_count:
        advice = "mend what they failed with, then `hilvan doctor --repair` tries them again"
    elif not is_building and (index.pending_count > _PENDING_LIMIT or age > _AGE_LIMIT):
        advice = "it is behind: wait, see retrieval's log, or give it more power"
    name = f"{index_views.source_name(index.source)} index {index.generation}"
    return Finding(name, ok=not advice, seen=seen, advice=advice)


def _clock(server: float) -> Finding:
    """How far retrieval's clock, which dates every write, is from ours."""
    behind = time.time() - server
    ok = abs(behind) <= _CLOCK_LIMIT
    advice = "" if ok else "set both clocks by the network (NTP): times decide what holds"
    return Finding("clock", ok=ok, seen=f"the server's differs by {behind:.1f} s", advice=advice)


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _own_methods(service: Service) -> set[str]:
    from importlib import import_module

    module = import_module(f"hilvan.{service}.v1.{service}_service_pb2")
    return set(module.DESCRIPTOR.services_by_name[f"{service.capitalize()}Service"].methods_by_name)


def _server_methods(service: Service, target: str) -> set[str]:
    import grpc
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

    request = reflection_pb2.ServerReflectionRequest(file_containing_symbol=service.full_name)
    with grpc.insecure_channel(target) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        answer = next(iter(stub.ServerReflectionInfo(iter([request]), timeout=3)))
    files = map(
        FileDescriptorProto.FromString, answer.file_descriptor_response.file_descriptor_proto
    )
    return {
        method.name
        for file in files
        for candidate in file.service
        if f"{file.package}.{candidate.name}" == service.full_name
        for method in candidate.method
    }
