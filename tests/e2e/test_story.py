"""The story of the sample team over three processes."""

import json
import uuid
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict
from support.product.processes import Product

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.common.v1 import entry_pb2
from hilvan.curation.v1 import curation_service_pb2 as curation_pb
from hilvan.retrieval.v1 import retrieval_service_pb2 as retrieval_pb
from hilvan_client import Hilvan
from hilvan_client.errors import NotFound

PROJECT = "prj-despacho"
ANA = entry_pb2.Owner(axis=entry_pb2.AXIS_USER, id="ana")
STORE = (entry_pb2.LAYER_MEMORY, entry_pb2.LAYER_EPISODE, entry_pb2.LAYER_PROCEDURE)
SECTIONS = ("identity", "pinned", "preferences", "facts", "notes", "episodes", "workflows")
QUERIES = [
    json.loads(line)
    for line in (Path(__file__).resolve().parents[2] / "examples/team/queries.jsonl")
    .read_text()
    .splitlines()
]


def request(query: str, **budgets: int) -> pb.AssembleRequest:
    """An Assemble in Ana's project, with everything explained."""
    return pb.AssembleRequest(
        query=query,
        scope=curation_pb.Scope(project_id=PROJECT),
        overrides=pb.Overrides(budgets=pb.TierBudgets(**budgets), candidate_limit=100),
        view=pb.VIEW_FULL,
    )


async def test_prompt_has_every_section_in_order(product: Product) -> None:
    """One Assemble renders all the sections of the spec, in its order, inside their budgets."""
    async with product.client(user="ana") as hilvan:
        answer = await hilvan.assembler.Assemble(
            request("Which database does Despacho use, and how do I deploy?", notes=400)
        )
    places = [answer.prompt.index(f"<{name}") for name in SECTIONS]
    assert places == sorted(places)
    assert all(0 < each.token_count <= each.token_budget for each in answer.sections)
    assert not answer.degraded
    reasons = {each.reason for each in answer.decisions}
    assert {pb.REASON_CONTRADICTED_BY, pb.REASON_DUPLICATE_OF, pb.REASON_RENDERED} <= reasons


async def test_same_request_same_bytes(product: Product) -> None:
    """The same request on the same store gives the same prompt, also as a preview.

    Nobody else asks for Lena here: what is loaded for others is counted, which is a change.
    """
    async with product.client(user="lena") as hilvan:
        wanted = pb.AssembleRequest(query="What did we decide about alerts at night?")
        first = await hilvan.assembler.Preview(pb.PreviewRequest(assemble=wanted))
        second = await hilvan.assembler.Assemble(wanted)
    assert "<memory" in first.assemble.prompt
    assert first.assemble.prompt == second.prompt
    assert first.assemble.sections == second.sections


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query["query"][:40])
async def test_expected_entries_are_found(product: Product, query: dict[str, object]) -> None:
    """Each sample question finds what it must among the first ten, in its own language."""
    async with product.client(user=str(query["user"])) as hilvan:
        answer = await hilvan.assembler.Search(
            pb.SearchRequest(query=str(query["query"]), limit=10, layers=STORE)
        )
    found = [hit.entry.id for hit in answer.hits]
    missing = [each for each in query.get("expect", []) if each not in found]  # type: ignore[attr-defined]
    assert not missing, found
    either = query.get("expect_any", [])
    assert not either or set(either) & set(found), found  # type: ignore[call-overload]


async def test_others_entries_are_never_seen(product: Product) -> None:
    """Whatever Ana asks, no entry of another user is in any answer of hers."""
    async with product.client(user="ana") as hilvan:
        for query in QUERIES:
            answer = await hilvan.assembler.Search(
                pb.SearchRequest(query=str(query["query"]), limit=100)
            )
            owners = {(hit.entry.owner.axis, hit.entry.owner.id) for hit in answer.hits}
            users = {owner for axis, owner in owners if axis == entry_pb2.AXIS_USER}
            assert users <= {"ana"}


async def test_mute_silences_and_unmute_gives_back(product: Product) -> None:
    """A mute is in force when it is answered, leaves search alone, and is undone in the file."""
    scope = curation_pb.Scope()
    text = f"Ana's locker code is {uuid.uuid4().hex[:8]}."
    async with product.client(user="ana") as hilvan:
        categories = await hilvan.curation.ListCategories(
            curation_pb.ListCategoriesRequest(scope=scope)
        )
        category = next(each.category for each in categories.categories if not each.muted)
        await hilvan.retrieval.UpsertEntry(
            retrieval_pb.UpsertEntryRequest(
                entry=entry_pb2.Entry(
                    layer=entry_pb2.LAYER_MEMORY, owner=ANA, category=category, text=text
                ),
                wait=True,
            )
        )
        assert text in await prompt(hilvan, text)
        await mute(hilvan, category, muted=True)
        assert text not in await prompt(hilvan, text)
        hits = (await hilvan.assembler.Search(pb.SearchRequest(query=text, limit=3))).hits
        assert any(hit.entry.text == text and hit.muted for hit in hits)
        await mute(hilvan, category, muted=False)
        assert text in await prompt(hilvan, text)


