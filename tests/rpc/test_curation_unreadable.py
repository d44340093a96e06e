"""What the caller can't read answers exactly like what does not exist, on every method."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from support.curation.service import Refused, Server, serve_example

from hilvan.curation.v1 import curation_service_pb2 as pb
from hilvan_curation.rpc.unbuilt import Unbuilt

SERVICE = pb.DESCRIPTOR.services_by_name["CurationService"]


def scope(project_id: str) -> pb.Scope:
    """A project's scope."""
    return pb.Scope(project_id=project_id)


# By method: requests that name a project, a space, a note or a session.
PROJECT: dict[str, Callable[[str], Message]] = {
    "ResolveScope": lambda name: pb.ResolveScopeRequest(scope=scope(name)),
    "ListNotes": lambda name: pb.ListNotesRequest(project_id=name),
    "ListCategories": lambda name: pb.ListCategoriesRequest(scope=scope(name)),
    "SetCategoryMute": lambda name: pb.SetCategoryMuteRequest(
        scope=scope(name), category="customer", muted=True
    ),
    "ListIdentityBlocks": lambda name: pb.ListIdentityBlocksRequest(scope=scope(name)),
    "OpenSession": lambda name: pb.OpenSessionRequest(scope=scope(name)),
}
SPACE: dict[str, Callable[[str], Message]] = {
    "SetSpaceMembers": lambda name: pb.SetSpaceMembersRequest(space_id=name, writers=["eve"]),
    "ListNotes": lambda name: pb.ListNotesRequest(space_id=name),
    "StampNotes": lambda name: pb.StampNotesRequest(space_id=name),
}
NOTE: dict[str, Callable[[str], Message]] = {
    "GetNote": lambda name: pb.GetNoteRequest(id=name),
    "PinNote": lambda name: pb.PinNoteRequest(note_id=name),
    "UnpinNote": lambda name: pb.UnpinNoteRequest(note_id=name),
}
SESSION: dict[str, Callable[[str], Message]] = {
    "AcknowledgeSession": lambda name: pb.AcknowledgeSessionRequest(session_id=name),
}
# Nothing in these names anything: what they list is asked for below. A vault is a folder.
NAMELESS = {"ListSpaces", "ListProjects", "ListFaults", "AddVault"}
MADE_UP = "made-up"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """Curation over the sample vault."""
    async with serve_example(tmp_path) as running:
        yield running


def text(answer: Message | Refused, name: str) -> str:
    """All of an answer, with the name that was asked taken out."""
    return repr(answer).replace(name, "…")


async def alike(server: Server, method: str, make: Any, real: str, who: dict[str, str]) -> None:
    """Ask for what is there and for what is not."""
    there, absent = [await server.call(method, make(name), **who) for name in (real, MADE_UP)]
    assert text(there, real) == text(absent, MADE_UP), method


@pytest.mark.parametrize(
    "who",
    [{"who": "eve"}, {"who": "svc", "tenant": "norte", "user": "eve"}, {"who": "other"}],
    ids=["member", "service-for-user", "other-tenant"],
)
async def test_a_shared_space_of_others(who: dict[str, str], server: Server) -> None:
    """Its id, its project's and its notes' are as good as made up."""
    for method, make in PROJECT.items():
        await alike(server, method, make, "prj-muelle", who)
    for method, make in SPACE.items():
        await alike(server, method, make, "operaciones", who)
    for method, make in NOTE.items():
        await alike(server, method, make, "nota-muelle-precios", who)


@pytest.mark.parametrize(
    "who",
    [
        {"who": "ines"},
        {"who": "root"},
        {"who": "svc", "tenant": "norte"},
        {"who": "svc", "tenant": "norte", "user": "ines"},
    ],
    ids=["member", "admin", "service", "service-for-user"],
)
async def test_the_personal_space_of_somebody_else(who: dict[str, str], server: Server) -> None:
    """Not even an admin or a service learns that it is there."""
    for method, make in SPACE.items():
        await alike(server, method, make, "ana", who)
    for method, make in NOTE.items():
        await alike(server, method, make, "nota-ana-salud", who)
    spaces = await server.call("ListSpaces", None, **who)
    assert "ana" not in {each.id for each in spaces.spaces}
    notes = await server.call("ListNotes", pb.ListNotesRequest(page_size=1_000), **who)
    assert "ana" not in {each.space_id for each in notes.notes}
    resolved = await server.call("ResolveScope", pb.ResolveScopeRequest(scope=pb.Scope()), **who)
    assert list(resolved.elements) == []


async def test_the_session_of_somebody_else(server: Server) -> None:
    """A session id is good for its own user."""
    opened = await server.call("OpenSession", pb.OpenSessionRequest(scope=scope("prj-muelle")))
    for who in ({"who": "tom"}, {"who": "root"}, {"who": "other"}):
        await alike(
            server, "AcknowledgeSession", SESSION["AcknowledgeSession"], opened.session_id, who
        )


async def test_a_note_in_a_project_of_others_is_in_no_list(server: Server) -> None:
    """Spaces, projects, notes and faults of a stranger are empty lists."""
    for method, field in (
        ("ListSpaces", "spaces"),
        ("ListProjects", "projects"),
        ("ListNotes", "notes"),
        ("ListFaults", "faults"),
    ):
        assert list(getattr(await server.call(method, who="eve"), field)) == []


async def test_nothing_was_written_by_asking(server: Server, tmp_path: Path) -> None:
    """A refused call leaves every file as it was."""

    def files() -> dict[str, bytes]:
        return {str(f): f.read_bytes() for f in (tmp_path / "vault").rglob("*") if f.is_file()}

    before = files()
    for method, make in {**PROJECT, **NOTE, **SPACE}.items():
        for name in ("prj-muelle", "nota-muelle-precios", "operaciones", "ana", "nota-ana-salud"):
            await server.call(method, make(name), "eve")
    assert files() == before


def test_every_method_that_names_something_is_asked() -> None:
    """A new method needs a row; read from the descriptor."""
    built = {each.name for each in SERVICE.methods if not hasattr(Unbuilt, each.name)}
    assert {*PROJECT, *SPACE, *NOTE, *SESSION, *NAMELESS} == built
    for kind, names in (
        (PROJECT, {"scope", "project_id"}),
        (SPACE, {"space_id"}),
        (NOTE, {"id", "note_id"}),
        (SESSION, {"session_id"}),
    ):
        having = {
            each.name
            for each in SERVICE.methods
            if each.name in built and names & set(each.input_type.fields_by_name)
        }
        assert having == set(kind)
