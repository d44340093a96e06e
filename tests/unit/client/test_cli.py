"""The `hilvan` command where it needs no server."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hilvan_client.cli import dev_processes, dev_state, doctor_checks
from hilvan_client.cli.dev_processes import Launch
from hilvan_client.cli.dev_state import Process
from hilvan_client.cli.main import app
from hilvan_client.service_config import Service

Run = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home."""
    return tmp_path / "home"


@pytest.fixture
def run(home: Path) -> Run:
    """Run the command with that home and none of the caller's environment."""
    clean = {name: None for name in os.environ if name.startswith("HILVAN_")}
    return lambda *words: CliRunner().invoke(app, ["--home", str(home), *words], env=clean)


@pytest.fixture
def stubborn() -> Iterator[subprocess.Popen[bytes]]:
    """A process that looks like retrieval and ignores SIGTERM."""
    code = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('up', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, "hilvan_retrieval.main"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert child.stdout is not None
    child.stdout.readline()
    yield child
    child.kill()
    child.wait()
    child.stdout.close()


def test_dev_status_with_nothing_running(run: Run) -> None:
    """All three are STOPPED, the exit code says so, and JSON is all there is on stdout."""
    done = run("dev", "status", "--json")
    assert done.exit_code == 7
    assert [item["health"] for item in json.loads(done.stdout)["services"]] == ["STOPPED"] * 3
    plain = run("dev", "status")
    assert "next: hilvan dev up" in plain.stderr


def test_dev_down_with_nothing_running(run: Run) -> None:
    """Stopping nothing is fine."""
    done = run("dev", "down")
    assert (done.exit_code, done.stdout.strip()) == (0, "nothing was running")


def test_stale_state_counts_as_stopped(run: Run, home: Path) -> None:
    """A state file whose processes are gone, or are others by now, starts nothing wrong."""
    home.mkdir()
    mine = Process(os.getpid(), "127.0.0.1:1", "log")
    dev_state.save(home, {Service.RETRIEVAL: mine})
    assert dev_state.load(home) == {Service.RETRIEVAL: mine}
    assert run("dev", "status").exit_code == 7
    assert run("dev", "down").exit_code == 0
    assert dev_state.load(home) == {}


@pytest.mark.parametrize("content", ["", "[]", '{"x": {}}', '{"retrieval": {"pid": 1}}', "\x00"])
def test_a_broken_state_file_counts_as_none(home: Path, content: str) -> None:
    """A state file that is not ours is no reason to fail."""
    home.mkdir()
    (home / "dev.json").write_text(content)
    assert dev_state.load(home) == {}


def test_a_process_that_does_not_stop_is_killed(stubborn: subprocess.Popen[bytes]) -> None:
    """After the grace the process is killed, and that is told."""
    process = Process(stubborn.pid, "127.0.0.1:1", "log")
    assert dev_state.is_running(Service.RETRIEVAL, stubborn.pid)
    assert not dev_state.is_running(Service.CURATION, stubborn.pid)
    assert dev_processes.stop(Service.RETRIEVAL, process, timeout=0.2) is False
    assert stubborn.wait(timeout=20) != 0
    assert dev_processes.stop(Service.RETRIEVAL, process, timeout=0.2) is True


def test_services_are_started_with_what_they_need(home: Path) -> None:
    """Each gets its address, its folders and the addresses of those before it."""
    launch = Launch(home, dict.fromkeys(Service, "127.0.0.1:0"), (Path("/a"), Path("/b")), home)
    upstream = {Service.RETRIEVAL: "127.0.0.1:5", Service.CURATION: "127.0.0.1:6"}
    retrieval = dev_processes.environment(launch, Service.RETRIEVAL, {})
    assert retrieval["HILVAN_RETRIEVAL_DATA_DIR"] == str(home / "retrieval")
    assert retrieval["HILVAN_RETRIEVAL_MODEL_DIR"] == str(home)
    curation = dev_processes.environment(
        launch, Service.CURATION, {Service.RETRIEVAL: "127.0.0.1:5"}
    )
    assert curation["HILVAN_CURATION_VAULT_ROOTS"] == os.pathsep.join(["/a", "/b"])
    assert curation["HILVAN_CURATION_RETRIEVAL_TARGET"] == "127.0.0.1:5"
    assert dev_processes.environment(launch, Service.ASSEMBLER, upstream) == {
        "HILVAN_AUTH_MODE": "development",
        "HILVAN_ASSEMBLER_LISTEN": "127.0.0.1:0",
        "HILVAN_ASSEMBLER_READY_FILE": str(home / "ready" / "assembler.json"),
        "HILVAN_ASSEMBLER_RETRIEVAL_TARGET": "127.0.0.1:5",
        "HILVAN_ASSEMBLER_CURATION_TARGET": "127.0.0.1:6",
    }


def test_nobody_listening_is_exit_code_7_with_advice(run: Run) -> None:
    """An unreachable service says what to do, on stderr only, without a traceback."""
    done = run("--retrieval", "127.0.0.1:1", "--timeout", "5", "get", "mem-1")
    assert (done.exit_code, done.stdout) == (7, "")
    assert "error: UNAVAILABLE" in done.stderr
    assert "next: start the services with `hilvan dev up`" in done.stderr
    assert "Traceback" not in done.stderr


def test_debug_shows_the_traceback(run: Run) -> None:
    """--debug, at any place, shows where it happened."""
    done = run("--retrieval", "127.0.0.1:1", "get", "mem-1", "--debug")
    assert "Traceback" in done.stderr


def test_errors_are_json_on_stderr_when_asked(run: Run) -> None:
    """With --json stdout stays empty and stderr has one document."""
    done = run("assemble", "q", "--budget", "memory=1", "--json")
    assert (done.exit_code, done.stdout) == (2, "")
    error = json.loads(done.stderr)["error"]
    assert error["code"] == 2
    assert "memories" in error["next_step"]


@pytest.mark.parametrize("words", [["search"], ["nothing"], ["search", "q", "--limit", "0"]])
def test_wrong_usage_is_exit_code_2(run: Run, words: list[str]) -> None:
    """Typing errors are the shell's usual code."""
    assert run(*words).exit_code == 2


def test_words_after_a_double_dash_are_no_flags(run: Run) -> None:
    """A message that looks like a flag can be given behind `--`."""
    done = run("--assembler", "127.0.0.1:1", "search", "--", "--json")
    assert done.exit_code == 7
    assert done.stderr.startswith("error:")


def test_unknown_import_format_says_which_are_known(run: Run, tmp_path: Path) -> None:
    """A file that is nothing known is refused before anything is sent."""
    path = tmp_path / "x.json"
    path.write_text("{}")
    done = run("import", str(path))
    assert done.exit_code == 3
    assert "next: give --format, one of jsonl, locomo, mem0, zep, letta" in done.stderr


def test_export_as_json_needs_a_file(run: Run) -> None:
    """One document and many lines can't share stdout."""
    assert run("export", "--json").exit_code == 2


def test_key_new_makes_a_key_that_verifies(run: Run) -> None:
    """The line of a new key, in a key file, grants what was asked for."""
    from hilvan_kit.auth import ApiKeyVerifier, parse_api_keys

    done = run("key", "new", "--tenant", "acme", "--user", "ana", "--role", "admin", "--json")
    made = json.loads(done.stdout)
    keys = parse_api_keys(made["line"])
    grant = ApiKeyVerifier(lambda: keys, lambda: 0.0).verify(made["key"])
    assert (grant.tenant, grant.user, grant.role.value) == ("acme", "ana", "admin")
    plain = run("key", "new", "--tenant", "acme", "--user", "ana")
    assert plain.stdout.startswith("hv_")


@pytest.mark.parametrize("words", [["--role", "king"], ["--user", "a b"]])
def test_key_new_refuses_what_no_key_can_have(run: Run, words: list[str]) -> None:
    """Malformed names and roles are usage errors."""
    assert run("key", "new", "--tenant", "acme", "--user", "ana", *words).exit_code == 2


def test_doctor_without_services_lists_all_three(run: Run) -> None:
    """Each service that can't be reached is a finding with advice, and the code says attention."""
    words = [f"--{service}=127.0.0.1:1" for service in Service]
    done = run(*words, "doctor", "--json")
    assert done.exit_code == 9
    document = json.loads(done.stdout)
    assert document["healthy"] is False
    bad = [item for item in document["findings"] if not item["ok"]]
    assert [item["check"] for item in bad] == [f"{service} health" for service in Service]
    assert all("hilvan dev up" in item["advice"] for item in bad)


def test_versions_are_those_installed() -> None:
    """The doctor names what runs here."""
    assert "grpcio 1." in doctor_checks.versions().seen
