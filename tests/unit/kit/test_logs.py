"""Log lines: one JSON object each on standard error, whatever is logged."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import structlog
from hilvan_kit.logs import configure_logging
configure_logging("{level}", "testing")
log = structlog.get_logger()
log.debug("quiet")
log.info("one\\ntwo", number=1, path="a\\udcffb", big=2**70, kind=object)
log.warning("año")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("failed", incident="i-1")
"""


def lines(level: str) -> list[dict[str, object]]:
    """The log of a program that logs odd things, run apart because logging is set per process."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(level=level)],
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == b""
    return [json.loads(line) for line in done.stderr.splitlines()]


@pytest.fixture(scope="module")
def log() -> list[dict[str, object]]:
    """The lines at the level info."""
    return lines("info")


def test_each_event_is_one_line_of_json(log: list[dict[str, object]]) -> None:
    """Line breaks, lone surrogates and large numbers stay inside of one line; no call fails."""
    assert [line["event"] for line in log] == ["one\ntwo", "año", "failed"]
    assert log[0]["path"] == "a\udcffb"
    assert log[0]["big"] == 2**70
    assert str(log[0]["kind"]) == "<class 'object'>"


def test_a_line_names_service_level_and_time(log: list[dict[str, object]]) -> None:
    """Every line can be searched by service, level and time in UTC."""
    assert {line["service"] for line in log} == {"testing"}
    assert [line["level"] for line in log] == ["info", "warning", "error"]
    assert all(str(line["timestamp"]).endswith("Z") for line in log)


def test_an_exception_comes_with_its_traceback(log: list[dict[str, object]]) -> None:
    """The log has what the caller is not told."""
    assert log[2]["incident"] == "i-1"
    assert "ZeroDivisionError: division by zero" in str(log[2]["exception"])


def test_lines_below_the_level_are_left_out() -> None:
    """At the level error only errors are written."""
    assert [line["event"] for line in lines("error")] == ["failed"]
