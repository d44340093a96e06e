"""A note, and what was not understood in its file. Times are aware, in UTC."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """Something in the files that was not understood and was left out.

    ``path`` is relative to the space; ``line`` counts from 1, 0 stands for the whole file.
    """

    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Note:
    r"""A Markdown file of a space.

    ``path`` is relative to the space, with ``/``. ``body`` is what follows the frontmatter, its
    line ends made ``\\n``. ``project_id`` is empty outside of any project. ``content_hash`` is
    the SHA-256 of the file's bytes in hex. ``faults`` are this note's own.
    """

    id: str
    space_id: str
    path: str
    title: str
    body: str
    modified_time: datetime
    content_hash: str
    tags: tuple[str, ...] = ()
    summary: str = ""
    project_id: str = ""
    faults: tuple[Fault, ...] = ()
