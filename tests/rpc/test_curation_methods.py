"""What every method of curation answers, over the sample team's vault."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from support.curation.service import NOW, Server, copy_of_example, serve_example

from hilvan.common.v1 import entry_pb2
from hilvan.curation.v1 import curation_service_pb2 as pb

PERSONAL = pb.Scope()
DESPACHO = pb.Scope(project_id="prj-despacho")
MUELLE = pb.Scope(project_id="prj-muelle")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """Curation over the sample vault."""
    async with serve_example(tmp_path) as running:
        yield running


def stamp(hours: int) -> Timestamp:
    """Some hours after now."""
    message = Timestamp()
    message.FromDatetime(NOW + timedelta(hours=hours))
    return message


async def test_a_personal_scope_is_ones_pins_then_ones_memory(server: Server) -> None:
    """Tagged notes by path, then category summaries; the muted one says so in its place."""
    answer = await server.call("ResolveScope", pb.ResolveScopeRequest(scope=PERSONAL))
    assert [(e.note_id, pb.Verdict.Name(e.verdict)) for e in answer.elements] == [
        ("nota-ana-citas-fijas", "VERDICT_LOADED"),
        ("nota-ana-como-trabajo", "VERDICT_LOADED"),
        ("nota-ana-plan-2027", "VERDICT_LOADED"),
        ("cat-ana-health", "VERDICT_LOADED"),
        ("cat-ana-people", "VERDICT_LOADED"),
        ("cat-ana-preference", "VERDICT_LOADED"),
        ("cat-ana-schedule", "VERDICT_LOADED"),
        ("cat-ana-smalltalk", "VERDICT_MUTED"),
    ]
    assert [each.order for each in answer.elements] == list(range(1, 9))
    assert answer.token_budget == 22_000
    loaded = [e for e in answer.elements if e.verdict == pb.VERDICT_LOADED]
    assert answer.token_count == sum(each.token_count for each in loaded) > 0
    assert [each.category for each in answer.muted] == ["smalltalk"]
    assert {each.text for each in answer.elements} == {""}


async def test_a_project_scope_begins_with_the_projects_pins(server: Server) -> None:
    """Then the personal ones; bodies come on request, of what is loaded only."""
    request = pb.ResolveScopeRequest(
        scope=DESPACHO, include_bodies=True, token_budget=900, tokenizer="cl100k_base"
    )
    answer = await server.call("ResolveScope", request)
    first = answer.elements[0]
    assert (first.space_id, first.path) == ("ingenieria", "despacho/vision.md")
    assert first.owner == entry_pb2.Owner(axis=entry_pb2.AXIS_PROJECT, id="prj-despacho")
    assert first.text
    cut = [e for e in answer.elements if e.verdict == pb.VERDICT_OVER_BUDGET]
    assert [each.note_id for each in cut] == ["nota-ana-plan-2027"]
    assert cut[0].token_count > 900
    assert cut[0].text == ""
    assert answer.elements[-2].verdict == pb.VERDICT_AFTER_CUT
    assert {each.category for each in answer.muted} == {"smalltalk", "ci-noise"}
    default = await server.call("ResolveScope", pb.ResolveScopeRequest(scope=DESPACHO))
    assert default.token_budget == 38_000


async def test_a_scope_tells_identity_and_readable_owners(server: Server) -> None:
    """The team's blocks and one's own, inactive ones marked; user, projects and shared spaces."""
    answer = await server.call("ResolveScope", pb.ResolveScopeRequest(scope=DESPACHO))
    active = {each.id: each.active for each in answer.identity}
    assert len(active) == 7
    assert not active["bloque-ana-pirata"]
    keys = {(each.axis, each.id) for each in answer.readable_owners}
    assert keys == {
        (entry_pb2.AXIS_USER, "ana"),
        (entry_pb2.AXIS_PROJECT, "prj-despacho"),
        (entry_pb2.AXIS_PROJECT, "prj-muelle"),
        (entry_pb2.AXIS_SPACE, "ingenieria"),
        (entry_pb2.AXIS_SPACE, "operaciones"),
    }


async def test_identity_blocks_are_listed_in_order(server: Server) -> None:
    """Of the personal scope, and with a project the team's as well."""
    answers = [
        await server.call("ListIdentityBlocks", pb.ListIdentityBlocksRequest(scope=scope))
        for scope in (PERSONAL, DESPACHO)
    ]
    groups = [[each.group for each in answer.blocks] for answer in answers]
    assert groups == [sorted(groups[0]), sorted(groups[1])]
    assert [len(each) for each in groups] == [4, 7]


