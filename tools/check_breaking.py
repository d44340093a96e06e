"""Run `buf breaking` against main, where there is a main that has protos."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUF = Path(sys.executable).parent / "buf"


def main() -> int:
    """Return buf's exit code; 0 with a word where there is nothing to compare with."""
    base = next((name for name in ("origin/main", "main") if _has_protos(name)), None)
    if base is None:
        print("buf breaking: skipped, no main branch with protos to compare with")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(  # noqa: S603 (fixed words)
            ["git", "-C", str(ROOT), "archive", base, "proto", "buf.yaml"],  # noqa: S607
            capture_output=True,
            check=True,
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)  # noqa: S603, S607
        shutil.copytree(ROOT / "gen" / "third_party", Path(folder) / "gen" / "third_party")
        command = [str(BUF), "breaking", "--against", folder]
        return subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603 (fixed words)


def _has_protos(branch: str) -> bool:
    command = ["git", "-C", str(ROOT), "ls-tree", "--name-only", branch, "proto/hilvan"]
    listing = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return listing.returncode == 0 and bool(listing.stdout.strip())


if __name__ == "__main__":
    sys.exit(main())
