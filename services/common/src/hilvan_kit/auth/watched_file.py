"""A parsed file that is read again when it changes."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from hilvan_kit.auth.errors import AuthMisconfigured
from hilvan_kit.auth.principal import Clock

T = TypeVar("T")

CHECK_SECONDS = 1.0
"""How often the file is looked at, at most: one stat a second whatever the load."""


class WatchedFile(Generic[T]):
    """The value of a file; calling it gives the newest one that could be parsed.

    A changed file that is broken or gone leaves the last good value in use, with what is wrong
    in ``faults`` until it is mended. Replace the file by renaming over it: readers never see half.
    Not thread-safe: made for one event loop.
    """

    def __init__(self, path: Path, parse: Callable[[str], T], clock: Clock) -> None:
        """Read the file for the first time; AuthMisconfigured when that is not possible."""
        self._path, self._parse, self._clock = path, parse, clock
        self._checked_at = clock()
        self._stamp = self._take_stamp()
        self._value = self._load()
        self.faults: tuple[str, ...] = ()

    def __call__(self) -> T:
        """The current value, after a look at the file if the last one is a second old."""
        now = self._clock()
        # The distance in either direction: a clock that is set back must not stop the looking.
        if abs(now - self._checked_at) >= CHECK_SECONDS:
            self._checked_at = now
            self._refresh()
        return self._value

    def _refresh(self) -> None:
        stamp = self._take_stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._value, self.faults = self._load(), ()
        except AuthMisconfigured as error:
            self.faults = error.faults

    def _take_stamp(self) -> tuple[int, ...] | None:
        """What changes with every write, replacement and change of rights; None when gone."""
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns

    def _load(self) -> T:
        try:
            return self._parse(self._path.read_text(encoding="utf-8"))
        except OSError as error:
            faults: tuple[str, ...] = (f"can't be read ({error.strerror})",)
        except UnicodeDecodeError:
            faults = ("is not UTF-8 text",)
        except AuthMisconfigured as error:
            faults = error.faults
        raise AuthMisconfigured([f"{self._path}: {fault}" for fault in faults])
