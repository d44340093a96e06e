"""The `hilvan` command against a real server in a thread."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from google.rpc import error_details_pb2 as details
from support.client.script import Refusal, Script
from support.client.server import serve_in_thread
from typer.testing import CliRunner, Result

from hilvan.common.v1.entry_pb2 import AXIS_PROJECT, AXIS_USER, LAYER_MEMORY, Entry, Owner
from hilvan_client.cli.main import app

Run = Callable[..., Result]
ANA = Owner(axis=AXIS_USER, id="ana")


@pytest.fixture
def script() -> Script:
    """What the server of a test does."""
    return Script()


@pytest.fixture
def run(script: Script, tmp_path: Path) -> Iterator[Run]:
    """Run the command against that server, as the environment would point to it."""
    clean: dict[str, str | None] = {name: None for name in os.environ if name.startswith("HILVAN_")}
    with serve_in_thread(script) as address:
        services = ("HILVAN_RETRIEVAL", "HILVAN_CURATION", "HILVAN_ASSEMBLER")
        environment = clean | dict.fromkeys(services, address) | {"HILVAN_HOME": str(tmp_path)}
        yield lambda *words: CliRunner().invoke(app, list(words), env=environment)


def test_search_shows_hits(run: Run, script: Script) -> None:
    """Hits come as a table, and the options reach the server."""
    done = run("search", "tea", "--mode", "keyword", "--limit", "3", "--project", "team/despacho")
    assert done.exit_code == 0
    assert "mem-1" in done.stdout
    assert "about tea" in done.stdout
    sent = script.requests[-1]
    assert (sent.limit, sent.mode, sent.project_id) == (3, 2, "prj-1")


def test_search_as_json_is_one_document(run: Run) -> None:
    """--json may stand behind the command; stdout is the message and nothing else."""
    done = run("search", "tea", "--json")
    document = json.loads(done.stdout)
    assert document["hits"][0]["entry"]["id"] == "mem-1"
    assert document["degraded"] == []
    assert done.stderr == ""


def test_unknown_handles_are_not_found(run: Run) -> None:
    """A project handle that nobody knows is exit code 4."""
    assert run("search", "tea", "--project", "no/such").exit_code == 4


def test_assemble_prints_the_prompt_alone(run: Run, script: Script) -> None:
    """Stdout is the prompt; what is missing is told on stderr; budgets reach the server."""
    done = run("assemble", "hello", "--budget", "memories=5", "--budget", "notes=0")
    assert done.stdout == "<facts>hello</facts>\n"
    assert "degraded: keyword: no words" in done.stderr
    budgets = script.requests[-1].overrides.budgets
    assert (budgets.memories, budgets.notes) == (5, 0)
    assert budgets.HasField("notes")
    assert not budgets.HasField("pinned")


def test_assemble_explains_on_stderr(run: Run) -> None:
    """Sections, times and reasons stand beside the prompt, not in it."""
    done = run("assemble", "hello", "--explain")
    assert done.stdout == "<facts>hello</facts>\n"
    for word in ("facts", "embed", "over budget", "mem-9", "0.500", "7 tokens"):
        assert word in done.stderr


@pytest.mark.parametrize("command", ["assemble", "recall"])
def test_memory_without_known_mutes_has_to_be_asked_for(
    run: Run, script: Script, command: str
) -> None:
    """The server is told so with --accept-stale-mutes alone."""
    for options in ([], ["--accept-stale-mutes"]):
        assert run(command, "hello", *options).exit_code == 0
        assert script.requests[-1].accept_stale_mutes is bool(options)


def test_recall_prints_the_bundle(run: Run, script: Script) -> None:
    """The bundle is all of stdout, and the budget reaches the server."""
    done = run("recall", "tea", "--budget", "9")
    assert (done.exit_code, done.stdout) == (0, "a passage\n")
    assert script.requests[-1].token_budget == 9


def test_start_session_shows_its_id(run: Run) -> None:
    """A session begins with its id."""
    assert "ses-1" in run("start-session").stdout


def test_remember_is_the_callers_unless_a_project_is_given(run: Run, script: Script) -> None:
    """The owner is the user named before the command, the development user, or the project."""
    assert run("--user", "ana", "remember", "likes tea", "--category", "preference").exit_code == 0
    assert script.requests[-1].entry.owner == ANA
    assert script.requests[-1].entry.category == "preference"
    assert script.metadata[-1]["hilvan-user"] == "ana"
    run("remember", "likes tea")
    assert script.requests[-1].entry.owner == Owner(axis=AXIS_USER, id="dev")
    run("remember", "likes tea", "--project", "prj-2")
    assert script.requests[-1].entry.owner == Owner(axis=AXIS_PROJECT, id="prj-2")


def test_remember_with_a_key_needs_to_know_whose(run: Run) -> None:
    """A key does not tell the client its user, so nothing is guessed."""
    assert run("--api-key", "hv_x", "remember", "likes tea").exit_code == 2


def test_get_and_forget(run: Run, script: Script) -> None:
    """An entry is shown with its text; forgetting sends its id."""
    script.entries["a"] = Entry(id="a", text="the text", layer=LAYER_MEMORY, owner=ANA)
    assert "the text" in run("get", "a").stdout
    assert json.loads(run("forget", "a", "--json").stdout) == {"id": "a", "forgotten": True}
    assert (script.calls[-1], script.requests[-1].id) == ("DeleteEntry", "a")


def test_refusals_become_exit_codes_with_every_field(run: Run, script: Script) -> None:
    """A refused request lists its violations and exits with 3."""
    violation = details.BadRequest.FieldViolation(field="entry.text", description="is missing")
    bad = details.BadRequest(field_violations=[violation])
    script.refusals = [Refusal(grpc.StatusCode.INVALID_ARGUMENT, "bad", (bad,))]
    done = run("remember", "x")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "entry.text: is missing" in done.stderr


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (grpc.StatusCode.NOT_FOUND, 4),
        (grpc.StatusCode.ABORTED, 5),
        (grpc.StatusCode.UNAUTHENTICATED, 6),
        (grpc.StatusCode.PERMISSION_DENIED, 6),
        (grpc.StatusCode.DEADLINE_EXCEEDED, 7),
        (grpc.StatusCode.UNIMPLEMENTED, 8),
        (grpc.StatusCode.INTERNAL, 1),
    ],
)
def test_each_error_has_its_exit_code(
    run: Run, script: Script, code: grpc.StatusCode, expected: int
) -> None:
    """Scripts can tell kinds of failure apart."""
    script.refusals = [Refusal(code)]
    done = run("remember", "x")
    assert done.exit_code == expected
    assert "next: " in done.stderr


def test_import_then_export_gives_the_same_lines(run: Run, script: Script, tmp_path: Path) -> None:
    """What was imported is exported byte for byte, and importing it again changes nothing."""
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    line = b'{"id":"a","layer":"memory","owner":{"axis":"user","id":"ana"},"text":"x"}\n'
    source.write_bytes(line)
    assert json.loads(run("import", str(source), "--json").stdout)["stored"] == 1
    assert "0 stored, 1 unchanged" in run("import", str(source)).stdout
    assert run("export", str(target)).exit_code == 0
    assert target.read_bytes() == line
    assert run("export").stdout_bytes == line
    assert list(script.entries) == ["a"]


def test_import_lists_faults_and_says_attention(run: Run, tmp_path: Path) -> None:
    """Bad records of the file and of the server are listed; the others are stored."""
    source = tmp_path / "in.jsonl"
    good = '{"id":"%s","layer":"memory","owner":{"axis":"user","id":"ana"},"text":"%s"}'
    source.write_text("\n".join([good % ("a", "x"), "{", good % ("c", "bad")]))
    done = run("import", str(source))
    assert done.exit_code == 9
    assert "1 stored, 0 unchanged, 2 left out" in done.stdout
    assert "left out: line 2:" in done.stderr
    assert "left out: c: entry.text: bad" in done.stderr
    listed = json.loads(run("import", str(source), "--json").stdout)
    assert [fault["where"] for fault in listed["faults"]] == ["line 2", "c"]


def test_import_takes_an_owner_and_a_format(run: Run, script: Script) -> None:
    """Files that name nobody get the given owner; without one the command says what to give."""
    letta = Path(__file__).parent.parent / "data" / "importers" / "letta.json"
    refused = run("import", str(letta))
    assert refused.exit_code == 3
    assert "next: give --owner-user or --project" in refused.stderr
    run("import", str(letta), "--format", "letta", "--owner-user", "ana")
    assert script.entries["letta:hebra:human"].owner == ANA


def test_a_failed_export_leaves_the_old_file(run: Run, script: Script, tmp_path: Path) -> None:
    """An export that breaks off replaces nothing and leaves no draft."""
    target = tmp_path / "out.jsonl"
    target.write_text("old")
    script.refusals = [Refusal(grpc.StatusCode.INTERNAL)]
    assert run("export", str(target)).exit_code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    assert target.read_text() == "old"


def test_vault_commands(run: Run, script: Script) -> None:
    """Vaults are added by absolute path and listed with their projects; faults want attention."""
    assert "Space" in run("vault", "add", "notes").stdout
    assert Path(script.requests[-1].path).is_absolute()
    listed = json.loads(run("vault", "list", "--json").stdout)
    assert (listed["spaces"][0]["id"], listed["projects"][0]["id"]) == ("s", "prj-1")
    assert "team/despacho" in run("vault", "list").stdout
    faults = run("vault", "faults")
    assert faults.exit_code == 9
    assert "a quote is open" in faults.stdout


def test_doctor_finds_a_healthy_system_healthy(run: Run) -> None:
    """Health, contract, index and clock are all looked at."""
    done = run("doctor", "--json")
    document = json.loads(done.stdout)
    assert [item for item in document["findings"] if not item["ok"]] == []
    assert (done.exit_code, document["healthy"]) == (0, True)
    checks = {item["check"] for item in document["findings"]}
    assert {"retrieval health", "retrieval contract", "vector index 1", "clock"} <= checks
    assert "the same on both sides" in done.stdout


def test_doctor_names_what_failed(run: Run, script: Script) -> None:
    """A service that answers with errors is a finding, not a crash."""
    script.refusals = [Refusal(grpc.StatusCode.INTERNAL)]
    done = run("doctor")
    assert done.exit_code == 9
    assert "PROBLEM" in done.stdout
    assert "next: indexes:" in done.stdout
