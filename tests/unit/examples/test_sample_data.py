"""The sample team in `examples/team` keeps what its README promises."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.paths import TEAM

from hilvan_retrieval.model.entry import Axis, Entry, Layer, Origin, Owner

VAULT = TEAM / "vault"
USERS = {"ana", "mateo", "ines", "inigo", "lena", "tom"}
TODAY = datetime(2026, 11, 30, tzinfo=UTC)
TIMES = ("create_time", "update_time", "valid_from", "valid_until")


@dataclass(frozen=True, slots=True)
class Group:
    """One row of the README's table of hidden things."""

    kind: str
    ids: tuple[str, ...]


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TEAM / name).read_text("utf-8").splitlines()]


def _export(name: str) -> Any:
    return json.loads((TEAM / name).read_text("utf-8"))


def _entry(row: dict[str, Any]) -> Entry:
    typed: dict[str, Any] = {
        "layer": Layer(row["layer"]),
        "owner": Owner(Axis(row["owner"]["axis"]), row["owner"]["id"]),
        "origin": Origin(**row.get("origin", {})),
        "update_time": datetime.fromisoformat(row["create_time"]),
    }
    typed |= {name: datetime.fromisoformat(row[name]) for name in TIMES if name in row}
    typed |= {name: tuple(row[name]) for name in ("topics", "steps", "tags") if name in row}
    return Entry(**(row | typed))


def _groups() -> dict[str, Group]:
    found = re.findall(
        r"^\| ([A-Z]\d+) \| ([^|]+) \| ([^|]+) \|",
        (TEAM / "README.md").read_text("utf-8"),
        re.MULTILINE,
    )
    return {
        name: Group(kind.strip(), tuple(re.findall(r"`([^`]+)`", ids))) for name, kind, ids in found
    }


def _of_kind(prefix: str) -> list[Group]:
    return [group for name, group in _groups().items() if name[0] == prefix]


def _frontmatter(path: Path) -> dict[str, Any]:
    parts = re.split(r"^---\r?\n", path.read_bytes().decode(), maxsplit=2, flags=re.MULTILINE)
    if len(parts) < 3 or parts[0]:
        return {}
    loaded = yaml.safe_load(parts[1])
    assert isinstance(loaded, dict)
    return loaded


def _markers(name: str) -> dict[Path, dict[str, Any]]:
    return {path.parent: yaml.safe_load(path.read_text("utf-8")) for path in VAULT.rglob(name)}


def _notes() -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(VAULT.rglob("*.md")):
        if path.name != "ideas-sueltas.md":
            yield path, _frontmatter(path)


def _readable(user: str) -> set[Owner]:
    """The owners whose entries a user may see, read from the markers alone."""
    reach = {Owner(Axis.USER, user)}
    for folder, space in _markers(".hilvan-space.yaml").items():
        if user in {space.get("owner"), *space.get("writers", []), *space.get("readers", [])}:
            reach |= {
                Owner(Axis.PROJECT, project["id"])
                for at, project in _markers(".hilvan-project.yaml").items()
                if at.is_relative_to(folder)
            }
    return reach


@pytest.fixture(scope="module")
def entries() -> dict[str, Entry]:
    """Every entry by its id, in the model of the retrieval service."""
    return {row["id"]: _entry(row) for row in _lines("entries.jsonl")}


@pytest.fixture(scope="module")
def queries() -> list[dict[str, Any]]:
    """Every query as it stands in the file."""
    return _lines("queries.jsonl")


def test_entry_counts_and_ids_are_as_stated(entries: dict[str, Entry]) -> None:
    """There are 250 memories, 30 episodes and 15 procedures, and no id twice."""
    assert len(_lines("entries.jsonl")) == len(entries) == 295
    assert Counter(entry.layer for entry in entries.values()) == {
        Layer.MEMORY: 250,
        Layer.EPISODE: 30,
        Layer.PROCEDURE: 15,
    }


def test_owners_are_the_users_and_the_projects_of_the_vault(entries: dict[str, Entry]) -> None:
    """Every user and every project owns entries, and nobody else does."""
    projects = {project["id"] for project in _markers(".hilvan-project.yaml").values()}
    assert {entry.owner for entry in entries.values()} == {
        *(Owner(Axis.USER, user) for user in USERS),
        *(Owner(Axis.PROJECT, project) for project in projects),
    }


def test_readme_counts_entries_of_each_owner(entries: dict[str, Entry]) -> None:
    """The README's table of owners holds the numbers of the file."""
    text = (TEAM / "README.md").read_text("utf-8")
    counts = Counter((entry.owner.id, entry.layer) for entry in entries.values())
    for owner in ("ana", "prj-despacho", "prj-muelle"):
        row = " | ".join(str(counts[owner, layer]) for layer in list(Layer)[:3])
        assert f"| `{owner}` | {row} |" in text


