"""What people do with notes: pin, mute, stamp, read; and what a session begins with."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from hilvan_curation.core import frontmatter
from hilvan_curation.core import session as sessions
from hilvan_curation.core.access import PIN_TAG, Vaults
from hilvan_curation.core.counting import Count
from hilvan_curation.core.scope import PERSONAL_TOKENS, PROJECT_TOKENS, Budget, Resolution, resolve
from hilvan_curation.core.vault import stamp
from hilvan_curation.errors import (
    CategoryNotFound,
    FrontmatterBroken,
    MetadataRequired,
    NoteChanged,
    NoteNotFound,
    NoteTooLarge,
    NotPinnable,
    ProjectNotFound,
    SpaceNotFound,
    WriteRefused,
)
from hilvan_curation.model.category import Axis, CategoryNote
from hilvan_curation.model.note import Note
from hilvan_curation.model.session import Session
from hilvan_curation.model.space import Members, Project, SpaceKind
from hilvan_curation.model.vault import SpaceSnapshot
from hilvan_curation.ports.metadata import MetadataStore
from hilvan_curation.usecases.vault import Catalogue
from hilvan_kit.auth import Principal, Role


@dataclass(frozen=True, slots=True)
class Opening:
    """What a session begins with, of the scope's files."""

    session_id: str
    since: datetime | None
    deltas: Sequence[sessions.NoteDelta]
    notes: Sequence[Note]


