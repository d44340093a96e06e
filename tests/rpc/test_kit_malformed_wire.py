"""Broken bytes on the wire: every method of every service, behind the guards."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc import aio
from support.kit.server import SHAPES, call, read_error, refusal, serve, shapes, start

from hilvan.assembler.v1 import assembler_service_pb2 as assembler
from hilvan.curation.v1 import curation_service_pb2 as curation
from hilvan.retrieval.v1 import retrieval_service_pb2 as retrieval
from hilvan_kit.auth import DevelopmentAuthenticator
from hilvan_kit.failures import ErrorTable
from hilvan_kit.guards import standard_guards
from hilvan_kit.validation import Faults, refuse, scan

GUARDS = standard_guards(DevelopmentAuthenticator(), ErrorTable("test.hilvan", {}))
SERVICES: tuple[Any, ...] = (
    retrieval.DESCRIPTOR.services_by_name["RetrievalService"],
    curation.DESCRIPTOR.services_by_name["CurationService"],
    assembler.DESCRIPTOR.services_by_name["AssemblerService"],
)
FRAMES_A_METHOD = 60
MOST_IN_FLIGHT = 32

LONE_SURROGATE = b"\x0a\x04a\xed\xa0\x80"  # field 1, four bytes: a, U+D800


async def echo(text: str, _: Any) -> str:
    """Answer what was asked."""
    return text


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("data", "violation"),
    [
        (LONE_SURROGATE, ("value", "is not UTF-8 (a lone surrogate perhaps)")),
        (LONE_SURROGATE[:-1], ("", "the message is cut off or is not protobuf")),
        (b"GET / HTTP/1.1", ("", "the message is cut off or is not protobuf")),
    ],
)
async def test_broken_bytes_are_the_callers_fault(
    shape: str, data: bytes, violation: tuple[str, str]
) -> None:
    """What can't be parsed is INVALID_ARGUMENT and names the field, whatever the shape."""
    async with serve(GUARDS, shapes(echo)) as channel:
        refused = await refusal(call(channel, shape, data))
    assert refused.code is grpc.StatusCode.INVALID_ARGUMENT
    assert refused.info.reason == "INVALID_FIELD"
    assert refused.violations == [violation]


async def test_a_broken_message_ends_a_stream_where_it_is() -> None:
    """The messages before it are answered; the broken one ends the call."""
    async with serve(GUARDS, shapes(echo)) as channel:
        started = start(channel, "stream_stream", "a", "b", LONE_SURROGATE, "c")
        assert [(await started.read()).value for _ in range(2)] == ["a", "b"]
        with pytest.raises(aio.AioRpcError) as caught:
            await started.read()
    assert read_error(caught.value).violations[0][0] == "value"


def scanning(service: Any) -> grpc.GenericRpcHandler:
    """All methods of a service, which check their requests and answer with nothing."""

    def check(request: Message) -> None:
        faults = Faults()
        scan(request, faults)
        refuse(faults)

    async def answer(request: Message, _: Any) -> bytes:
        check(request)
        return b""

    async def answer_stream(request: Message, _: Any) -> AsyncIterator[bytes]:
        check(request)
        yield b""

    async def answer_each(requests: AsyncIterator[Message], _: Any) -> AsyncIterator[bytes]:
        async for request in requests:
            check(request)
            yield b""

    handlers: dict[tuple[bool, bool], tuple[str, Callable[..., Any]]] = {
        (False, False): ("unary_unary", answer),
        (False, True): ("unary_stream", answer_stream),
        (True, True): ("stream_stream", answer_each),
    }
    made = {}
    for method in service.methods:
        shape, handle = handlers[method.client_streaming, method.server_streaming]
        made[method.name] = getattr(grpc, f"{shape}_rpc_method_handler")(
            handle, request_deserializer=GetMessageClass(method.input_type).FromString
        )
    return grpc.method_handlers_generic_handler(service.full_name, made)


def fill(message: Message, dice: random.Random, depth: int = 0) -> None:
    """Set about half of the fields to values of their types."""
    for field in message.DESCRIPTOR.fields:
        if dice.random() < 0.5 or depth > 3:
            continue
        if field.message_type is not None:
            held = getattr(message, field.name)
            each = held.add() if field.is_repeated else held
            each.SetInParent()
            fill(each, dice, depth + 1)
        elif field.is_repeated:
            getattr(message, field.name).extend(value(field, dice) for _ in range(2))
        else:
            setattr(message, field.name, value(field, dice))


def value(field: Any, dice: random.Random) -> Any:
    """A value of a scalar field."""
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        text = "".join(dice.choices("aé東\U0001f600 </>", k=dice.randrange(1, 12)))
        return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text
    if field.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return dice.random()
    return dice.randrange(2)


def mutate(data: bytes, dice: random.Random) -> bytes:
    """Change, cut, double or insert bytes in one to three places."""
    frame = bytearray(data or b"\x00")
    for _ in range(dice.randrange(1, 4)):
        at = dice.randrange(len(frame) + 1)
        match dice.randrange(4):
            case 0:
                frame[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                del frame[at : at + dice.randrange(1, 9)]
            case 2:
                frame[at:at] = dice.randbytes(dice.randrange(1, 9))
            case _:
                frame[at:at] = frame[at : at + 16]
    return bytes(frame)


async def test_mutated_frames_are_never_our_fault() -> None:
    """Mutated requests of every method are answered or INVALID_ARGUMENT, never anything else."""
    dice = random.Random(20_240_601)  # noqa: S311 (frames, no secrets)
    codes: Counter[str] = Counter()
    gate = asyncio.Semaphore(MOST_IN_FLIGHT)

    async def send(channel: aio.Channel, path: str, shape: str, frame: bytes) -> None:
        async with gate:
            try:
                started: Any = getattr(channel, shape)(path)(
                    iter([frame]) if shape.startswith("stream") else frame, timeout=60
                )
                if shape.endswith("stream"):
                    [each async for each in started]
                else:
                    await started
                codes["OK"] += 1
            except aio.AioRpcError as error:
                named = error.code().name
                silent = named == "INVALID_ARGUMENT" and not read_error(error).violations
                codes["without a violation" if silent else named] += 1

    methods = [(service, method) for service in SERVICES for method in service.methods]
    async with (
        serve(GUARDS, *(scanning(service) for service in SERVICES)) as channel,
        asyncio.TaskGroup() as group,
    ):
        for service, method in methods * FRAMES_A_METHOD:
            sides = (method.client_streaming, method.server_streaming)
            shape = "_".join("stream" if side else "unary" for side in sides)
            message = GetMessageClass(method.input_type)()
            fill(message, dice)
            frame = mutate(message.SerializeToString(), dice)
            path = f"/{service.full_name}/{method.name}"
            group.create_task(send(channel, path, shape, frame))
    assert set(codes) == {"OK", "INVALID_ARGUMENT"}, codes
    assert codes.total() == FRAMES_A_METHOD * len(methods)
    assert codes["INVALID_ARGUMENT"] > codes.total() / 10