def test_times_are_ordered_and_inside_the_story(entries: dict[str, Entry]) -> None:
    """Nothing was created before September 2025, nor after November 2026, nor updated before."""
    for entry in entries.values():
        assert datetime(2025, 9, 1, tzinfo=UTC) <= entry.create_time < TODAY
        assert entry.create_time <= entry.update_time < TODAY
        if entry.valid_from and entry.valid_until:
            assert entry.valid_from < entry.valid_until


def test_signals_are_in_range_and_some_are_missing(entries: dict[str, Entry]) -> None:
    """Importance and confidence lie in 0..1; group N1 are the entries that have neither."""
    stated = [s for e in entries.values() for s in (e.importance, e.confidence) if s is not None]
    assert all(0 <= signal <= 1 for signal in stated)
    silent = {e.id for e in entries.values() if e.importance is None and e.confidence is None}
    assert set(_groups()["N1"].ids) == silent


def test_each_layer_has_its_own_fields(entries: dict[str, Entry]) -> None:
    """Episodes have topics and an outcome, procedures at least three steps, memories neither."""
    for entry in entries.values():
        episode = bool(entry.topics and entry.outcome and entry.title)
        assert episode == (entry.layer is Layer.EPISODE)
        assert (len(entry.steps) >= 3) == (entry.layer is Layer.PROCEDURE)


def test_every_group_of_the_readme_exists(entries: dict[str, Entry]) -> None:
    """All the ids of the README's table are in the file, and each kind is as numerous as told."""
    for group in _groups().values():
        assert group.ids
        assert set(group.ids) <= entries.keys()
    kinds = Counter(name[0] for name in _groups())
    assert kinds["D"] == 10
    assert kinds["C"] == 15
    assert kinds["S"] == 4
    assert kinds["T"] == 3


def test_duplicates_and_lookalikes_share_an_owner(entries: dict[str, Entry]) -> None:
    """The members of a group of duplicates, or of lookalikes, belong to one owner and layer."""
    for group in _of_kind("D") + _of_kind("T"):
        assert len(group.ids) > 1
        assert len({(entries[i].owner, entries[i].layer) for i in group.ids}) == 1


def test_contradictions_have_an_older_and_a_newer_side(entries: dict[str, Entry]) -> None:
    """Each contradiction is a pair of one owner, older first, that no link gives away."""
    for group in _of_kind("C"):
        older, newer = (entries[i] for i in group.ids)
        assert older.owner == newer.owner
        assert older.update_time < newer.create_time
        assert not older.superseded_by
        assert not newer.superseded_by


def test_supersession_links_are_those_of_the_readme(entries: dict[str, Entry]) -> None:
    """There are five links, all to newer entries of one owner, and one chain holds three."""
    links = {(e.id, e.superseded_by) for e in entries.values() if e.superseded_by}
    told = {pair for group in _of_kind("S") for pair in zip(group.ids, group.ids[1:], strict=False)}
    assert links == told
    assert len(links) == 5
    assert max(len(group.ids) for group in _of_kind("S")) == 3
    for old, new in links:
        assert entries[old].owner == entries[new].owner
        assert entries[old].create_time < entries[new].create_time


def test_muted_groups_are_the_muted_categories_of_the_vault(entries: dict[str, Entry]) -> None:
    """The entries of the categories that the vault mutes are exactly groups M1 and M2."""
    muted = {
        path.relative_to(VAULT).as_posix(): path.stem
        for path, front in _notes()
        if front.get("muted") is True
    }
    assert muted == {
        "ana/memory/smalltalk.md": "smalltalk",
        "ingenieria/memory/despacho/ci-noise.md": "ci-noise",
    }
    in_category = {
        name: {e.id for e in entries.values() if (e.owner.id, e.category) == axis}
        for name, axis in (("M1", ("ana", "smalltalk")), ("M2", ("prj-despacho", "ci-noise")))
    }
    assert {name: set(_groups()[name].ids) for name in in_category} == in_category
    assert len(in_category["M1"]) >= 10


def test_standing_preferences_are_group_p1(entries: dict[str, Entry]) -> None:
    """Ana has at least eight distinct preferences of importance 0.8 or more."""
    standing = {
        e.id
        for e in entries.values()
        if e.owner.id == "ana" and e.category == "preference" and (e.importance or 0) >= 0.8
    }
    assert set(_groups()["P1"].ids) == standing
    copies = {i for group in _of_kind("D") for i in group.ids[1:]}
    older = {group.ids[0] for group in _of_kind("C")}
    assert len(standing - copies - older) >= 8


