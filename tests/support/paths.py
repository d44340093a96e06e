"""Where tests find the project's own files."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

TESTS = ROOT / "tests"
DATA = TESTS / "data"
TEAM = ROOT / "examples" / "team"
"""The sample team, as `make demo` loads it."""
