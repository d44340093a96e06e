"""Who may call what, and what nobody learns of other people's entries."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import grpc
import pytest
import pytest_asyncio
from google.protobuf.field_mask_pb2 import FieldMask
from support.retrieval.calls import (
    METHODS,
    REQUESTS,
    SERVICE_ONLY,
    Metadata,
    fault,
    invoke,
    message,
    owner,
    read,
)
from support.retrieval.record import AS_ANA, AS_RIVAL, BOB, DESK, entry
from support.retrieval.service import Served, serve

from hilvan.common.v1 import entry_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_kit.auth import TENANT_KEY, USER_KEY

Code = grpc.StatusCode
ATTEMPTS = 2_400
SECRET, MADE_UP = "anas-secret-entry", "nobodys-new-entry"


@pytest_asyncio.fixture
async def served() -> AsyncIterator[Served]:
    """Serves entries of Ana's, one of them the secret, of Bob's, and of the project."""
    async with serve() as running:
        await running.parts.store(
            entry("m1"),
            entry("m2", "another thing"),
            entry(SECRET, "SECRET of ana"),
            entry("bobs", "SECRET of bob", owner=BOB),
            entry("p1", "SECRET of desk", owner=DESK),
        )
        await running.parts.store(entry("theirs", "SECRET of rival"), who=AS_RIVAL)
        yield running


async def code(served: Served, method: str, metadata: Metadata) -> Code:
    """Tell how the method's good request ends."""
    try:
        await invoke(served, method, REQUESTS[method](), metadata)
    except grpc.aio.AioRpcError as error:
        return error.code()
    return Code.OK


@pytest.mark.parametrize("method", sorted(METHODS))
async def test_no_method_is_open(served: Served, method: str) -> None:
    """No key, an unknown, expired or mangled one, or one for somebody else: refused (case 37)."""
    ana = served.key("ana")
    for metadata, expected in (
        ((), Code.UNAUTHENTICATED),
        (served.key("unknown"), Code.UNAUTHENTICATED),
        (served.key("expired"), Code.UNAUTHENTICATED),
        ((("authorization", "Bearer x"),), Code.UNAUTHENTICATED),
        ((*served.key("rival"), (TENANT_KEY, "acme")), Code.PERMISSION_DENIED),
        ((*ana, (TENANT_KEY, "rival")), Code.PERMISSION_DENIED),
        ((*ana, (USER_KEY, "bob")), Code.PERMISSION_DENIED),
        ((*served.key("service"), (TENANT_KEY, "rival")), Code.PERMISSION_DENIED),
    ):
        assert await code(served, method, metadata) is expected


@pytest.mark.parametrize("method", sorted(METHODS))
async def test_roles_open_what_they_should(served: Served, method: str) -> None:
    """What is everybody's is for services that act for nobody; all else is for each on its own."""
    everybody = Code.NOT_FOUND if method == "UndoConsolidation" else Code.OK
    people = Code.PERMISSION_DENIED if method in SERVICE_ONLY else everybody
    assert await code(served, method, served.acting("ana")) is people
    assert await code(served, method, served.key("ana")) in (people, Code.NOT_FOUND)
    # An admin is no owner of Ana's memories.
    admin = await code(served, method, served.key("root"))
    assert admin in (people, Code.NOT_FOUND, Code.PERMISSION_DENIED)
    if method in SERVICE_ONLY:
        assert await code(served, method, served.key("service")) is everybody


async def test_a_bad_request_for_a_service_is_refused_by_role_first(served: Served) -> None:
    """Who may not call a method is told no more of it."""
    for method in SERVICE_ONLY:
        found = await fault(served, method, type(REQUESTS[method]())())
        assert (found.code, found.reason) == (Code.PERMISSION_DENIED, "PERMISSION_DENIED")


