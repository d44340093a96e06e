"""What the README tells people to do works."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import grpc
import pytest
import typer
from google.protobuf import json_format
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan_client.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ATTENTION = 9


def fenced(language: str) -> list[str]:
    """The README's code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def block(language: str, begin: str) -> str:
    """The one block of a language that begins so."""
    (found,) = [each for each in fenced(language) if each.startswith(begin)]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_target_named_in_a_page_exists(page: Path) -> None:
    """A `make` command of a page has a target in the Makefile."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8"))
    assert set(named) <= set(targets)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_hilvan_command_named_in_a_page_exists(page: Path) -> None:
    """The words after `hilvan` in inline code are commands."""
    for line in re.findall(r"`hilvan ([^`]+)`", page.read_text(encoding="utf-8")):
        command = typer.main.get_command(app)
        words = shlex.split(line)
        while words and hasattr(command, "commands"):
            assert words[0] in command.commands, f"hilvan {line}"
            command = command.commands[words.pop(0)]


def test_the_commands_of_the_readme_run(environment: Mapping[str, str]) -> None:
    """Ten lines, from `hilvan dev up` to `hilvan dev down`, all succeed on the sample team."""
    lines = [shlex.split(line) for line in block("sh", "hilvan dev up").splitlines()]
    assert len(lines) == 10
    assert lines[-1] == ["hilvan", "dev", "down"]
    for words in lines[1:-1]:
        done = subprocess.run(
            words,
            check=False,
            env=environment,
            cwd=environment["PWD"],
            capture_output=True,
            text=True,
        )
        # The doctor looks at this machine as well, and may have something to say about it.
        allowed = (0, ATTENTION) if words[1] == "doctor" else (0,)
        assert done.returncode in allowed, (words, done.stderr)
        assert done.stdout.strip(), words


def test_the_python_of_the_readme_prints_a_prompt(environment: Mapping[str, str]) -> None:
    """The snippet, with only the address replaced, prints Ana's system prompt."""
    snippet = block("python", "import asyncio")
    assert "127.0.0.1:7703" in snippet
    source = snippet.replace("127.0.0.1:7703", environment["HILVAN_ASSEMBLER"])
    done = subprocess.run(
        [sys.executable, "-c", source],
        check=False,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("<identity>")


def test_the_grpcurl_line_of_the_readme_is_a_call(environment: Mapping[str, str]) -> None:
    """Its method is in the server's reflection, and its JSON with its metadata gets a prompt."""
    words = shlex.split(block("sh", "grpcurl"))
    service, _, method = words[-1].partition("/")
    headers = [words[at + 1] for at, word in enumerate(words) if word == "-H"]
    pairs = (header.split(": ") for header in headers)
    request = json_format.ParseDict(json.loads(words[words.index("-d") + 1]), pb.AssembleRequest())
    with grpc.insecure_channel(environment["HILVAN_ASSEMBLER"]) as channel:
        assert service in ProtoReflectionDescriptorDatabase(channel).get_services()
        call = channel.unary_unary(
            f"/{service}/{method}",
            request_serializer=pb.AssembleRequest.SerializeToString,
            response_deserializer=pb.AssembleResponse.FromString,
        )
        answer = call(request, metadata=tuple((name, each) for name, each in pairs), timeout=20)
    assert answer.prompt.startswith("<identity>")