class Curator:
    """Reads and changes what people chose, for those who may."""

    def __init__(
        self,
        catalogue: Catalogue,
        metadata: MetadataStore,
        now: Callable[[], datetime],
    ) -> None:
        """``now`` is the edge's clock."""
        self._catalogue = catalogue
        self._metadata = metadata
        self.now = now

    def vaults(self, who: Principal) -> Vaults:
        """The tenant's spaces."""
        return self._catalogue.vaults(who.tenant)

    def resolve(
        self, who: Principal, project_id: str, tokens: int | None, count: Count
    ) -> Resolution:
        """What loads in a scope. Raises ProjectNotFound."""
        project = self.project(who, project_id)[1] if project_id else None
        default = PROJECT_TOKENS if project else PERSONAL_TOKENS
        budget = Budget(default if tokens is None else tokens)
        return resolve(self.vaults(who), who, project, {}, budget, count, self.now())

    def project(self, who: Principal, project_id: str) -> tuple[SpaceSnapshot, Project]:
        """A project of the caller's. Raises ProjectNotFound."""
        found = self.vaults(who).project(who, project_id)
        if found is None:
            raise ProjectNotFound(project_id)
        return found

    def note(self, who: Principal, note_id: str) -> tuple[SpaceSnapshot, Note]:
        """A note of the caller's. Raises NoteNotFound."""
        found = self.vaults(who).note(who, note_id)
        if found is None:
            raise NoteNotFound("", note_id)
        return found

    def notes(self, who: Principal, project_id: str) -> list[Note]:
        """The notes of a scope: a project's, or those of the caller's personal spaces."""
        if project_id:
            snapshot, project = self.project(who, project_id)
            return [note for note in snapshot.notes if note.project_id == project.id]
        return [note for each in self.vaults(who).personal(who) for note in each.notes]

    def categories(self, who: Principal, project_id: str) -> list[CategoryNote]:
        """The category notes of an axis, by name. Raises ProjectNotFound."""
        if project_id:
            snapshot, project = self.project(who, project_id)
            found = [
                c
                for c in snapshot.categories
                if c.axis is Axis.PROJECT and c.owner_id == project.id
            ]
        else:
            own = self.vaults(who).personal(who)
            found = [c for s in own for c in s.categories if c.axis is Axis.USER]
        return sorted(found, key=lambda each: each.category)

    async def set_pin(self, who: Principal, note_id: str, *, pinned: bool) -> Note:
        """Pin or unpin by the tag in the file. Raises NotPinnable, WriteRefused, NoteChanged."""
        snapshot, note = self.note(who, note_id)
        if pinned and not note.project_id and snapshot.space.kind is not SpaceKind.PERSONAL:
            raise NotPinnable(note_id)
        self._may_write(who, snapshot)
        await self._edit(who, note, lambda raw: frontmatter.set_tag(raw, PIN_TAG, present=pinned))
        return self.note(who, note_id)[1]

    async def set_mute(
        self,
        who: Principal,
        project_id: str,
        category: str,
        *,
        muted: bool,
        until: datetime | None,
    ) -> CategoryNote:
        """Mute or unmute a category in its note's file. Raises CategoryNotFound, WriteRefused."""
        known = self._category(who, project_id, category)
        snapshot, note = self.note(who, known.note_id)
        self._may_write(who, snapshot)

        def edit(raw: bytes) -> bytes:
            text = until.isoformat() if muted and until else None
            return frontmatter.set_field(
                frontmatter.set_field(raw, "muted", muted), "muted_until", text
            )

        await self._edit(who, note, edit)
        return self._category(who, project_id, category)

    async def stamp(self, who: Principal, space_id: str) -> list[str]:
        """Write ids into the files of a space that have none; their paths are returned.

        A file that can't be edited in place, or that changes meanwhile, keeps none and keeps no
        other from getting one.
        """
        snapshot = self.vaults(who).space(who, space_id)
        if snapshot is None:
            raise SpaceNotFound(space_id)
        self._may_write(who, snapshot)
        source = self._catalogue.source(who.tenant)
        stamped = []
        for note in snapshot.notes:
            try:
                raw = await source.read(space_id, note.path)
                data = stamp(raw, note.id)
                if data != raw:
                    await source.write(space_id, note.path, data, expected=raw)
                    stamped.append(note.path)
            except (FrontmatterBroken, NoteChanged, NoteNotFound, NoteTooLarge):
                continue
        await self._catalogue.rescan(who.tenant)
        return stamped

    async def add_vault(self, who: Principal, path: Path) -> Vaults:
        """Take a vault in. Raises WriteRefused, VaultRefused, MetadataRequired."""
        if who.role is Role.MEMBER:
            raise WriteRefused("the tenant's vaults")
        return await self._catalogue.add_vault(who.tenant, path)

    async def set_members(self, who: Principal, space_id: str, members: Members) -> None:
        """Set a shared space's members. Raises SpaceNotFound, WriteRefused, MetadataRequired."""
        if not self._metadata.keeps:
            raise MetadataRequired("SetSpaceMembers")
        snapshot = self.vaults(who).space(who, space_id)
        if snapshot is None or snapshot.space.kind is SpaceKind.PERSONAL:
            raise SpaceNotFound(space_id)
        self._may_write(who, snapshot)
        await self._metadata.set_members(who.tenant, space_id, members)
        await self._catalogue.rescan(who.tenant)

    async def open_session(self, who: Principal, project_id: str, *, preview: bool) -> Opening:
        """Open a session, or with ``preview`` only tell what it would begin with."""
        notes = self.notes(who, project_id)
        seen = sessions.marks(notes)
        last = await self._metadata.last_acknowledged(who.tenant, who.user, project_id)
        since, before = last or (None, {})
        deltas = sessions.delta(before, seen) if last else []
        session_id = ""
        if self._metadata.keeps and not preview:
            session_id = str(uuid.uuid4())
            session = Session(session_id, who.tenant, who.user, project_id, self.now())
            await self._metadata.open_session(session, seen)
        return Opening(session_id, since, deltas, notes)

    async def acknowledge(self, who: Principal, session_id: str) -> None:
        """Acknowledge a session. Raises SessionNotFound, MetadataRequired."""
        await self._metadata.acknowledge(who.tenant, who.user, session_id)

    def _category(self, who: Principal, project_id: str, category: str) -> CategoryNote:
        for each in self.categories(who, project_id):
            if each.category == category:
                return each
        raise CategoryNotFound(category)

    def _may_write(self, who: Principal, snapshot: SpaceSnapshot) -> None:
        if not self.vaults(who).can_write(who, snapshot.space):
            raise WriteRefused(snapshot.space.id)

    async def _edit(self, who: Principal, note: Note, change: Callable[[bytes], bytes]) -> None:
        source = self._catalogue.source(who.tenant)
        raw = await source.read(note.space_id, note.path)
        data = change(raw)
        if data != raw:
            await source.write(note.space_id, note.path, data, expected=raw)
            await self._catalogue.rescan(who.tenant)


def folders(notes: Sequence[Note]) -> list[str]:
    """The folders of notes, by name; the space's own is ``.``."""
    return sorted({str(PurePosixPath(note.path).parent) for note in notes})
