"""Curation over real files tells a real retrieval service: what can be found, by whom."""

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from support.curation.service import UseCases, use_cases, write_files
from support.curation.values import ANA
from support.retrieval.service import Served, serve, until

from hilvan.common.v1 import entry_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_curation.adapters.metadata import SqlMetadata
from hilvan_curation.adapters.services.retrieval import GrpcRetrieval
from hilvan_curation.model.space import Members

PLAN = "# Plan\n\nThe first part.\n\n## Costs\n\nThe second part.\n\n## Dates\n\nThe third part.\n"
VAULT = {
    "Ana/.hilvan-space.yaml": "id: ana\nkind: personal\nowner: ana\n",
    "Ana/diary.md": "A walk along the river.\n",
    "Ana/memory/diet.md": "---\nsummary: Tea\n---\nNo passage.\n",
    "Ana/identity/soul.md": "---\ngroup: soul\n---\nNo passage either.\n",
    "Team/.hilvan-space.yaml": "id: team\nkind: shared\nreaders: [bob]\nwriters: [ana]\n",
    "Team/wiki.md": "Everybody's page.\n",
    "Team/p/.hilvan-project.yaml": "id: p\n",
    "Team/p/plan.md": f"---\nid: plan\ntags: [budget]\n---\n{PLAN}",
    "Team/q/.hilvan-project.yaml": "id: q\n",
    "Team/memory/p/stack.md": "---\nsummary: Python\n---\n",
}


@dataclass(slots=True)
class Both:
    """Curation and retrieval, and the vault between them."""

    uses: UseCases
    served: Served
    vault: Path

    async def entries(self, who: str = "service") -> list[entry_pb2.Entry]:
        """The note entries that somebody can list."""
        request = pb.ListEntriesRequest(layers=[entry_pb2.LAYER_NOTE], page_size=1_000)
        answer = await self.served.stub.ListEntries(request, metadata=self.served.key(who))
        return list(answer.entries)

    async def texts(self, who: str = "service") -> set[str]:
        """Their texts."""
        return {each.text for each in await self.entries(who)}

    async def found(self, query: str, who: str, *, muted: bool = False) -> set[str]:
        """The texts of the candidates for a query."""
        request = pb.RetrieveCandidatesRequest(
            query=query,
            layers=[entry_pb2.LAYER_MEMORY, entry_pb2.LAYER_NOTE],
            include_muted=muted,
        )
        answer = await self.served.stub.RetrieveCandidates(request, metadata=self.served.key(who))
        return {each.entry.text for each in answer.candidates}

    async def have(self, *texts: str) -> None:
        """Wait until these passages, and no others, are stored and in both indexes."""

        async def holds() -> bool:
            return await self.texts() == set(texts)

        await until(holds)
        await self.served.parts.settle()

    async def remember(self, text: str, category: str) -> None:
        """Store a memory of the project."""
        owner = entry_pb2.Owner(axis=entry_pb2.AXIS_PROJECT, id="p")
        memory = entry_pb2.Entry(
            id=f"m-{category}",
            layer=entry_pb2.LAYER_MEMORY,
            owner=owner,
            category=category,
            text=text,
        )
        await self.served.stub.UpsertEntry(
            pb.UpsertEntryRequest(entry=memory, wait=True), metadata=self.served.key("service")
        )

    def edit(self, path: str, data: str | None) -> None:
        """Write or remove a file, as an editor would."""
        if data is None:
            (self.vault / path).unlink()
        else:
            write_files(self.vault, {path: data})


def parts(text: str) -> list[str]:
    """The sections of a note."""
    return [each.strip() for each in re.split(r"\n(?=#)", text)]


def port(served: Served) -> GrpcRetrieval:
    """Curation's way to retrieval; closing it ends the channel."""
    return GrpcRetrieval(served.channel, served.keys["service"])


DIARY, WIKI = "A walk along the river.", "Everybody's page."


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[Both]:
    """Both services, in step."""
    vault = write_files(tmp_path / "vault", VAULT)
    async with serve() as served:
        store = await SqlMetadata.open_sqlite(tmp_path / "metadata.sqlite")
        await store.add_vault("acme", vault)
        async with use_cases(store, port(served)) as uses:
            running = Both(uses, served, vault)
            await running.have(DIARY, WIKI, *parts(PLAN))
            yield running


async def test_notes_become_entries(both: Both) -> None:
    """Their owner, title, tags and place; category notes and identity blocks become none."""
    by_text = {each.text: each for each in await both.entries()}
    costs = by_text["## Costs\n\nThe second part."]
    assert costs.layer == entry_pb2.LAYER_NOTE
    assert costs.owner == entry_pb2.Owner(axis=entry_pb2.AXIS_PROJECT, id="p")
    assert costs.title == "Plan › Costs"
    assert list(costs.tags) == ["budget"]
    assert (costs.origin.kind, costs.origin.uri, costs.origin.thread) == ("note", "plan", "plan")
    assert costs.origin.position == 1
    assert by_text[DIARY].owner == entry_pb2.Owner(axis=entry_pb2.AXIS_USER, id="ana")
    assert by_text[WIKI].owner == entry_pb2.Owner(axis=entry_pb2.AXIS_SPACE, id="team")


