"""Who reads and writes which space, from the files' own members and those set by people."""

import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hilvan_curation.core.vault import PROJECT_MARKER, SPACE_MARKER
from hilvan_curation.model.category import Axis
from hilvan_curation.model.note import Fault, Note
from hilvan_curation.model.space import Members, Project, Space, SpaceKind
from hilvan_curation.model.vault import SpaceSnapshot
from hilvan_kit.auth import Principal, Role

PIN_TAG = "always-load"

Found = tuple[SpaceSnapshot, Note]


@dataclass(frozen=True, slots=True)
class Vaults:
    """All spaces of one tenant as their files are now, with the members that people set.

    Members set by people replace those that a space's marker names. ``open_to_all`` is for a
    server without a metadata database: there everybody of the tenant reads and writes.
    """

    snapshots: tuple[SpaceSnapshot, ...] = ()
    members: Mapping[str, Members] = field(default_factory=dict)
    open_to_all: bool = False
    # Made once a scan, so that no call walks through all notes.
    _notes: dict[str, list[Found]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _pins: dict[tuple[str, str], list[Found]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        for snapshot in self.snapshots:
            for note in snapshot.notes:
                self._notes.setdefault(note.id, []).append((snapshot, note))
                if PIN_TAG in note.tags:
                    place = (snapshot.space.id, note.project_id)
                    self._pins.setdefault(place, []).append((snapshot, note))

    def readable(self, who: Principal) -> list[SpaceSnapshot]:
        """The spaces that the principal reads, in the order of the snapshots."""
        return [each for each in self.snapshots if self.can_read(who, each.space)]

    def can_read(self, who: Principal, space: Space) -> bool:
        """A personal space is its owner's alone; admins and services see the shared ones."""
        if space.kind is SpaceKind.PERSONAL:
            return space.owner == who.user  # a closed space has no owner, a principal has a name
        members = self.members_of(space)
        known = who.user in members.readers or who.user in members.writers
        return known or self.open_to_all or who.role is not Role.MEMBER

    def can_write(self, who: Principal, space: Space) -> bool:
        """As `can_read`, for writers."""
        if space.kind is SpaceKind.PERSONAL:
            return self.can_read(who, space)
        known = who.user in self.members_of(space).writers
        return known or self.open_to_all or who.role is not Role.MEMBER

    def members_of(self, space: Space) -> Members:
        """The members of a space; of a personal one, its owner."""
        if space.kind is SpaceKind.PERSONAL:
            owner = frozenset([space.owner]) if space.owner else frozenset()
            return Members(owner, owner)
        declared = Members(frozenset(space.readers), frozenset(space.writers))
        return self.members.get(space.id, declared)

    def space(self, who: Principal, space_id: str) -> SpaceSnapshot | None:
        """A space that the principal reads; None says the same of absent and out of reach."""
        return next((s for s in self.readable(who) if s.space.id == space_id), None)

    def project(self, who: Principal, project_id: str) -> tuple[SpaceSnapshot, Project] | None:
        """A project that the principal reads."""
        return next(
            (
                (snapshot, project)
                for snapshot in self.readable(who)
                for project in snapshot.projects
                if project.id == project_id
            ),
            None,
        )

    def note(self, who: Principal, note_id: str) -> Found | None:
        """A note that the principal reads."""
        found = self._notes.get(note_id, ())
        return next((each for each in found if self.can_read(who, each[0].space)), None)

    def personal(self, who: Principal) -> list[SpaceSnapshot]:
        """The principal's own personal spaces."""
        return [s for s in self.readable(who) if s.space.kind is SpaceKind.PERSONAL]

    def tagged(self, space_id: str, project_id: str) -> Sequence[Found]:
        """Notes with the pin tag in a project, or of a space outside of any, by path."""
        return self._pins.get((space_id, project_id), ())

    def faults(self, who: Principal) -> list[tuple[Space, Fault]]:
        """What is wrong in the spaces that the principal reads.

        Nobody reads a closed space, so what closed it is told to admins and services; it
        concerns the marker and no note.
        """
        found = [(each.space, fault) for each in self.readable(who) for fault in each.faults]
        if who.role is not Role.MEMBER:
            found += [
                (each.space, fault)
                for each in self.snapshots
                if each.space.closed
                for fault in each.faults
                if fault.path == SPACE_MARKER
            ]
        return found


def undisputed(snapshots: Iterable[SpaceSnapshot]) -> tuple[SpaceSnapshot, ...]:
    """Take out the projects whose id two spaces claim, with a fault in each.

    Whoever writes a space's files writes its markers: if a second claim counted, it would give
    away the memory of the first, and if the first did, somebody would only have to come first.
    """
    snapshots = tuple(snapshots)
    claims = Counter(project.id for each in snapshots for project in each.projects)
    disputed = {project_id for project_id, count in claims.items() if count > 1}
    return tuple(_without(each, disputed) for each in snapshots)


def _without(snapshot: SpaceSnapshot, disputed: set[str]) -> SpaceSnapshot:
    gone = [each for each in snapshot.projects if each.id in disputed]
    if not gone:
        return snapshot
    message = "is the id of a project of another space as well, so it counts in neither"
    faults = [
        Fault(posixpath.join(each.folder, PROJECT_MARKER), 0, f"{each.id!r} {message}")
        for each in gone
    ]
    return replace(
        snapshot,
        projects=tuple(each for each in snapshot.projects if each.id not in disputed),
        notes=tuple(
            replace(note, project_id="") if note.project_id in disputed else note
            for note in snapshot.notes
        ),
        categories=tuple(
            each
            for each in snapshot.categories
            if each.axis is not Axis.PROJECT or each.owner_id not in disputed
        ),
        faults=tuple(sorted((*snapshot.faults, *faults))),
    )
