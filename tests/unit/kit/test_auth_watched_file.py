"""A watched file follows its source and survives a broken one."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from hilvan_kit.auth import AuthMisconfigured, WatchedFile


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        """The time it was set to."""
        return self.now


def parse(text: str) -> str:
    """Accept everything but a text that starts with ``bad``."""
    if text.startswith("bad"):
        raise AuthMisconfigured(["first", "second"])
    return text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with the text ``one``."""
    path = tmp_path / "keys.yaml"
    path.write_text("one", encoding="utf-8")
    return path


def replace(path: Path, text: str) -> None:
    """Put a new file in the place of the old one, as old by its mtime."""
    before = path.stat().st_mtime_ns
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    os.utime(new, ns=(before, before))
    new.replace(path)


def test_a_change_is_seen_after_a_second_and_not_before(path: Path) -> None:
    """The file is looked at once a second: not earlier, and then at once."""
    clock = Clock()
    file = WatchedFile(path, parse, clock)
    replace(path, "two")
    clock.now += 0.999
    assert file() == "one"
    clock.now += 0.001
    assert file() == "two"
    replace(path, "three")
    assert file() == "two"


def test_a_write_in_place_is_seen(path: Path) -> None:
    """Writing into the same file changes its mtime, which is enough."""
    clock = Clock()
    file = WatchedFile(path, parse, clock)
    path.write_text("two", encoding="utf-8")
    os.utime(path, ns=(1, 1))
    clock.now += 1
    assert file() == "two"


def test_a_clock_that_is_set_back_does_not_stop_the_looking(path: Path) -> None:
    """A clock that jumps back by an hour still lets the next change in."""
    clock = Clock()
    file = WatchedFile(path, parse, clock)
    replace(path, "two")
    clock.now -= 3600
    assert file() == "two"


def test_an_unchanged_file_gives_the_same_object(path: Path) -> None:
    """Each version is parsed once, so identity tells versions apart."""
    clock = Clock()
    file = WatchedFile(path, lambda text: [text], clock)
    first = file()
    clock.now += 1
    assert file() is first
    assert not file.faults
    replace(path, "two")
    clock.now += 1
    second = file()
    clock.now += 1
    assert second == ["two"]
    assert file() is second


def test_a_broken_file_leaves_the_last_good_value_and_says_what_is_wrong(path: Path) -> None:
    """A change that can't be parsed is a fault, each part led by the path, until it is mended."""
    clock = Clock()
    file = WatchedFile(path, parse, clock)
    replace(path, "bad")
    clock.now += 1
    assert file() == "one"
    assert file.faults == (f"{path}: first", f"{path}: second")
    clock.now += 1
    assert file() == "one"
    assert len(file.faults) == 2
    replace(path, "two")
    clock.now += 1
    assert file() == "two"
    assert not file.faults


def test_a_file_that_goes_and_comes_back_is_read_again(path: Path) -> None:
    """A missing file is a fault that ends when the same file is back."""
    clock = Clock()
    file = WatchedFile(path, parse, clock)
    away = path.rename(path.with_suffix(".away"))
    clock.now += 1
    assert file() == "one"
    assert file.faults == (f"{path}: can't be read (No such file or directory)",)
    away.rename(path)
    clock.now += 1
    assert file() == "one"
    assert not file.faults


def test_the_first_read_must_succeed(path: Path) -> None:
    """At the start there is no last good value: missing, broken and not UTF-8 raise."""
    with pytest.raises(AuthMisconfigured, match="can't be read"):
        WatchedFile(path.with_suffix(".gone"), parse, Clock())
    path.write_text("bad", encoding="utf-8")
    with pytest.raises(AuthMisconfigured) as caught:
        WatchedFile(path, parse, Clock())
    assert caught.value.faults == (f"{path}: first", f"{path}: second")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(AuthMisconfigured, match="is not UTF-8 text"):
        WatchedFile(path, parse, Clock())
