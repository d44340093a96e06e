"""Who reads and writes which space, from the files' own members and those set by people."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hilvan_curation.model import Members, Note, Project, Space, SpaceKind, SpaceSnapshot
from hilvan_kit.auth import Principal, Role


@dataclass(frozen=True, slots=True)
class Vaults:
    """All spaces of one tenant as their files are now, with the members that people set.

    Members set by people replace those that a space's marker names. ``open_to_all`` is for a
    server without a metadata database: there everybody of the tenant reads and writes.
    """

    snapshots: tuple[SpaceSnapshot, ...] = ()
    members: Mapping[str, Members] = field(default_factory=dict)
    open_to_all: bool = False

    def readable(self, who: Principal) -> list[SpaceSnapshot]:
        """The spaces that the principal reads, by id."""
        return [each for each in self.snapshots if self.can_read(who, each.space)]

    def can_read(self, who: Principal, space: Space) -> bool:
        """A personal space is its owner's alone; admins and services see the shared ones."""
        if space.kind is SpaceKind.PERSONAL:
            return not space.closed and space.owner == who.user
        members = self.members_of(space)
        known = who.user in members.readers | members.writers
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

    def note(self, who: Principal, note_id: str) -> tuple[SpaceSnapshot, Note] | None:
        """A note that the principal reads."""
        return next(
            (
                (snapshot, note)
                for snapshot in self.readable(who)
                for note in snapshot.notes
                if note.id == note_id
            ),
            None,
        )

    def personal(self, who: Principal) -> list[SpaceSnapshot]:
        """The principal's own personal spaces."""
        return [s for s in self.readable(who) if s.space.kind is SpaceKind.PERSONAL]


def find(snapshots: Iterable[SpaceSnapshot], space_id: str) -> SpaceSnapshot | None:
    """The snapshot of a space."""
    return next((each for each in snapshots if each.space.id == space_id), None)
