"""Metadata `none`, from settings to the wire: files are all there is (spec, section 2.6)."""

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from support.curation.service import Keys, Refused, call, copy_of_example, serve_servicer

from hilvan.curation.v1 import curation_service_pb2 as pb
from hilvan_curation.main import open_service
from hilvan_curation.settings import CurationSettings

PERSONAL = pb.Scope()
DESPACHO = pb.Scope(project_id="prj-despacho")
NOBODY_LISTENS = "127.0.0.1:1"


@dataclass(slots=True)
class Running:
    """A service as `main` joins it."""

    channel: grpc.aio.Channel
    keys: Keys
    vault: Path

    async def call(self, method: str, request: Any = None, who: str = "ana", **named: str) -> Any:
        """Call a method as somebody."""
        return await call(self.channel, method, request, self.keys.metadata(who, **named))


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Running]:
    """Without a database, without retrieval, over the sample vault."""
    vault = copy_of_example(tmp_path)
    settings = CurationSettings(
        metadata="none",
        vaults=f"norte={vault}",
        data_dir=tmp_path / "data",
        retrieval_target=NOBODY_LISTENS,
    )
    async with (
        open_service(settings) as (servicer, ping),
        serve_servicer(servicer) as (channel, keys, _),
    ):
        await ping()
        yield Running(channel, keys, vault)
    assert not (tmp_path / "data").exists()


async def test_tag_pins_are_written_and_load(service: Running) -> None:
    """Pinning writes the file, and the scope has the note from then on."""
    for method, there in (("PinNote", True), ("UnpinNote", False)):
        request = getattr(pb, f"{method}Request")(note_id="nota-ana-salud")
        assert (await service.call(method, request)).note.pinned is there
        assert ("always-load" in (service.vault / "ana/salud.md").read_text()) is there
        scope = await service.call("ResolveScope", pb.ResolveScopeRequest(scope=PERSONAL))
        assert ("nota-ana-salud" in {each.note_id for each in scope.elements}) is there


async def test_mutes_are_written_and_silence(service: Running) -> None:
    """In the category note's file."""
    request = pb.SetCategoryMuteRequest(scope=PERSONAL, category="health", muted=True)
    assert (await service.call("SetCategoryMute", request)).category.muted
    assert "muted: true" in (service.vault / "ana/memory/health.md").read_text()
    scope = await service.call("ResolveScope", pb.ResolveScopeRequest(scope=PERSONAL))
    verdicts = {each.title: each.verdict for each in scope.elements}
    assert verdicts["health"] == pb.VERDICT_MUTED


async def test_identity_comes_from_files(service: Running) -> None:
    """One's own and the team's."""
    answer = await service.call("ListIdentityBlocks", pb.ListIdentityBlocksRequest(scope=DESPACHO))
    assert len(answer.blocks) == 7


async def test_shared_spaces_are_everybodys_and_personal_ones_their_owners(
    service: Running,
) -> None:
    """There are no members; the system principal works in every shared space."""
    for who in ({"who": "eve"}, {"who": "svc", "tenant": "norte"}):
        spaces = (await service.call("ListSpaces", **who)).spaces
        assert [(each.id, each.writable) for each in spaces] == [
            ("ingenieria", True),
            ("operaciones", True),
        ]
    assert (await service.call("ListSpaces", who="other")).spaces == []


async def test_a_session_tells_the_scope_and_keeps_nothing(service: Running) -> None:
    """Without an id, without changes."""
    for _ in range(2):
        opened = await service.call("OpenSession", pb.OpenSessionRequest(scope=DESPACHO))
        assert opened.session_id == ""
        assert not opened.HasField("since_time")
        assert opened.note_count == 8
        assert list(opened.notes) == []


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("AddVault", pb.AddVaultRequest(path="/anywhere")),
        ("SetSpaceMembers", pb.SetSpaceMembersRequest(space_id="ingenieria")),
        ("SetSpaceMembers", pb.SetSpaceMembersRequest(space_id="made-up")),
        ("AcknowledgeSession", pb.AcknowledgeSessionRequest(session_id="made-up")),
    ],
)
async def test_what_needs_a_database_says_so(method: str, request_: Any, service: Running) -> None:
    """FAILED_PRECONDITION with the method's name, whatever else would be wrong."""
    answer = await service.call(method, request_, "root")
    assert isinstance(answer, Refused)
    assert (answer.code, answer.reason) == (
        grpc.StatusCode.FAILED_PRECONDITION,
        "METADATA_REQUIRED",
    )
    assert answer.metadata == {"method": method}


async def test_with_a_database_the_same_service_keeps_vaults(tmp_path: Path) -> None:
    """`sqlite`: a vault beneath a root is added once, and a second start has it."""
    vault = copy_of_example(tmp_path)
    settings = CurationSettings(
        data_dir=tmp_path / "data",
        vault_roots=os.pathsep.join(["/nonexistent", str(tmp_path)]),
        retrieval_target=NOBODY_LISTENS,
    )
    for start in ("first", "second"):
        async with (
            open_service(settings) as (servicer, ping),
            serve_servicer(servicer) as (channel, keys, _),
        ):
            running = Running(channel, keys, vault)
            if start == "first":
                await running.call("AddVault", pb.AddVaultRequest(path=str(vault)), "root")
            await ping()
            assert len((await running.call("ListSpaces")).spaces) == 3
