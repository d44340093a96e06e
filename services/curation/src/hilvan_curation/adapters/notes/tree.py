"""What is in the folders of a vault: listed every time, read only where a file's stamp differs."""

import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from hilvan_curation.adapters.notes import folder as files
from hilvan_curation.core import vault
from hilvan_curation.core.vault import MAX_NOTE_BYTES, PROJECT_MARKER, SPACE_MARKER
from hilvan_curation.errors import CurationError, InvalidPath, SourceUnavailable
from hilvan_curation.model.note import Fault
from hilvan_curation.model.vault import SpaceSnapshot

_TRUSTED_AFTER_NS = 2_000_000_000
"""How old a file has to be when it is read for its stamp to be trusted: a second write within
the clock's grain (2 s on the coarsest file systems) leaves the same stamp."""

_LAST_SECOND = 253_402_300_799  # of the year 9999, where the calendar of Python ends

_Stamp = tuple[int, int, int]
"""Modification time in ns, size in bytes, inode."""


@dataclass(frozen=True, slots=True)
class _Seen:
    stamp: _Stamp
    trusted: bool
    note: vault.NoteFile


@dataclass(frozen=True, slots=True)
class Known:
    """A space as of the last scan."""

    files: vault.SpaceFiles
    snapshot: SpaceSnapshot
    seen: dict[str, _Seen]


@dataclass(slots=True)
class _Tree:
    """What is in a space's folder, by path."""

    notes: dict[str, _Stamp] = field(default_factory=dict)
    projects: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def space_folders(root: Path) -> list[Path]:
    """The marked folders of a vault, by name."""
    try:
        with os.scandir(root) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError as error:
        raise SourceUnavailable(f"a vault can't be reached: {error.strerror}") from error
    return [root / name for name in names if os.path.lexists(root / name / SPACE_MARKER)]


def look(folder: Path, before: Known | None) -> Known:
    """Read what changed in a space since the last scan."""
    tree = _walk(folder)
    faults = tree.faults
    seen = before.seen if before else {}
    now: dict[str, _Seen] = {}
    for path in sorted(tree.notes):
        old = seen.get(path)
        if old and old.trusted and old.stamp == tree.notes[path]:
            now[path] = old
        elif note := _read_note(folder, path, tree.notes[path], faults):
            now[path] = note
    found = vault.SpaceFiles(
        folder=_printable(folder.name),
        marker=_read_marker(folder, SPACE_MARKER, faults),
        projects={
            place: _read_marker(folder, f"{place}/{PROJECT_MARKER}".lstrip("/"), faults)
            for place in sorted(tree.projects)
        },
        notes=tuple(each.note for each in now.values()),
        faults=tuple(sorted(faults)),
    )
    if before and before.files == found:
        return Known(before.files, before.snapshot, now)
    return Known(found, vault.build_space(found), now)


def _walk(folder: Path) -> _Tree:
    """List a space's notes and project markers; what can't be listed is a fault."""
    tree = _Tree()
    pending = [""]
    while pending:
        place = pending.pop()
        try:
            with os.scandir(folder / place) as entries:
                for entry in entries:
                    path = f"{place}/{entry.name}".lstrip("/")
                    if entry.name == PROJECT_MARKER:
                        tree.projects.append(place)
                    elif entry.name.startswith("."):
                        continue
                    elif entry.is_dir(follow_symlinks=False):
                        pending.append(path)
                    elif entry.name.endswith(".md") and (stamp := _stamp(entry)):
                        tree.notes[path] = stamp
        except OSError as error:
            tree.faults.append(Fault(_printable(place), 0, f"can't be listed: {error.strerror}"))
    return tree


def _stamp(entry: os.DirEntry[str]) -> _Stamp | None:
    """The stamp of a file, None when it went away meanwhile."""
    try:
        found = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _read_note(folder: Path, path: str, stamp: _Stamp, faults: list[Fault]) -> _Seen | None:
    started = time.time_ns()
    raw = _read_file(folder, path, vault.check_path, faults)
    if raw is None:
        return None
    seconds = min(max(stamp[0] / 1e9, 0), _LAST_SECOND)
    trusted = stamp[0] < started - _TRUSTED_AFTER_NS
    return _Seen(stamp, trusted, vault.read_note(path, raw, datetime.fromtimestamp(seconds, UTC)))


def _read_marker(folder: Path, path: str, faults: list[Fault]) -> bytes:
    return _read_file(folder, path, lambda path: path.split("/"), faults) or b""


def _read_file(
    folder: Path, path: str, parts: Callable[[str], Sequence[str]], faults: list[Fault]
) -> bytes | None:
    """Read a file that was listed; a fault when it can't be read, nothing when it is gone."""
    try:
        with system_errors(path):
            return files.read(folder, parts(path), MAX_NOTE_BYTES)
    except FileNotFoundError:
        return None
    except CurationError as error:
        faults.append(Fault(_printable(path), 0, str(error)))
        return None


def _printable(name: str) -> str:
    """A name that is valid Unicode, whatever bytes the file system holds."""
    return name.encode(errors="replace").decode()


@contextmanager
def system_errors(path: str) -> Iterator[None]:
    """Turn the system's errors into ours, absence aside."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InvalidPath(path, "is too long") from error
        raise SourceUnavailable(f"{path!r}: {error.strerror}") from error
