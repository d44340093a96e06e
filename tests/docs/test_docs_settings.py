"""The README's table of settings is what the settings classes say."""

import subprocess
import sys
from pathlib import Path

from hilvan_assembler.settings import AssemblerSettings
from hilvan_curation.settings import CurationSettings
from hilvan_kit.settings import CredentialSettings
from hilvan_retrieval.settings import RetrievalSettings

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


def tool(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run the tool."""
    command = [sys.executable, ROOT / "tools" / "settings_table.py", *words]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_the_table_of_settings_is_current() -> None:
    """`python tools/settings_table.py` would change nothing."""
    done = tool("--check")
    assert done.returncode == 0, done.stdout


def test_every_setting_of_every_service_is_in_the_readme() -> None:
    """Each variable stands in the table, under its own name or under that of all services."""
    text = README.read_text(encoding="utf-8")
    for kind in (RetrievalSettings, CurationSettings, AssemblerSettings, CredentialSettings):
        prefix = kind.model_config.get("env_prefix", "")
        for name in kind.model_fields:
            own, shared = f"`{prefix}{name.upper()}`", f"`HILVAN_<SERVICE>_{name.upper()}`"
            assert own in text or shared in text, own


def test_a_stale_table_is_found_and_written_anew(tmp_path: Path) -> None:
    """--check changes nothing and fails; without it the table is current again, byte for byte."""
    readme = tmp_path / "README.md"
    stale = README.read_text(encoding="utf-8").replace("127.0.0.1:7701", "127.0.0.1:1")
    readme.write_text(stale, encoding="utf-8")
    assert tool("--check", readme).returncode == 1
    assert readme.read_text(encoding="utf-8") == stale
    assert tool(readme).returncode == 0
    assert readme.read_bytes() == README.read_bytes()


def test_a_page_without_the_markers_is_left_alone(tmp_path: Path) -> None:
    """The tool says what it misses, and writes nothing."""
    page = tmp_path / "page.md"
    page.write_text("# Nothing here\n")
    done = tool(page)
    assert done.returncode != 0
    assert "expected <!-- settings" in done.stderr
    assert page.read_text() == "# Nothing here\n"
