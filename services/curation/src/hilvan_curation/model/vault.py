"""All that the files of one space say."""

from dataclasses import dataclass

from hilvan_curation.model.category import CategoryNote
from hilvan_curation.model.identity import IdentityBlock
from hilvan_curation.model.note import Fault, Note
from hilvan_curation.model.space import Project, Space


@dataclass(frozen=True, slots=True)
class SpaceSnapshot:
    """All that the files of one space say, notes and projects by path.

    Category notes and identity blocks are in ``notes`` as well. ``faults`` are all there are,
    those of the notes included, by path and line.
    """

    space: Space
    projects: tuple[Project, ...] = ()
    notes: tuple[Note, ...] = ()
    categories: tuple[CategoryNote, ...] = ()
    identity: tuple[IdentityBlock, ...] = ()
    faults: tuple[Fault, ...] = ()