async def test_a_vault_is_taken_in_by_an_admin(server: Server, tmp_path: Path) -> None:
    """The answer has the spaces and faults that the caller may know; again is no error."""
    more = copy_of_example(tmp_path / "more")
    (more / "ana/.hilvan-space.yaml").write_text("id: ines-notas\nkind: personal\nowner: ines\n")
    (more / "operaciones/.hilvan-space.yaml").write_text("kind: shared\n")
    for _ in range(2):
        answer = await server.call("AddVault", pb.AddVaultRequest(path=str(more)), "root")
        names = [(each.id, each.writable) for each in answer.spaces]
        assert names == [("ingenieria", True), ("operaciones", True)]
        marker = [each for each in answer.faults if each.path == ".hilvan-space.yaml"]
        assert len(marker) == 2  # no id in the one, and an id that is taken in the other
    spaces = await server.call("ListSpaces", who="ines")
    assert "ines-notas" in {each.id for each in spaces.spaces}


async def test_spaces_are_listed_by_name(server: Server) -> None:
    """With owner, notes and whether the caller may write."""
    answer = await server.call("ListSpaces", who="ana")
    assert [(each.id, each.owner, each.writable) for each in answer.spaces] == [
        ("ana", "ana", True),
        ("ingenieria", "", True),
        ("operaciones", "", True),
    ]
    assert all(each.note_count > 0 for each in answer.spaces)
    tom = await server.call("ListSpaces", who="tom")
    assert [(each.id, each.writable) for each in tom.spaces] == [
        ("ingenieria", True),
        ("operaciones", False),
    ]


async def test_projects_are_listed_by_handle(server: Server) -> None:
    """With their display name, space, folder and how many notes they have."""
    answer = await server.call("ListProjects")
    assert [(each.id, each.handle, each.name, each.folder) for each in answer.projects] == [
        ("prj-despacho", "ingenieria/despacho", "Despacho", "despacho"),
        ("prj-muelle", "operaciones/muelle", "Muelle", "muelle"),
    ]
    notes = await server.call("ListNotes", pb.ListNotesRequest(project_id="prj-despacho"))
    assert answer.projects[0].note_count == len(notes.notes)


async def test_members_are_set_and_in_force_at_once(server: Server) -> None:
    """They replace those of the marker."""
    request = pb.SetSpaceMembersRequest(space_id="operaciones", readers=["eve"], writers=["ines"])
    await server.call("SetSpaceMembers", request, "root")
    eve = await server.call("ListSpaces", who="eve")
    assert [(each.id, each.writable) for each in eve.spaces] == [("operaciones", False)]
    tom = await server.call("ListSpaces", who="tom")
    assert [each.id for each in tom.spaces] == ["ingenieria"]


async def test_a_note_comes_with_its_body(server: Server) -> None:
    """And its etag, place, tags and pin; a tag outside of its places pins nothing."""
    note = (await server.call("GetNote", pb.GetNoteRequest(id="nota-ana-plan-2027"))).note
    assert (note.space_id, note.path, note.project_id) == ("ana", "plan-2027.md", "")
    assert list(note.tags) == ["always-load", "plan"]
    assert note.pinned
    assert note.body.startswith("# Plan 2027")
    assert len(note.etag) == 64
    assert note.HasField("update_time")
    listed = await server.call("ListNotes", pb.ListNotesRequest(space_id="ingenieria"))
    guide = next(each for each in listed.notes if each.path == "guia-de-codigo.md")
    assert "always-load" in guide.tags
    assert not guide.pinned


async def test_pinning_and_unpinning_answer_the_note(server: Server) -> None:
    """As it is afterwards; both may be repeated."""
    for method, pinned in (("PinNote", True), ("UnpinNote", False)):
        for _ in range(2):
            request = getattr(pb, f"{method}Request")(note_id="nota-ana-salud")
            answer = await server.call(method, request)
            assert answer.note.pinned is pinned


async def test_stamped_files_are_named(server: Server) -> None:
    """Those that had no id; a second time there are none."""
    request = pb.StampNotesRequest(space_id="ana")
    answer = await server.call("StampNotes", request)
    assert list(answer.paths) == ["charla-pycon.md", "diario/2026-11-20.md"]
    assert list((await server.call("StampNotes", request)).paths) == []


