"""What retrieval is told of a space: its policy, and its notes as passages."""

import re
from collections.abc import Iterable, Iterator, Mapping

from hilvan_curation.core.passage import split
from hilvan_curation.core.scope import owner_of
from hilvan_curation.model.note import Note
from hilvan_curation.model.passage import NoteEntry
from hilvan_curation.model.policy import SpacePolicy
from hilvan_curation.model.space import Members, SpaceKind
from hilvan_curation.model.vault import SpaceSnapshot

TEXT_MOST = 32_768
TITLE_MOST = 256
TAG_MOST = 64
TAGS_MOST = 32
"""What an entry may have (``entry.proto``); without these bounds one odd note would be refused."""

Entries = Mapping[tuple[str, Note], tuple[NoteEntry, ...]]
"""The entries of notes, by owner and note."""

_OWNER = re.compile(r"[a-z]+:[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")


def policy(snapshot: SpaceSnapshot, members: Members) -> SpacePolicy:
    """The policy of a space. Ends of mutes are told, so nothing needs saying when one comes."""
    return SpacePolicy(
        space_id=snapshot.space.id,
        readers=members.readers,
        writers=members.writers,
        project_ids=frozenset(project.id for project in snapshot.projects),
        mutes=tuple(each for each in snapshot.categories if each.muted),
    )


def owners(snapshot: SpaceSnapshot) -> list[str]:
    """Everybody whom passages of the space may belong to.

    An id that no owner can have on the wire is left out; its notes are not searchable.
    """
    own = (
        f"user:{snapshot.space.owner}"
        if snapshot.space.kind is SpaceKind.PERSONAL
        else f"space:{snapshot.space.id}"
    )
    keys = [own, *(f"project:{project.id}" for project in snapshot.projects)]
    return [key for key in keys if _OWNER.fullmatch(key)]


def searchable(snapshot: SpaceSnapshot) -> list[tuple[str, Note]]:
    """The notes of a space that become entries, each with its owner.

    Category notes and identity blocks do not: they reach prompts their own way.
    """
    special = {each.note_id for each in snapshot.categories}
    special |= {each.note_id for each in snapshot.identity}
    known = set(owners(snapshot))
    pairs = ((owner_of(snapshot, note), note) for note in snapshot.notes)
    return [(owner, note) for owner, note in pairs if owner in known and note.id not in special]


def entries(snapshots: Iterable[SpaceSnapshot], made: Entries) -> Entries:
    """The entries of all notes of a tenant. A note that is in ``made`` is not cut once more."""
    keys = [key for snapshot in snapshots for key in searchable(snapshot)]
    return {key: made.get(key) or passages(*key) for key in keys}


def by_id(found: Entries) -> dict[str, NoteEntry]:
    """The entries by id. Of two notes with one id and one text, the first has the entry."""
    wanted: dict[str, NoteEntry] = {}
    for each in found.values():
        for entry in each:
            wanted.setdefault(entry.id, entry)
    return wanted


def passages(owner: str, note: Note) -> tuple[NoteEntry, ...]:
    """A note as entries, in their order."""
    found: list[NoteEntry] = []
    tags = tuple(tag for tag in note.tags if len(tag) <= TAG_MOST)[:TAGS_MOST]
    for passage in split(note.id, note.body):
        headings = [each for each in passage.headings if each != note.title]
        title = " › ".join([note.title, *headings])[:TITLE_MOST]
        for part, text in enumerate(_parts(passage.text)):
            entry_id = f"note:{passage.id}" + (f":{part}" if part else "")
            found.append(
                NoteEntry(
                    entry_id, owner, title, text, tags, note.id, len(found), note.modified_time
                )
            )
    return tuple(found)


def changes(
    wanted: Mapping[str, NoteEntry], known: Mapping[str, str]
) -> tuple[list[NoteEntry], list[str]]:
    """Entries to put and ids to delete; ``known`` are the fingerprints that were put, by id.

    An entry whose owner changed is deleted first: an entry never changes hands.
    """
    puts = [each for name, each in wanted.items() if known.get(name) != each.fingerprint]
    moved = [
        each.id
        for each in puts
        if each.id in known and known[each.id].split("\x1f", 1)[0] != each.owner
    ]
    return puts, [name for name in known if name not in wanted] + moved


def _parts(text: str) -> Iterator[str]:
    """Cut what is too long for one entry (a code block) at the ends of lines, if it has any."""
    while len(text) > TEXT_MOST:
        end = text.rfind("\n", 0, TEXT_MOST) + 1 or TEXT_MOST
        if text[:end].strip():
            yield text[:end]
        text = text[end:]
    yield text
