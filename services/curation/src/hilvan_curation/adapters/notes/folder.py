"""Reading and replacing files beneath one folder, and nowhere else.

Every folder on the way is opened by its own name from the one above, links refused, so that no
path and no link that appears meanwhile leads out of the root. All calls block.
"""

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from hilvan_curation.errors import InvalidPath, NoteTooLarge

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # not waiting for the writer of a pipe

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_IN_THE_WAY = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO})


class Changed(Exception):
    """The file is not what the caller saw."""


def read(root: Path, parts: Sequence[str], limit: int) -> bytes:
    """Return a file's bytes.

    Raises:
        InvalidPath: a link, or no regular file.
        NoteTooLarge: more than ``limit`` bytes.
        OSError: it is absent or can't be read.
    """
    with _parent(root, parts) as folder:
        return _read(folder, parts, limit)


def replace(
    root: Path, parts: Sequence[str], data: bytes, expected: bytes | None, limit: int
) -> None:
    """Put ``data`` in the place of ``expected``; None stands for no file, whose folders are made.

    Two writers of this program exclude each other by a lock on the folder, also in different
    processes. Another program can slip in between the comparison and the renaming.

    Raises:
        Changed: the file's bytes are not ``expected``.
        InvalidPath, NoteTooLarge, OSError: as for `read`.
    """
    with _parent(root, parts, create=expected is None) as folder:
        with suppress(OSError):  # some network file systems can't lock folders
            fcntl.flock(folder, fcntl.LOCK_EX)
        old = None
        with suppress(FileNotFoundError):
            old = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
        if expected != (_read(folder, parts, limit) if old else None):
            raise Changed
        _rename_over(folder, parts[-1], data, old)


def _rename_over(folder: int, name: str, data: bytes, old: os.stat_result | None) -> None:
    """Write a hidden file beside the target and rename it, both made durable."""
    temporary = f".hilvan-{secrets.token_hex(8)}.tmp"
    try:
        with open(temporary, "wb", opener=_opener(folder, _NEW_FILE)) as file:
            file.write(data)
            file.flush()
            if old:
                with suppress(PermissionError):  # only the superuser gives files away
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
            os.fsync(file.fileno())
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)


def _read(folder: int, parts: Sequence[str], limit: int) -> bytes:
    path = "/".join(parts)
    with _only_files(path), open(parts[-1], "rb", opener=_opener(folder, _FILE)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InvalidPath(path, "is not a regular file")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise NoteTooLarge(path, limit)
    return data


def _opener(folder: int, flags: int) -> Callable[[str, int], int]:
    return lambda name, _: os.open(name, flags, 0o666, dir_fd=folder)


@contextmanager
def _parent(root: Path, parts: Sequence[str], *, create: bool = False) -> Iterator[int]:
    """Open the folder that holds the file."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            below = _enter(folder, part, "/".join(parts), create=create)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def _enter(folder: int, name: str, path: str, *, create: bool) -> int:
    with _only_files(path):
        try:
            return os.open(name, _FOLDER, dir_fd=folder)
        except FileNotFoundError:
            if not create:
                raise
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
        os.fsync(folder)
        return os.open(name, _FOLDER, dir_fd=folder)


@contextmanager
def _only_files(path: str) -> Iterator[None]:
    """Say that something other than a folder or a file is in the way."""
    try:
        yield
    except OSError as error:
        if error.errno in _IN_THE_WAY:
            raise InvalidPath(path, "passes a link, or is not a regular file") from error
        raise