def test_validity_groups_cover_every_interval(entries: dict[str, Entry]) -> None:
    """V1 are the entries whose validity is over, V2 the others that have an end."""
    ends = {e.id: e.valid_until for e in entries.values() if e.valid_until}
    assert set(_groups()["V1"].ids) == {i for i, end in ends.items() if end <= TODAY}
    assert set(_groups()["V2"].ids) == {i for i, end in ends.items() if end > TODAY}


def test_traps_of_text_are_really_there(entries: dict[str, Entry]) -> None:
    """Accents, Unicode forms, Japanese, emoji, code identifiers and the injection are in place."""
    groups = _groups()
    year, vet = (entries[i].text for i in groups["A1"].ids)
    assert re.search(r"\baño\b", year)
    assert re.search(r"\bano\b", vet)
    composed, decomposed = (entries[i].text for i in groups["D10"].ids)
    assert composed != decomposed
    assert composed == unicodedata.normalize("NFC", decomposed)
    injected = entries[groups["I1"].ids[0]].text
    assert "</memory>" in injected
    assert "\n# System\n" in injected
    assert "＜/context＞" in injected
    for i in groups["J1"].ids:
        assert re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", entries[i].text)
    everything = "\n".join(entry.searchable_text for entry in entries.values())
    for literal in ("OrderRouter.assign_batch", "QX-4471", "retry_budget_ms", "/var/log/", "C++"):
        assert literal in everything
    assert "🚚" in everything
    assert "revoke the old password" in entries[groups["L1"].ids[0]].steps[-1]


def test_both_languages_are_present(entries: dict[str, Entry]) -> None:
    """Spanish and English each carry at least a third of the entries."""
    spanish = re.compile(r"\b(el|la|los|las|de|que|con|para|una?)\b", re.IGNORECASE)
    english = re.compile(r"\b(the|of|and|with|is|are|for|to|in)\b", re.IGNORECASE)
    balance = Counter(
        "es" if len(spanish.findall(e.text)) > len(english.findall(e.text)) else "en"
        for e in entries.values()
    )
    assert min(balance["es"], balance["en"]) >= len(entries) / 3


def test_queries_name_known_entries_users_and_projects(
    entries: dict[str, Entry], queries: list[dict[str, Any]]
) -> None:
    """There are 25 queries; their ids, users and projects exist and no id is wanted and refused."""
    assert len(queries) == 25
    assert {query["language"] for query in queries} == {"es", "en", "ja"}
    for query in queries:
        wanted = {*query["expect"], *query.get("expect_any", [])}
        assert query["query"].strip()
        assert query["note"].strip()
        assert query["user"] in USERS
        assert wanted | set(query["reject"]) <= entries.keys()
        assert not wanted & set(query["reject"])
        assert wanted or query["reject"]


def test_queries_expect_only_what_their_user_may_see(
    entries: dict[str, Entry], queries: list[dict[str, Any]]
) -> None:
    """What is expected is readable, live, not muted, and of the project when one is named."""
    hidden = {i for name in ("M1", "M2", "V1") for i in _groups()[name].ids}
    older = {group.ids[0] for group in _of_kind("C")}
    for query in queries:
        scope = _readable(query["user"])
        if "project" in query:
            project = Owner(Axis.PROJECT, query["project"])
            assert project in scope
            scope = {project}
        for i in (*query["expect"], *query.get("expect_any", [])):
            assert entries[i].owner in scope
            assert not entries[i].superseded_by
            assert i not in hidden | older


def test_mateo_cannot_reach_muelle() -> None:
    """The project of a space that a user is no member of is not among their owners."""
    muelle = Owner(Axis.PROJECT, "prj-muelle")
    assert muelle in _readable("ana")
    assert muelle in _readable("tom")
    assert muelle not in _readable("mateo")


def test_vault_has_three_spaces_and_two_projects() -> None:
    """One personal space, two shared ones, a project in each of these, 42 notes in all."""
    spaces = _markers(".hilvan-space.yaml")
    assert Counter(space["kind"] for space in spaces.values()) == {"personal": 1, "shared": 2}
    assert {folder.name for folder in spaces} == {space["id"] for space in spaces.values()}
    homes = {folder.parent.name for folder in _markers(".hilvan-project.yaml")}
    assert homes == {space["id"] for space in spaces.values() if space["kind"] == "shared"}
    assert len(list(VAULT.rglob("*.md"))) == 42


def test_note_ids_are_unique() -> None:
    """No two notes carry the same id, and a few carry none."""
    ids = [front.get("id") for _, front in _notes()]
    named = [i for i in ids if i]
    assert len(named) == len(set(named))
    assert ids.count(None) == 4


