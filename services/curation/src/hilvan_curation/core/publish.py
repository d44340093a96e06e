"""What retrieval is told of a space: its policy, and its notes as passages."""

from collections.abc import Mapping

from hilvan_curation.core.passages import split
from hilvan_curation.core.resolve import owner_of
from hilvan_curation.model import Members, NoteEntry, SpacePolicy, SpaceSnapshot


def policy(snapshot: SpaceSnapshot, members: Members) -> SpacePolicy:
    """The policy of a space. Ends of mutes are told, so nothing needs saying when one comes."""
    return SpacePolicy(
        space_id=snapshot.space.id,
        readers=members.readers,
        writers=members.writers,
        project_ids=frozenset(project.id for project in snapshot.projects),
        mutes=tuple(each for each in snapshot.categories if each.muted),
    )


def passages(snapshot: SpaceSnapshot) -> dict[str, NoteEntry]:
    """The space's notes as entries, by id.

    Category notes and identity blocks are no passages: they reach prompts their own way.
    """
    special = {each.note_id for each in snapshot.categories}
    special |= {each.note_id for each in snapshot.identity}
    entries: dict[str, NoteEntry] = {}
    for note in snapshot.notes:
        if note.id in special:
            continue
        for passage in split(note.id, note.body):
            headings = [each for each in passage.headings if each != note.title]
            entry = NoteEntry(
                id=f"note:{passage.id}",
                owner=owner_of(snapshot, note),
                title=" › ".join([note.title, *headings])[:256],
                text=passage.text,
                tags=note.tags[:32],
                note_id=note.id,
                position=passage.ordinal,
                time=note.modified_time,
            )
            entries[entry.id] = entry
    return entries


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