PROBES: Mapping[str, Callable[[str, str], Any]] = {
    "GetEntry": lambda name, _: pb.GetEntryRequest(id=name),
    "BatchGetEntries": lambda name, _: pb.BatchGetEntriesRequest(ids=[name]),
    "UpdateEntry": lambda name, _: pb.UpdateEntryRequest(
        entry=entry_pb2.Entry(id=name, text="x", etag="7"), update_mask=FieldMask(paths=["text"])
    ),
    "DeleteEntry": lambda name, _: pb.DeleteEntryRequest(id=name, etag="7"),
    "SupersedeEntry": lambda name, _: pb.SupersedeEntryRequest(
        id=name, superseded_by="own", etag="7"
    ),
    "SupersedeEntry by it": lambda name, _: pb.SupersedeEntryRequest(id="own", superseded_by=name),
    "UpsertEntry with a link": lambda name, user: pb.UpsertEntryRequest(
        entry=message("own", owner=owner(user), superseded_by=name)
    ),
    "Remember with a link": lambda name, user: pb.RememberRequest(
        entry=message("new", "new", owner=owner(user), superseded_by=name)
    ),
    "ImportEntries with a link": lambda name, user: pb.ImportEntriesRequest(
        batch=1,
        records=[
            pb.ImportRecord(entry=message("own", owner=owner(user), superseded_by=name)),
        ],
    ),
    "RecordAccesses": lambda name, _: pb.RecordAccessesRequest(ids=[name]),
    "PutUserMutes": lambda name, user: pb.PutUserMutesRequest(
        user=user, mutes=[pb.EntryMute(entry_id=name)]
    ),
    "RecordConflicts": lambda name, _: pb.RecordConflictsRequest(
        conflicts=[pb.Conflict(older_id=name, newer_id="own")]
    ),
}
"""Requests by somebody's id, of a user who has an entry `own`."""

OWNER_PROBES: Mapping[str, Callable[[entry_pb2.Owner], Any]] = {
    "RetrieveCandidates": lambda whose: pb.RetrieveCandidatesRequest(
        query="SECRET", layers=[entry_pb2.LAYER_MEMORY], owners=[whose]
    ),
    "SearchEntries": lambda whose: pb.SearchEntriesRequest(
        query="SECRET", source=entry_pb2.SOURCE_VECTOR, owners=[whose]
    ),
    "ListEntries": lambda whose: pb.ListEntriesRequest(owners=[whose]),
    "ExportEntries": lambda whose: pb.ExportEntriesRequest(owners=[whose]),
    "UpsertEntry": lambda whose: pb.UpsertEntryRequest(entry=message("new", owner=whose)),
    "Remember": lambda whose: pb.RememberRequest(entry=message("new", owner=whose)),
    "ImportEntries": lambda whose: pb.ImportEntriesRequest(
        batch=1, records=[pb.ImportRecord(entry=message("new", owner=whose))]
    ),
}
"""Requests that name an owner."""

WITHOUT_NAMES = {"GetIndexState"} | SERVICE_ONLY - {"PutUserMutes"}


async def told(served: Served, name: str, request: Any, metadata: Metadata) -> bytes:
    """Give all bytes of an answer or error, but for how long its stages took."""
    try:
        answers = await invoke(served, name.split(maxsplit=1)[0], request, metadata)
    except grpc.aio.AioRpcError as error:
        return bytes(read(error).status.SerializeToString(deterministic=True))
    for each in answers:
        for field in {"timings", "sources"} & set(each.DESCRIPTOR.fields_by_name):
            each.ClearField(field)
    return b"".join(bytes(each.SerializeToString(deterministic=True)) for each in answers)


def test_every_method_is_probed() -> None:
    """A method that is new in the proto must be added here if it takes an id or an owner."""
    probed = {name.split()[0] for name in (*PROBES, *OWNER_PROBES)}
    assert probed | WITHOUT_NAMES == set(METHODS)


@pytest.mark.parametrize("caller", ["cal", "rival"])
@pytest.mark.parametrize("name", sorted(PROBES))
async def test_another_ones_id_answers_like_a_made_up_one(name: str, caller: str) -> None:
    """Byte for byte, to another user and to a user of that name in another tenant (case 36)."""
    user = "ana" if caller == "rival" else caller
    answers = []
    for target in (SECRET, MADE_UP):
        async with serve() as served:
            await served.parts.store(entry(SECRET, "SECRET of ana"))
            mine = pb.UpsertEntryRequest(entry=message("own", "mine", owner=owner(user)))
            await invoke(served, "UpsertEntry", mine, served.key(caller))
            request = PROBES[name](target, user)
            answer = await told(served, name, request, served.key(caller))
            answers.append(answer.replace(target.encode(), b"?"))
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("caller", "whose", "made_up"),
    [
        ("bob", owner("ana"), owner("zzz")),
        ("root", owner("ana"), owner("zzz")),
        ("cal", owner("desk", entry_pb2.AXIS_PROJECT), owner("zzzz", entry_pb2.AXIS_PROJECT)),
        ("rival", owner("bob"), owner("zzz")),
    ],
)
async def test_another_owner_answers_like_a_made_up_one(
    served: Served, caller: str, whose: entry_pb2.Owner, made_up: entry_pb2.Owner
) -> None:
    """Byte for byte, on every method that names one."""
    for name, probe in OWNER_PROBES.items():
        first, second = [
            (await told(served, name, probe(each), served.key(caller))).replace(
                each.id.encode(), b"?"
            )
            for each in (whose, made_up)
        ]
        assert first == second, name