def test_pins_are_where_a_tag_can_pin() -> None:
    """Five notes are pinned by tag, a sixth carries the tag where it has no effect."""
    tagged = {path for path, front in _notes() if "always-load" in front.get("tags", [])}
    pinnable = [VAULT / "ana", *_markers(".hilvan-project.yaml")]
    pinned = {path for path in tagged if any(path.is_relative_to(root) for root in pinnable)}
    assert len(pinned) == 5
    assert {path.name for path in tagged - pinned} == {"guia-de-codigo.md"}
    assert {path.name for path in pinned if len(path.read_text("utf-8").split()) > 1500} == {
        "plan-2027.md"
    }


def test_odd_notes_keep_their_bytes() -> None:
    """Line ends, missing and broken frontmatter and odd spacing are as the README says."""
    crlf = (VAULT / "ingenieria/glosario.md").read_bytes()
    assert crlf.count(b"\r\n") == crlf.count(b"\n") > 0
    odd = (VAULT / "ingenieria/despacho/api-v3.md").read_bytes()
    assert b"# no cambiar\n" in odd
    assert b"#\tde madrugada\n" in odd
    assert _frontmatter(VAULT / "ingenieria/despacho/api-v3.md")["id"] == "nota-api-v3"
    assert b"   \n" in odd
    assert not odd.endswith(b"\n")
    assert _frontmatter(VAULT / "ana/diario/2026-11-20.md") == {}
    with pytest.raises(yaml.YAMLError):
        _frontmatter(VAULT / "ingenieria/despacho/ideas-sueltas.md")


def test_identity_blocks_have_what_a_block_needs() -> None:
    """Seven blocks over all three groups, in a personal and a shared space, one inactive."""
    blocks = {path: front for path, front in _notes() if path.parent.name == "identity"}
    assert len(blocks) == 7
    assert {front["group"] for front in blocks.values()} == {"soul", "style", "context"}
    assert {path.parents[1].name for path in blocks} == {"ana", "ingenieria"}
    assert all(front["kind"] and isinstance(front["order"], int) for front in blocks.values())
    assert [p.name for p, front in blocks.items() if front["active"] is False] == ["pirata.md"]


def test_category_notes_name_categories_that_entries_use(entries: dict[str, Entry]) -> None:
    """Every category note has a summary and a category of the axis whose folder it is in."""
    projects = {f.name: p["id"] for f, p in _markers(".hilvan-project.yaml").items()}
    used = {(entry.owner.id, entry.category) for entry in entries.values()}
    notes = {path: front for path, front in _notes() if "memory" in path.parts}
    assert len(notes) == 10
    for path, front in notes.items():
        axis = "ana" if path.parent.name == "memory" else projects[path.parent.name]
        assert (axis, path.stem) in used
        assert front["summary"]
        assert isinstance(front["muted"], bool)


def test_mem0_export_has_the_shape_of_get_all() -> None:
    """Twelve memories under `results`, with ids, texts, users and times."""
    results = _export("mem0-export.json")["results"]
    assert len(results) == len({item["id"] for item in results}) == 12
    keys = {"id", "memory", "user_id", "hash", "metadata", "categories", "created_at", "updated_at"}
    assert all(keys <= item.keys() for item in results)
    assert any(item["updated_at"] is None for item in results)


def test_zep_export_references_resolve() -> None:
    """Edges name nodes and episodes of the file, and two facts have been invalidated."""
    export = _export("zep-export.json")
    assert [len(export[part]) for part in ("nodes", "edges", "episodes")] == [9, 10, 5]
    nodes = {node["uuid"] for node in export["nodes"]}
    episodes = {episode["uuid"] for episode in export["episodes"]}
    for edge in export["edges"]:
        assert {edge["source_node_uuid"], edge["target_node_uuid"]} <= nodes
        assert set(edge["episodes"]) <= episodes
        assert (edge["invalid_at"] is None) == (edge["expired_at"] is None)
    assert sum(edge["invalid_at"] is not None for edge in export["edges"]) == 2


def test_letta_export_references_resolve() -> None:
    """The agent names blocks, tools and messages of the file; passages come beside it."""
    export = _export("letta-export.json")
    (agent,) = export["agents"]
    assert set(agent["block_ids"]) == {block["id"] for block in export["blocks"]}
    assert set(agent["tool_ids"]) == {tool["id"] for tool in export["tools"]}
    assert agent["in_context_message_ids"] == [message["id"] for message in agent["messages"]]
    assert (len(export["blocks"]), len(agent["messages"])) == (3, 9)
    passages = _export("letta-passages.json")
    assert len({passage["id"] for passage in passages}) == 5
    assert all(passage["text"] and passage["created_at"] for passage in passages)
