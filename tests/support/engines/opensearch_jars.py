"""The jars of the local OpenSearch: from Maven once, checked by hash at each use."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from support.engines.notes import EngineBroken, EngineMissing
from support.paths import ROOT

VERSION = "2.19.6"
SOURCES = ROOT / "deploy" / "opensearch-local"
LOCK = SOURCES / "jars.sha256"
DOWNLOAD_S = 90.0


class WrongJars(EngineBroken):
    """What was downloaded is not what the lock names."""


def cache() -> Path:
    """Where the jars are kept: beneath HILVAN_CACHE_DIR, or ~/.cache/hilvan."""
    root = os.environ.get("HILVAN_CACHE_DIR") or Path.home() / ".cache" / "hilvan"
    return Path(root) / f"opensearch-{VERSION}"


def hashes(folder: Path) -> dict[str, str]:
    """The sha256 of each jar in a folder, by name."""
    return {
        jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in sorted(folder.glob("*"))
    }


def locked() -> dict[str, str]:
    """The jars that the lock names, with their sha256."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def download(target: Path) -> None:
    """Let Maven bring the jars, through whatever mirror it is set up for.

    Raises:
        EngineMissing: Without Maven, or when its registry doesn't give them in time.
    """
    if not (mvn := shutil.which("mvn")):
        raise EngineMissing("mvn (Maven) is not installed")
    command = [mvn, "-B", "-q", "-f", str(SOURCES / "pom.xml"), "dependency:copy-dependencies"]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={target}"]
    try:
        subprocess.run(
            command,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=DOWNLOAD_S,
            text=True,
        )
    except subprocess.TimeoutExpired as error:
        raise EngineMissing(f"Maven took over {DOWNLOAD_S:.0f} s to bring OpenSearch") from error
    except subprocess.CalledProcessError as error:
        told = [line for line in str(error.stdout).splitlines() if "ERROR" in line]
        raise EngineMissing(f"Maven can't bring OpenSearch: {' '.join(told[:1])}") from error


def jars() -> Path:
    """The folder of jars, downloaded unless a whole one is there.

    The download goes into a folder of its own that is renamed when it is whole: one that was cut
    is never taken for the jars.

    Raises:
        EngineMissing: They can't be had here.
        WrongJars: What came is not what the lock names.
    """
    home = cache()
    if hashes(home) == locked():
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f"{home.name}.") as folder:
        fresh = Path(folder) / "jars"
        download(fresh)
        if got := dict(hashes(fresh).items() ^ locked().items()):
            raise WrongJars(f"not as {LOCK.name} has them: {', '.join(sorted(got))}")
        if home.exists():
            home.rename(Path(folder) / "broken")
        fresh.rename(home)
    return home
