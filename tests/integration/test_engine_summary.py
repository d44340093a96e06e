"""A run of tests that asks for an engine which can't be had."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
ASKS = '''
def test_asks(opensearch_url: str) -> None:
    """Asks for an engine."""
'''


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a test that asks for OpenSearch where nothing is installed and Docker is not there."""
    (folder / "test_asks.py").write_text(ASKS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    given = {key: value for key, value in os.environ.items() if not key.startswith("HILVAN_TEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env={
            **given,
            "PATH": "",
            "PYTHONPATH": str(TESTS),
            "DOCKER_HOST": f"unix://{folder}/none.sock",
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize(
    ("options", "code", "outcome"),
    [((), 0, "1 skipped"), (("--require-real",), 1, "1 error")],
)
def test_a_missing_engine_is_skipped_or_fails_and_is_named(
    options: tuple[str, ...], code: int, outcome: str, tmp_path: Path
) -> None:
    """The summary tells the reason of each way; --require-real decides the exit code."""
    done = run(tmp_path, *options)
    assert (done.returncode, outcome in done.stdout) == (code, True), done.stdout + done.stderr
    assert (
        "OpenSearch: MISSING: HILVAN_TEST_OPENSEARCH_URL is not set; "
        "java is not installed; Docker doesn't answer\n"
    ) in done.stdout
