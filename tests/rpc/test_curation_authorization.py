"""Who may call what, over every method that the descriptor has."""

from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from support.curation.service import Refused, Server, call, serve_example

from hilvan.curation.v1 import curation_service_pb2 as pb
from hilvan_curation.rpc.unbuilt import Unbuilt

METHODS = [each.name for each in pb.DESCRIPTOR.services_by_name["CurationService"].methods]
UNBUILT = [name for name in METHODS if hasattr(Unbuilt, name)]
CODES = grpc.StatusCode


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """Curation over the sample vault."""
    async with serve_example(tmp_path) as running:
        yield running


async def refusal(server: Server, method: str, metadata: tuple[tuple[str, str], ...]) -> str:
    """The reason of a refused call, which its fields have no part in."""
    answer = await call(server.channel, method, None, metadata)
    assert isinstance(answer, Refused), method
    return f"{answer.code.name} {answer.reason}"


async def test_no_method_answers_without_a_good_credential(server: Server) -> None:
    """None, a wrong one, an expired one: whatever the method, built or not."""
    keys = server.keys
    refused = {
        "UNAUTHENTICATED CREDENTIAL_MISSING": (),
        "UNAUTHENTICATED CREDENTIAL_INVALID": (("authorization", "Bearer hv_x_y"),),
        "UNAUTHENTICATED CREDENTIAL_EXPIRED": keys.metadata("late"),
    }
    for method in METHODS:
        for expected, metadata in refused.items():
            assert await refusal(server, method, metadata) == expected, method


async def test_no_method_lets_a_credential_act_for_somebody_else(server: Server) -> None:
    """A person for another person or tenant, an admin for another tenant."""
    keys = server.keys
    denied = (
        keys.metadata("ana", user="ines"),
        keys.metadata("ana", tenant="sur"),
        keys.metadata("root", tenant="sur"),
        keys.metadata("root", user="ana"),
        keys.metadata("other", tenant="norte"),
    )
    for method in METHODS:
        for metadata in denied:
            expected = "PERMISSION_DENIED PERMISSION_DENIED"
            assert await refusal(server, method, metadata) == expected, method


async def test_a_service_of_every_tenant_has_to_name_one(server: Server) -> None:
    """Without, no method knows for whom to answer."""
    for method in METHODS:
        reason = await refusal(server, method, server.keys.metadata("svc"))
        assert reason == "UNAUTHENTICATED CREDENTIAL_INVALID", method


async def test_another_tenant_sees_nothing(server: Server) -> None:
    """Its admin has no space, project, note or fault of this one."""
    for method, field in (
        ("ListSpaces", "spaces"),
        ("ListProjects", "projects"),
        ("ListNotes", "notes"),
        ("ListFaults", "faults"),
    ):
        assert list(getattr(await server.call(method, who="other"), field)) == []
    answer = await server.call("GetNote", pb.GetNoteRequest(id="nota-ana-salud"), "other")
    assert answer.reason == "NOTE_NOT_FOUND"


@pytest.mark.parametrize("method", UNBUILT)
async def test_unbuilt_methods_say_so(method: str, server: Server) -> None:
    """UNIMPLEMENTED with its reason and name, also for an empty request."""
    answer = await server.call(method)
    assert (answer.code, answer.reason) == (CODES.UNIMPLEMENTED, "NOT_BUILT_YET")
    assert answer.metadata == {"method": method}


def test_the_unbuilt_methods_are_methods() -> None:
    """None is left over when it was built or renamed."""
    names = {name for name in vars(Unbuilt) if not name.startswith("_")}
    assert names == set(UNBUILT)


ALLOWED = {
    # method: who may, of (a writer, a reader, a stranger, an admin, a service)
    "AddVault": (False, False, False, True, True),
    "SetSpaceMembers": (True, False, False, True, True),
    "StampNotes": (True, False, False, True, True),
    "PinNote": (True, False, False, True, True),
    "UnpinNote": (True, False, False, True, True),
    "SetCategoryMute": (True, False, False, True, True),
    "ResolveScope": (True, True, False, True, True),
    "ListCategories": (True, True, False, True, True),
    "ListIdentityBlocks": (True, True, False, True, True),
    "OpenSession": (True, True, False, True, True),
    "GetNote": (True, True, False, True, True),
}
SCOPE = pb.Scope(project_id="prj-muelle")
EVERYBODY = {"AcknowledgeSession", "ListFaults", "ListNotes", "ListProjects", "ListSpaces"}


def requests(vault: Path) -> dict[str, object]:
    """A good request of each method, on the space `operaciones`."""
    note = "nota-muelle-precios"
    return {
        "AddVault": pb.AddVaultRequest(path=str(vault)),
        "SetSpaceMembers": pb.SetSpaceMembersRequest(
            space_id="operaciones", readers=["tom"], writers=["ana"]
        ),
        "StampNotes": pb.StampNotesRequest(space_id="operaciones"),
        "PinNote": pb.PinNoteRequest(note_id=note),
        "UnpinNote": pb.UnpinNoteRequest(note_id=note),
        "SetCategoryMute": pb.SetCategoryMuteRequest(scope=SCOPE, category="customer"),
        "ResolveScope": pb.ResolveScopeRequest(scope=SCOPE),
        "ListCategories": pb.ListCategoriesRequest(scope=SCOPE),
        "ListIdentityBlocks": pb.ListIdentityBlocksRequest(scope=SCOPE),
        "OpenSession": pb.OpenSessionRequest(scope=SCOPE),
        "GetNote": pb.GetNoteRequest(id=note),
    }


def test_the_matrix_has_every_method() -> None:
    """A new method needs a row."""
    assert set(ALLOWED) | EVERYBODY | set(UNBUILT) == set(METHODS)


@pytest.mark.parametrize("method", ALLOWED)
async def test_each_method_asks_for_its_right(method: str, server: Server, tmp_path: Path) -> None:
    """Readers read, writers write, strangers find nothing; a service for a user is that user."""
    request = requests((tmp_path / "vault").resolve())[method]
    callers = (
        {"who": "ana"},
        {"who": "tom"},
        {"who": "eve"},
        {"who": "root"},
        {"who": "svc", "tenant": "norte"},
    )
    answers = [await server.call(method, request, **each) for each in callers]  # type: ignore[arg-type]  # a message
    assert tuple(not isinstance(each, Refused) for each in answers) == ALLOWED[method]
    for caller, own in (("tom", answers[1]), ("eve", answers[2])):
        acted = await server.call(method, request, "svc", tenant="norte", user=caller)  # type: ignore[arg-type]  # a message
        assert isinstance(acted, Refused) == isinstance(own, Refused)
        if isinstance(own, Refused):
            assert acted == own
