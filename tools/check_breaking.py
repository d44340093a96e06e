"""Run `buf breaking` against main, where there is a main that has protos."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUF = Path(sys.executable).parent / "buf"


def main() -> int:
    """Return buf's exit code; 0 with a word where there is nothing to compare with."""
    for base in ("origin/main", "main"):
        command = ["git", "-C", str(ROOT), "ls-tree", "--name-only", base, "proto/hilvan"]
        listing = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (fixed words)
        if listing.returncode == 0 and listing.stdout.strip():
            break
    else:
        print("buf breaking: skipped, no main branch with protos to compare with")
        return 0
    against = f"{ROOT / '.git'}#branch={base},subdir=proto"
    command = [str(BUF), "breaking", "proto", "--against", against]
    return subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603 (fixed words)


if __name__ == "__main__":
    sys.exit(main())
