"""Where tests get their engines from: the order of the ways, and what a missing engine means."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from support.engines.notes import OPENSEARCH, SQLITE, EngineBroken, EngineMissing, Notes
from support.engines.run import (
    Engine,
    NotAnswering,
    Run,
    Way,
    address,
    answering,
    first_of,
    process,
    read_qdrant,
)

VARIABLE = "HILVAN_TEST_PROBE_URL"
REASON = "nothing of the kind"


class Source:
    """A way to an engine that counts how often it was taken, and left."""

    def __init__(self, how: str, missing: str = "", broken: str = "") -> None:
        """Be open, or closed for a reason, or broken."""
        self.how, self.missing, self.broken = how, missing, broken
        self.taken = self.left = 0

    @contextmanager
    def __call__(self) -> Iterator[Engine]:
        """Give the engine."""
        self.taken += 1
        if self.missing:
            raise EngineMissing(self.missing)
        if self.broken:
            raise EngineBroken(self.broken)
        yield Engine("somewhere", self.how, "1.0")
        self.left += 1


def ways(value: str, monkeypatch: pytest.MonkeyPatch, *, local: bool) -> list[Way]:
    """An address, a process and a container, as each engine has them."""
    monkeypatch.setenv(VARIABLE, value)

    @contextmanager
    def running() -> Iterator[str]:
        if not local:
            raise EngineMissing("no program")
        yield "http://local"

    return [
        address(VARIABLE, lambda _: "9", lambda text: Engine(text, "")),
        process(running, lambda _: "9", "a process"),
        Source("a container"),
    ]


@pytest.mark.parametrize(
    ("value", "local", "how"),
    [
        ("http://given", True, f"the address in {VARIABLE}"),
        ("", True, "a process"),
        ("", False, "a container"),
    ],
)
def test_an_address_beats_a_process_beats_a_container(
    value: str, *, local: bool, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first way that is open gives the engine."""
    with first_of(*ways(value, monkeypatch, local=local)) as engine:
        assert engine.how == how


def test_later_ways_are_not_tried() -> None:
    """What comes after an open way is left alone, and the open one is left at the end."""
    first, second = Source("first"), Source("second")
    with first_of(first, second):
        assert (first.taken, first.left, second.taken) == (1, 0, 0)
    assert first.left == 1


def test_a_missing_engine_tells_why_of_each_way() -> None:
    """When every way is closed, the reasons come in the order of the ways."""
    closed = first_of(Source("", "no address"), Source("", "no program"), Source("", "no Docker"))
    with pytest.raises(EngineMissing, match=r"^no address; no program; no Docker$"), closed:
        pass


def test_a_given_address_that_does_not_answer_is_no_reason_to_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wrong address is an error, not a hint: the next way is not tried."""

    @contextmanager
    def silent() -> Iterator[Engine]:
        yield answering(Engine("", "the address"), refuse, seconds=0)

    def refuse(_: Engine) -> str:
        raise ConnectionRefusedError

    rest = ways("", monkeypatch, local=True)
    with pytest.raises(NotAnswering, match="the address doesn't answer"), first_of(silent, *rest):
        pass


def test_an_engine_is_waited_for() -> None:
    """One that refuses at first is asked again, and its version is then known."""
    answers: Iterator[str | Exception] = iter([ConnectionRefusedError(), "2.0"])

    def ask(_: Engine) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert answering(Engine("", "a container"), ask, seconds=30).version == "2.0"


@pytest.mark.parametrize(
    ("value", "host", "secure"),
    [
        ("box:6334", "box:6334", False),
        ("grpc://box:6334", "box:6334", False),
        ("https://box:6334", "box:6334", True),
    ],
)
def test_a_qdrant_address_may_have_a_scheme(
    value: str, host: str, *, secure: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only https means TLS; the key comes from its own variable."""
    monkeypatch.setenv("HILVAN_TEST_QDRANT_API_KEY", "secret")
    assert read_qdrant(value) == Engine(host, "", key="secret", secure=secure)


def run_of(source: Source, notes: Notes) -> Run:
    """A run with one engine."""
    sources = {"probe": lambda: entered(source)}
    return Run(sources, notes)


def entered(source: Source) -> AbstractContextManager[Engine]:
    """The source's way, as a function of an engine gives it."""
    return first_of(source)


def test_a_run_starts_an_engine_once_and_stops_it_at_its_end() -> None:
    """Nothing starts before it is asked for; all who ask get the same."""
    source, notes = Source("a process"), Notes()
    run = run_of(source, notes)
    assert (source.taken, notes.report()) == (0, [])
    assert run.engine("probe") is run.engine("probe")
    assert (source.taken, source.left) == (1, 0)
    run.close()
    assert source.left == 1
    assert notes.report()[0] == "probe 1.0: a process"


def test_a_missing_engine_is_looked_for_once_and_skips_every_test() -> None:
    """The skip has the plain reason, and so has the summary."""
    source, notes = Source("", REASON), Notes()
    run = run_of(source, notes)
    for _ in range(2):
        with pytest.raises(pytest.skip.Exception, match=f"^no probe: {REASON}$"):
            run.engine("probe")
    assert source.taken == 1
    assert notes.report()[0] == f"probe: MISSING: {REASON}"


def test_a_missing_engine_that_is_required_fails_the_test() -> None:
    """With --require-real a skip can't hide that nothing was tested."""
    run = run_of(Source("", REASON), Notes())
    run.required = True
    with pytest.raises(pytest.fail.Exception, match=f"^no probe: {REASON}$"):
        run.engine("probe")


def test_a_broken_engine_fails_every_test_and_is_tried_once() -> None:
    """Waiting for it again would only cost time."""
    source = Source("", broken=REASON)
    run = run_of(source, Notes())
    for _ in range(2):
        with pytest.raises(pytest.fail.Exception, match=f"^no probe: {REASON}$"):
            run.engine("probe")
    assert source.taken == 1


def test_the_summary_tells_what_ran_what_was_missed_and_what_nobody_asked_for() -> None:
    """Known engines come in their order, with versions; one that ran isn't missing."""
    notes = Notes()
    notes.missing(OPENSEARCH, "no java")
    notes.engine(SQLITE, "here", "3.40")
    notes.missing(SQLITE, "elsewhere")
    notes.engine(SQLITE, "again", "3.41")
    *lines, last = notes.report()
    assert lines == ["OpenSearch: MISSING: no java", "SQLite 3.40: here"]
    assert last == (
        "not asked for: embedded Qdrant, Qdrant wire double, Qdrant server, "
        "embedded BM25 (tantivy), PostgreSQL"
    )


def test_an_engine_from_a_package_tells_its_version_itself() -> None:
    """The fixture that notes it need not know."""
    notes = Notes()
    notes.engine(SQLITE, "here")
    name, number, *_ = notes.report()[0].replace(":", "").split()
    assert (name, number.count(".")) == (SQLITE, 2)