async def test_pin_is_in_the_next_prompt(product: Product) -> None:
    """A note that is pinned is in the next prompt, and gone from it when it is unpinned."""
    async with product.client(user="ana") as hilvan:
        listed = await hilvan.curation.ListNotes(
            curation_pb.ListNotesRequest(space_id="ana", page_size=1000)
        )
        bodies = [
            (await hilvan.curation.GetNote(curation_pb.GetNoteRequest(id=note.id))).note
            for note in listed.notes
            if not note.pinned and not note.path.startswith(("memory/", "identity/"))
        ]
        note = min((each for each in bodies if each.body.strip()), key=lambda each: len(each.body))
        await hilvan.curation.PinNote(curation_pb.PinNoteRequest(note_id=note.id))
        assert f'title="{note.title}"' in await prompt(hilvan, "hola", pinned=20_000)
        await hilvan.curation.UnpinNote(curation_pb.UnpinNoteRequest(note_id=note.id))
        assert f'title="{note.title}"' not in await prompt(hilvan, "hola", pinned=20_000)


async def test_session_tells_what_changed(product: Product) -> None:
    """After an acknowledged session, the next one tells the notes that changed since."""
    scope = curation_pb.Scope(project_id=PROJECT)
    path = next((product.home / "vault" / "ingenieria" / "despacho").glob("*.md"))
    async with product.client(user="ana") as hilvan:
        first = await hilvan.assembler.StartSession(pb.StartSessionRequest(scope=scope))
        assert first.project.note_count > 0
        assert {each.id for each in first.projects} >= {PROJECT}
        await hilvan.curation.AcknowledgeSession(
            curation_pb.AcknowledgeSessionRequest(session_id=first.session_id)
        )
        path.write_bytes(path.read_bytes() + b"\nUna l\xc3\xadnea m\xc3\xa1s.\n")
        await until_changed(hilvan, scope)


async def test_unreadable_project_answers_like_a_made_up_one(product: Product) -> None:
    """Mateo can't read Muelle: asking for it answers just like asking for nothing that exists."""
    answers = []
    async with product.client(user="mateo") as hilvan:
        for project in ("prj-muelle", "prj-made-up"):
            with pytest.raises(NotFound) as refused:
                await hilvan.assembler.Assemble(
                    pb.AssembleRequest(query="muelle", scope=curation_pb.Scope(project_id=project))
                )
            answers.append(str(refused.value).replace(project, "X"))
    assert answers[0] == answers[1]


async def test_recall_stays_inside_its_budget(product: Product) -> None:
    """A recall's bundle has at most the tokens asked for, and no muted entry."""
    async with product.client(user="ana") as hilvan:
        answer = await hilvan.assembler.Recall(
            pb.RecallRequest(query="QX-4471", token_budget=300, view=pb.VIEW_FULL)
        )
    assert 0 < answer.token_count <= 300
    assert sum(each.token_count for each in answer.passages) >= answer.token_count
    assert len(answer.decisions) >= len(answer.passages)


def test_command_line_prints_json(product: Product) -> None:
    """`hilvan assemble --json` prints one JSON document that has the prompt."""
    done = product.run(
        "--user", "ana", "assemble", "despliegue", "--project", PROJECT, "--explain", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert "<identity>" in json.loads(done.stdout)["prompt"]


async def prompt(hilvan: Hilvan, query: str, **budgets: int) -> str:
    """The personal prompt for a message."""
    answer = await hilvan.assembler.Assemble(
        pb.AssembleRequest(query=query, overrides=pb.Overrides(budgets=pb.TierBudgets(**budgets)))
    )
    assert not answer.degraded, MessageToDict(answer)
    return answer.prompt


async def mute(hilvan: Hilvan, category: str, *, muted: bool) -> None:
    """Mute or unmute one of the caller's own categories."""
    await hilvan.curation.SetCategoryMute(
        curation_pb.SetCategoryMuteRequest(
            scope=curation_pb.Scope(), category=category, muted=muted
        )
    )


async def until_changed(hilvan: Hilvan, scope: curation_pb.Scope) -> None:
    """Wait until a preview of the next session tells the change."""
    wanted = pb.PreviewRequest(start_session=pb.StartSessionRequest(scope=scope))
    for _ in range(200):
        answer = await hilvan.assembler.Preview(wanted)
        changed = answer.start_session.project.changed_notes
        if [each.change for each in changed] == [curation_pb.NOTE_CHANGE_CHANGED]:
            return
    raise AssertionError("the change was not told")


def test_notes_are_chosen_by_command(product: Product) -> None:
    """`hilvan notes` lists, stamps, pins, unpins, mutes and unmutes, and says what it did."""
    mine = ("--user", "ana", "notes")
    listed = json.loads(product.run(*mine, "list", "--space", "ana", "--json").stdout)["notes"]
    note = next(each for each in listed if not each.get("pinned") and "memory/" not in each["path"])
    for words, said in (
        (("pin", note["id"]), f"pinned: {note['path']}"),
        (("unpin", note["id"]), f"not pinned: {note['path']}"),
        (("mute", "health", "--until", "2199-01-01"), "muted until 2199-01-01T00:00:00Z: health"),
        (("unmute", "health"), "not muted: health"),
        (("stamp", "ana"), "files got an id"),
    ):
        done = product.run(*mine, *words)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
    again = product.run(*mine, "stamp", "ana")
    assert "0 files got an id" in again.stdout
    refused = product.run("--user", "mateo", "notes", "pin", note["id"])
    assert refused.returncode != 0
    assert "no such note" in refused.stderr
