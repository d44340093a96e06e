"""The protos and docs/wire.md say what the services do."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.api import field_behavior_pb2
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from hilvan.assembler.v1 import assembler_service_pb2
from hilvan.assembler.v1.error_reason_pb2 import ErrorReason as AssemblerReason
from hilvan.curation.v1 import curation_service_pb2
from hilvan.curation.v1.error_reason_pb2 import ErrorReason as CurationReason
from hilvan.retrieval.v1 import retrieval_service_pb2 as retrieval_pb
from hilvan.retrieval.v1.error_reason_pb2 import ErrorReason as RetrievalReason
from hilvan_client import Hilvan, HilvanError, InvalidRequest, NotBuilt

ROOT = Path(__file__).resolve().parents[2]
WIRE = (ROOT / "docs/wire.md").read_text(encoding="utf-8")
METHOD_NAME = re.compile(r"`([A-Z][a-z]\w+)`")
UNBUILT = frozenset(METHOD_NAME.findall(WIRE.split("## Not built yet")[1].split("\n## ")[0]))
METHODS: list[MethodDescriptor] = [
    method
    for file, name in (
        (retrieval_pb.DESCRIPTOR, "RetrievalService"),
        (curation_service_pb2.DESCRIPTOR, "CurationService"),
        (assembler_service_pb2.DESCRIPTOR, "AssemblerService"),
    )
    for method in file.services_by_name[name].methods
]
BUILT = [method for method in METHODS if method.name not in UNBUILT]
REASONS = {
    "retrieval": RetrievalReason.keys(),
    "curation": CurationReason.keys(),
    "assembler": AssemblerReason.keys(),
}


def name_of(method: object) -> str:
    """How a test with this parameter is called."""
    return method.name if isinstance(method, MethodDescriptor) else str(method)


async def ask(
    environment: Mapping[str, str], method: MethodDescriptor, request: Message
) -> HilvanError | None:
    """Call a method in a tenant of our own; what it failed with."""
    service = method.containing_service.name.removesuffix("Service").lower()
    async with Hilvan.connect(
        environment["HILVAN_RETRIEVAL"],
        environment["HILVAN_CURATION"],
        environment["HILVAN_ASSEMBLER"],
        tenant="docs",
    ) as hilvan:
        call = getattr(getattr(hilvan, service), method.name)
        try:
            if method.server_streaming:
                answers = call(iter([request]) if method.client_streaming else request)
                async for _ in answers:
                    pass
            else:
                await call(request)
        except HilvanError as error:
            return error
    return None


def empty(method: MethodDescriptor) -> Message:
    """A request without any field."""
    return GetMessageClass(method.input_type)()


def is_required(field: FieldDescriptor) -> bool:
    """Whether the proto says REQUIRED."""
    behavior = field.GetOptions().Extensions[field_behavior_pb2.field_behavior]
    return field_behavior_pb2.FieldBehavior.REQUIRED in behavior


def inner(descriptor: Any) -> Iterator[FieldDescriptor]:
    """Fields that are messages of ours and no alternatives."""
    for field in descriptor.fields:
        ours = field.message_type and field.message_type.full_name.startswith("hilvan.")
        if ours and (field.containing_oneof is None or field.containing_oneof.name[0] == "_"):
            yield field


def fill(message: Message) -> None:
    """Put an empty message wherever one of ours can stand, at any depth."""
    for field in inner(message.DESCRIPTOR):
        value = getattr(message, field.name)
        if field.is_repeated:
            fill(value.add())
        else:
            value.SetInParent()
            fill(value)


def required(descriptor: Any, prefix: str = "") -> set[str]:
    """Paths of the REQUIRED fields that a filled message still lacks."""
    messages = list(inner(descriptor))
    paths = {
        f"{prefix}{field.name}"
        for field in descriptor.fields
        if is_required(field) and field not in messages
    }
    for field in messages:
        place = f"{prefix}{field.name}[0]." if field.is_repeated else f"{prefix}{field.name}."
        paths |= required(field.message_type, place)
    return paths


async def test_the_wire_page_lists_exactly_the_methods_that_are_not_built(
    environment: Mapping[str, str],
) -> None:
    """A method answers UNIMPLEMENTED if and only if it stands under "Not built yet"."""
    errors = {method.name: await ask(environment, method, empty(method)) for method in METHODS}
    assert {name for name, error in errors.items() if isinstance(error, NotBuilt)} == UNBUILT


def test_the_wire_page_names_every_method() -> None:
    """Each method of each service stands in a row of its table."""
    named = set(METHOD_NAME.findall("\n".join(re.findall(r"^\|.*", WIRE, re.MULTILINE))))
    assert {method.name for method in METHODS} <= named


@pytest.mark.parametrize(
    "method", [m for m in BUILT if any(map(is_required, m.input_type.fields))], ids=name_of
)
async def test_an_empty_request_is_told_every_required_field(
    environment: Mapping[str, str], method: MethodDescriptor
) -> None:
    """INVALID_ARGUMENT names each REQUIRED field of the request, or what is missing inside it."""
    error = await ask(environment, method, empty(method))
    assert isinstance(error, InvalidRequest)
    told = {violation.field.split(".")[0] for violation in error.violations}
    assert {field.name for field in method.input_type.fields if is_required(field)} <= told


# An update needs only the fields that its mask names; a bad record never fails its batch.
OTHERWISE = {"UpdateEntry": {"entry.id", "update_mask"}, "ImportEntries": {"batch"}}


@pytest.mark.parametrize("method", [m for m in BUILT if required(m.input_type)], ids=name_of)
async def test_a_request_of_empty_messages_is_told_every_required_field_inside(
    environment: Mapping[str, str], method: MethodDescriptor
) -> None:
    """INVALID_ARGUMENT names each REQUIRED field at any depth by its full path, all at once."""
    request = empty(method)
    fill(request)
    error = await ask(environment, method, request)
    assert isinstance(error, InvalidRequest)
    told = {violation.field for violation in error.violations}
    assert OTHERWISE.get(method.name, required(method.input_type)) <= told


async def test_an_empty_record_of_an_import_is_told_every_required_field(
    environment: Mapping[str, str],
) -> None:
    """The acknowledgement names each REQUIRED field of a record, and the batch does not fail."""
    record = retrieval_pb.ImportRecord()
    fill(record)
    request = retrieval_pb.ImportEntriesRequest(batch=1, records=[record])
    async with Hilvan.connect(environment["HILVAN_RETRIEVAL"], tenant="docs") as hilvan:
        answers = [each async for each in hilvan.retrieval.ImportEntries(iter([request]))]
    told = {fault.field for answer in answers for fault in answer.faults}
    assert required(record.DESCRIPTOR) <= told


@pytest.mark.parametrize(
    ("service", "reason"),
    [(service, reason) for service, names in REASONS.items() for reason in names[1:]],
)
def test_every_error_reason_has_a_whole_example(service: str, reason: str) -> None:
    """The comment of a reason has the code and the ErrorInfo that a client sees."""
    text = (ROOT / f"proto/hilvan/{service}/v1/error_reason.proto").read_text(encoding="utf-8")
    comment = re.search(rf"((?:^ *//.*\n)+) *{reason} = \d+;", text, re.MULTILINE)
    assert comment
    code = re.search(r"//     code: (\w+)\n", comment[1])
    assert code
    assert code[1] in grpc.StatusCode.__members__
    short = reason.removeprefix("ERROR_REASON_")
    assert f'ErrorInfo {{ reason: "{short}", domain: "{service}.hilvan"' in comment[1]


@pytest.mark.parametrize("service", REASONS)
def test_the_service_config_names_methods_that_exist(service: str) -> None:
    """Each name of a service config, and its health check, is of the service beside it."""
    path = ROOT / f"proto/hilvan/{service}/v1/{service}_service_grpc_service_config.json"
    config = json.loads(path.read_text())
    full = f"hilvan.{service}.v1.{service.capitalize()}Service"
    known = {method.name for method in METHODS if method.containing_service.full_name == full}
    names = [name for method in config["methodConfig"] for name in method["name"]]
    assert {name["service"] for name in names} == {full}
    assert {name["method"] for name in names if "method" in name} <= known
    assert config["healthCheckConfig"]["serviceName"] == full