async def test_faults_are_listed_with_their_line(server: Server) -> None:
    """The broken note of the sample, to those who read its space."""
    answer = await server.call("ListFaults")
    (fault,) = answer.faults
    assert (fault.space_id, fault.path) == ("ingenieria", "despacho/ideas-sueltas.md")
    assert fault.line > 0
    assert fault.description
    assert list((await server.call("ListFaults", who="eve")).faults) == []


async def test_categories_are_listed_and_muted_until_a_time(server: Server) -> None:
    """By name, on their axis; the mute ends by itself and can be taken back."""
    listing = pb.ListCategoriesRequest(scope=MUELLE)
    before = await server.call("ListCategories", listing)
    assert [each.category for each in before.categories] == ["customer", "decision"]
    assert not any(each.muted for each in before.categories)
    request = pb.SetCategoryMuteRequest(
        scope=MUELLE, category="customer", muted=True, until_time=stamp(2)
    )
    answer = await server.call("SetCategoryMute", request)
    assert answer.category.muted
    assert answer.category.mute_until_time == stamp(2)
    assert answer.category.owner.id == "prj-muelle"
    server.uses.clock.time = NOW + timedelta(hours=2)
    after = await server.call("ListCategories", listing)
    assert not after.categories[0].muted
    assert not after.categories[0].HasField("mute_until_time")
    unmuted = pb.SetCategoryMuteRequest(scope=PERSONAL, category="smalltalk")
    assert not (await server.call("SetCategoryMute", unmuted)).category.muted


async def test_a_session_is_opened_and_acknowledged(server: Server) -> None:
    """It tells the index, then what changed since; a preview keeps nothing."""
    request = pb.OpenSessionRequest(scope=DESPACHO)
    first = await server.call("OpenSession", request)
    assert first.session_id
    assert not first.HasField("since_time")
    assert first.note_count == 8
    assert list(first.folders) == ["despacho", "despacho/adr", "despacho/incidentes"]
    assert list(first.tags) == sorted(set(first.tags))
    await server.call(
        "AcknowledgeSession", pb.AcknowledgeSessionRequest(session_id=first.session_id)
    )
    vision = await server.call("ResolveScope", pb.ResolveScopeRequest(scope=DESPACHO))
    note_id = vision.elements[0].note_id
    await server.call("UnpinNote", pb.UnpinNoteRequest(note_id=note_id))
    preview = await server.call("OpenSession", pb.OpenSessionRequest(scope=DESPACHO, preview=True))
    assert preview.session_id == ""
    assert preview.since_time == stamp(0)
    assert [(each.note_id, each.change) for each in preview.notes] == [
        (note_id, pb.NOTE_CHANGE_CHANGED)
    ]


@pytest.mark.parametrize(
    "wanted",
    [
        pb.ListNotesRequest(),
        pb.ListNotesRequest(space_id="ana"),
        pb.ListNotesRequest(project_id="prj-muelle"),
        pb.ListNotesRequest(space_id="ana", project_id="prj-muelle"),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 50])
async def test_notes_page_completely(
    server: Server, wanted: pb.ListNotesRequest, size: int
) -> None:
    """Every page but the last is full, by space and path, no note twice and none left out."""
    whole = pb.ListNotesRequest()
    whole.CopyFrom(wanted)
    whole.page_size = 1000
    everything = (await server.call("ListNotes", whole)).notes
    keys = [(each.space_id, each.path) for each in everything]
    assert keys == sorted(keys)
    paged, token = [], ""
    while True:
        whole.page_size, whole.page_token = size, token
        page = await server.call("ListNotes", whole)
        paged += page.notes
        token = page.next_page_token
        if not token:
            break
        assert len(page.notes) == size
    assert paged == list(everything)
    assert all(each.body == "" for each in paged)


async def test_a_page_has_50_notes_by_default(server: Server, tmp_path: Path) -> None:
    """Also when the note that the page before ended with is gone, the next one goes on there."""
    for number in range(60):
        (tmp_path / f"vault/ana/diario/n{number:02}.md").write_text("x")
    await server.uses.catalogue.rescan("norte")
    request = pb.ListNotesRequest(space_id="ana")
    first = await server.call("ListNotes", request)
    assert len(first.notes) == 50
    (tmp_path / "vault/ana" / first.notes[-1].path).unlink()
    await server.uses.catalogue.rescan("norte")
    request.page_token = first.next_page_token
    rest = await server.call("ListNotes", request)
    assert rest.notes[0].path > first.notes[-1].path
    assert len(rest.notes) == 76 - 50
