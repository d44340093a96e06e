"""What the command writes: one document or text on stdout, everything else on stderr.

Exit codes:

| Code | Means                                                                  |
|------|------------------------------------------------------------------------|
| 0    | done                                                                   |
| 1    | a fault of hilvan itself                                               |
| 2    | wrong usage                                                            |
| 3    | refused: the request or a file is bad, or the state does not allow it  |
| 4    | not found                                                              |
| 5    | conflict: somebody else wrote in between                               |
| 6    | not allowed: no good credential, or not for this                       |
| 7    | a service can't be reached, is overloaded or too slow                  |
| 8    | the server does not have this method                                   |
| 9    | done, but something needs attention; it is listed                      |
| 130  | interrupted                                                            |
"""

import json
import sys
import traceback
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hilvan_client import errors
from hilvan_client.cli.settings import Settings
from hilvan_client.errors import HilvanError

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from rich.console import Console


class Code(IntEnum):
    """Exit codes; the module's docstring says what they mean."""

    DONE = 0
    FAULT = 1
    USAGE = 2
    REFUSED = 3
    NOT_FOUND = 4
    CONFLICT = 5
    DENIED = 6
    UNREACHABLE = 7
    NOT_BUILT = 8
    ATTENTION = 9
    INTERRUPTED = 130


class CommandError(Exception):
    """A command can't go on: what is wrong, and what to do about it."""

    def __init__(self, message: str, next_step: str, code: Code = Code.REFUSED) -> None:
        super().__init__(message)
        self.next_step, self.code = next_step, code


_START = "start the services with `hilvan dev up`, or give their addresses; `hilvan doctor` checks"
_KEY = "give a good key with --api-key or HILVAN_API_KEY; `hilvan key new` makes one"
_SERVICE = "`reindex` and `consolidate` need role service (in development mode: no --user)"

_MEANINGS: Mapping[type[HilvanError], tuple[Code, str]] = MappingProxyType(
    {
        errors.InvalidRequest: (Code.REFUSED, "mend what is listed and try again"),
        errors.FailedPrecondition: (Code.REFUSED, "put right what the reason names and try again"),
        errors.NotFound: (
            Code.NOT_FOUND,
            "check the id; `hilvan search` and `vault list` find ids",
        ),
        errors.Conflict: (Code.CONFLICT, "read it again and repeat the change"),
        errors.Unauthenticated: (Code.DENIED, _KEY),
        errors.PermissionDenied: (
            Code.DENIED,
            f"use a key of the right tenant, user and role; {_SERVICE}",
        ),
        errors.Overloaded: (Code.UNREACHABLE, "wait a little and try again"),
        errors.Unavailable: (Code.UNREACHABLE, _START),
        errors.DeadlineExceeded: (
            Code.UNREACHABLE,
            "try again with a longer --timeout; `hilvan doctor` shows what is slow",
        ),
        errors.NotBuilt: (Code.NOT_BUILT, "update the server; `hilvan doctor` compares versions"),
        errors.InternalError: (Code.FAULT, "look for the incident in the service's log"),
    }
)

_BY_REASON: Mapping[str, str] = MappingProxyType(
    {
        "REINDEX_REFUSED": "`hilvan reindex status` shows what there is and how far it is",
        "CONSOLIDATION_RUNNING": "wait until the other run has ended and try again",
        "CONSOLIDATION_NOT_FOUND": "`hilvan consolidate --list` shows the runs that are kept",
    }
)


def emit(
    settings: Settings,
    document: "Message | Mapping[str, Any]",
    show: "Callable[[Console], None]",
) -> None:
    """Write the answer: the document as JSON, or what ``show`` makes of it for people."""
    if settings.json:
        sys.stdout.write(json.dumps(as_json(document), ensure_ascii=False, indent=2) + "\n")
    else:
        show(console())


def as_json(document: "Message | Mapping[str, Any]") -> Any:
    """A message as ProtoJSON with the names of the proto, empty fields included."""
    if isinstance(document, Mapping):
        return dict(document)
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(
        document, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def console(*, stderr: bool = False) -> "Console":
    """A console that takes text as it is; wide when nobody's terminal sets the width."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 160
    return Console(file=stream, markup=False, emoji=False, highlight=False, width=width)


def text(value: str) -> str:
    """Stored text, made harmless for a terminal: control characters can't steer it."""
    if not sys.stdout.isatty():
        return value
    return "".join(
        character if character in "\n\t" or unicodedata.category(character) != "Cc" else "\ufffd"
        for character in value
    )


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> Any:
    """A plain table. Columns are cut by the console, never the data in JSON."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for header in headers:
        grid.add_column(header, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(text(str(cell))) for cell in row))
    return grid


def note(message: str) -> None:
    """A line for people, on stderr."""
    sys.stderr.write(text(message) + "\n")


def report(error: BaseException, settings: Settings | None) -> Code:
    """Say on stderr what failed and what to do next; answer the exit code."""
    code, message, next_step = _explain(error)
    if settings and settings.debug:
        traceback.print_exception(error)
    if settings and settings.json:
        body: dict[str, Any] = {"code": code.value, "message": message, "next_step": next_step}
        if isinstance(error, HilvanError):
            body["reason"] = error.failure.reason or error.failure.code
            body["metadata"] = dict(error.failure.metadata)
            body["violations"] = [
                {"field": item.field, "description": item.description}
                for item in error.failure.violations
            ]
        sys.stderr.write(json.dumps({"error": body}, ensure_ascii=False) + "\n")
    else:
        sys.stderr.write(f"error: {text(message)}\nnext: {next_step}\n")
    return code


def _explain(error: BaseException) -> tuple[Code, str, str]:
    if isinstance(error, CommandError):
        return error.code, str(error), error.next_step
    if isinstance(error, HilvanError):
        code, next_step = _MEANINGS.get(type(error), (Code.FAULT, "`hilvan doctor` may know more"))
        return code, str(error), _BY_REASON.get(error.reason, next_step)
    if isinstance(error, KeyboardInterrupt):
        return Code.INTERRUPTED, "interrupted", "run it again; what was done stays done"
    if isinstance(error, OSError):
        return Code.REFUSED, str(error), "check the path and its permissions"
    kind = type(error).__name__
    return Code.FAULT, f"{kind}: {error}", "run it again with --debug and report what it says"