async def test_editing_one_section_indexes_that_passage_alone(both: Both) -> None:
    """The others keep their ids, versions and vectors."""
    before = {each.id: each.etag for each in await both.entries()}
    written: Sequence[object] = both.served.parts.vector.upserts
    count = len(written)
    edited = PLAN.replace("second part", "second part, edited")
    both.edit("Team/p/plan.md", f"---\nid: plan\ntags: [budget]\n---\n{edited}")
    await both.have(DIARY, WIKI, *parts(edited))
    after = {each.id: each.etag for each in await both.entries()}
    assert len(after.items() - before.items()) == 1
    assert len(before.items() - after.items()) == 1
    assert len(written) == count + 1


async def test_a_note_that_moves_to_another_project_changes_hands(both: Both) -> None:
    """Its passages are the other project's from then on, each once."""
    (both.vault / "Team/p/plan.md").rename(both.vault / "Team/q/plan.md")

    async def moved() -> bool:
        owners = [e.owner.id for e in await both.entries() if e.origin.uri == "plan"]
        return owners == ["q"] * 3

    await until(moved)
    await both.have(DIARY, WIKI, *parts(PLAN))


async def test_a_note_that_moves_to_another_space_is_found_there(both: Both) -> None:
    """From the team to a personal space: its owner alone finds it."""
    (both.vault / "Team/p/plan.md").rename(both.vault / "Ana/plan.md")

    async def moved() -> bool:
        owners = [e.owner.id for e in await both.entries() if e.origin.uri == "plan"]
        return owners == ["ana"] * 3

    await until(moved)
    assert parts(PLAN)[0] not in await both.texts("bob")
    assert parts(PLAN)[0] in await both.texts("ana")


async def test_a_deleted_file_is_found_no_more(both: Both) -> None:
    """Its entries go, from the record and both indexes."""
    both.edit("Team/p/plan.md", None)
    await both.have(DIARY, WIKI)
    assert await both.found("second part", "ana") <= {DIARY, WIKI}


async def test_only_members_find_what_a_space_holds(both: Both) -> None:
    """Readers and writers find it, strangers don't; personal notes are their owner's."""
    assert "## Costs\n\nThe second part." in await both.found("second part", "bob")
    assert await both.found("second part", "cal") == set()
    assert DIARY in await both.found("walk along the river", "ana")
    assert DIARY not in await both.found("walk along the river", "bob")


async def test_a_member_who_is_taken_out_finds_nothing_at_once(both: Both) -> None:
    """The policy is in force when the call is answered."""
    await both.uses.curator.set_members(ANA, "team", Members(writers=frozenset({"ana"})))
    assert await both.texts("bob") == set()
    assert await both.found("second part", "bob") == set()
    assert "## Costs\n\nThe second part." in await both.found("second part", "ana")


async def test_a_mute_silences_a_category_at_once_and_ends_by_itself(both: Both) -> None:
    """Recall leaves it out, search on purpose does not; nobody is told when it ends."""
    await both.remember("We write Python here", "stack")
    await both.remember("We met on Python day", "people")
    everything = {"We write Python here", "We met on Python day"}
    assert everything <= await both.found("Python", "bob")
    end = both.served.parts.record.clock.moment() + timedelta(hours=1)
    await both.uses.curator.set_mute(ANA, "p", "stack", muted=True, until=end)
    assert "We write Python here" not in await both.found("Python", "bob")
    assert "We met on Python day" in await both.found("Python", "bob")
    assert everything <= await both.found("Python", "bob", muted=True)
    both.served.parts.record.clock.move(timedelta(hours=1))
    assert everything <= await both.found("Python", "bob")


async def test_unmuting_lets_it_speak_again_at_once(both: Both) -> None:
    """The inverse, on the same axis."""
    await both.remember("We write Python here", "stack")
    for muted in (True, False):
        await both.uses.curator.set_mute(ANA, "p", "stack", muted=muted, until=None)
        assert ("We write Python here" in await both.found("Python", "ana")) is not muted


async def test_a_restart_sends_nothing_again(both: Both, tmp_path: Path) -> None:
    """What retrieval has is recognised, to the byte; what changed meanwhile is all that is sent."""
    before = {each.id: each.etag for each in await both.entries()}
    count = len(both.served.parts.vector.upserts)
    await both.uses.catalogue.close()
    both.edit("Ana/new.md", "Written while nobody looked.\n")
    both.edit("Team/wiki.md", None)
    store = await SqlMetadata.open_sqlite(tmp_path / "metadata.sqlite")
    async with use_cases(store, port(both.served)):
        await both.have(DIARY, "Written while nobody looked.", *parts(PLAN))
        after = {each.id: each.etag for each in await both.entries()}
    assert len(after.items() - before.items()) == 1
    assert len(both.served.parts.vector.upserts) == count + 1


async def test_odd_notes_keep_no_other_from_being_found(both: Both) -> None:
    """Long tags, an endless code block, a project id that no owner can have, a squatted id."""
    block = "```\n" + "x = 1\n" * 8_000 + "needle = 2\n```\n"
    both.edit("Ana/code.md", f"---\ntags: [{'t' * 80}, ok]\n---\n{block}")
    both.edit("Ana/odd/.hilvan-project.yaml", "id: mi proyecto\n")
    both.edit("Ana/odd/lost.md", "Not searchable.\n")
    both.edit("Ana/last.md", "Comes through.\n")

    async def through() -> bool:
        return "Comes through." in await both.texts()

    await until(through)
    code = [each for each in await both.entries() if list(each.tags) == ["ok"]]
    assert sorted(each.origin.position for each in code) == [0, 1]
    assert any("needle" in each.text for each in code)
    assert "Not searchable." not in await both.texts()
