"""Settings of curation, and how the program says that it can't use them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from hilvan_curation.settings import CurationSettings


def test_roots_and_vaults_are_lists_as_in_path() -> None:
    """Empty places are skipped; a tenant may have several vaults."""
    settings = CurationSettings(
        vault_roots=os.pathsep.join(["/a", "", "/b"]),
        vaults=os.pathsep.join(["acme=/x", "", "globex=/y=z", "acme=/w"]),
    )
    assert settings.roots == [Path("/a"), Path("/b")]
    assert settings.fixed_vaults == {"acme": (Path("/x"), Path("/w")), "globex": (Path("/y=z"),)}
    assert CurationSettings().roots == []
    assert CurationSettings().fixed_vaults == {}


@pytest.mark.parametrize("vaults", ["/only/a/folder", "=/x", "acme="])
def test_a_vault_without_tenant_or_folder_is_a_fault(vaults: str) -> None:
    """It is said at the start; a server without its vaults would look like an empty one."""
    with pytest.raises(ValidationError, match="is not tenant=folder"):
        CurationSettings(vaults=vaults)


def test_metadata_is_sqlite_or_none() -> None:
    """Nothing else is known."""
    with pytest.raises(ValidationError):
        CurationSettings(metadata="postgres")


def test_the_program_says_what_it_can_not_use() -> None:
    """One message with the variable's name, exit code 1, no traceback."""
    environment = {**os.environ, "HILVAN_AUTH_MODE": "", "HILVAN_CURATION_VAULTS": "nonsense"}
    done = subprocess.run(
        [sys.executable, "-m", "hilvan_curation.main"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "HILVAN_CURATION_VAULTS" in done.stderr
    assert "Traceback" not in done.stderr