async def test_an_id_that_is_taken_says_only_that(served: Served) -> None:
    """Ids are unique in a tenant, so a write under another's must be refused: without a why."""
    for method, make in (("UpsertEntry", pb.UpsertEntryRequest), ("Remember", pb.RememberRequest)):
        request = make(entry=message(SECRET, "x", owner=owner("cal")))
        found = await fault(served, method, request, served.key("cal"))
        assert found.code is Code.PERMISSION_DENIED
        assert found.status.message == "this credential may not write entries of this id"


ALLOWED: Mapping[str, frozenset[str]] = {
    "bob": frozenset({"bob", "desk"}),
    "cal": frozenset(),
    "root": frozenset({"desk"}),
    "acting cal": frozenset(),
    "rival": frozenset({"rival"}),
}
"""Of whom each caller may see a SECRET."""


def random_attempt(rng: random.Random) -> tuple[str, Any]:
    """Make a request that names what may be anybody's."""
    name = rng.choice([SECRET, "bobs", "p1", "theirs", "m1", MADE_UP])
    other = rng.choice([SECRET, "bobs", "p1", "own"])
    axis = rng.choice([entry_pb2.AXIS_USER, entry_pb2.AXIS_PROJECT, entry_pb2.AXIS_SPACE])
    whose = owner(rng.choice(["ana", "bob", "cal", "desk", "home"]), axis)
    linked = message(name, "x", owner=whose, superseded_by=other)
    method = rng.choice(sorted(set(PROBES) | set(OWNER_PROBES)))
    requests: dict[str, Callable[[], Any]] = {
        "UpsertEntry": lambda: pb.UpsertEntryRequest(entry=linked),
        # The same words as Ana's, so that her entry would be the one to reinforce.
        "Remember": lambda: pb.RememberRequest(entry=message(name, "secret of ana", owner=whose)),
        "ImportEntries": lambda: pb.ImportEntriesRequest(
            batch=1, records=[pb.ImportRecord(entry=linked)]
        ),
        "SupersedeEntry": lambda: pb.SupersedeEntryRequest(id=name, superseded_by=other),
        "DeleteEntry": lambda: pb.DeleteEntryRequest(id=name),
        "UpdateEntry": lambda: pb.UpdateEntryRequest(
            entry=entry_pb2.Entry(id=name, text="x"), update_mask=FieldMask(paths=["text"])
        ),
    }
    plain = method.split()[0]
    if plain in requests:
        return plain, requests[plain]()
    return plain, OWNER_PROBES[plain](whose) if plain in OWNER_PROBES else PROBES[plain](name, "x")


async def test_nothing_leaks_in_thousands_of_attempts(served: Served) -> None:
    """Random calls of others see none of what isn't theirs and change nothing of Ana's."""
    rng = random.Random(20250601)  # noqa: S311 - a seed, not a secret
    before = await served.parts.uses.reader.batch(AS_ANA, [SECRET, "m1", "m2"])
    turns = asyncio.Semaphore(16)

    async def attempt(caller: str, method: str, request: Any) -> None:
        metadata = served.acting("cal") if caller == "acting cal" else served.key(caller)
        async with turns:
            answer = await told(served, method, request, metadata)
        seen = {whose for whose in ("ana", "bob", "desk", "rival") if secret(whose) in answer}
        assert seen <= ALLOWED[caller], (caller, method, request)

    async with asyncio.TaskGroup() as group:
        for _ in range(ATTEMPTS):
            group.create_task(attempt(rng.choice(sorted(ALLOWED)), *random_attempt(rng)))
    assert await served.parts.uses.reader.batch(AS_ANA, [SECRET, "m1", "m2"]) == before


def secret(whose: str) -> bytes:
    """Give the text that only some may see."""
    return f"SECRET of {whose}".encode()
