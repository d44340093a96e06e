"""Notes with a part to play: category notes in ``memory/`` and identity blocks in ``identity/``."""

import posixpath
import unicodedata
from collections.abc import Mapping

from hilvan_curation.core import fields
from hilvan_curation.core.fields import Reader
from hilvan_curation.model.category import Axis, CategoryNote
from hilvan_curation.model.identity import IdentityBlock, IdentityGroup
from hilvan_curation.model.note import Fault
from hilvan_curation.model.space import Project, Space, SpaceKind


def category(
    space: Space, projects: Mapping[str, Project], note_id: str, summary: str, reader: Reader
) -> list[CategoryNote]:
    """The category of a note in ``memory/``, or none."""
    if not reader.path.startswith("memory/"):
        return []
    folders = unicodedata.normalize("NFC", reader.path).split("/")[1:]
    owners = {project.slug: project.id for project in projects.values()}
    match folders:
        case [_] if space.kind is SpaceKind.PERSONAL:
            axis, owner = Axis.USER, space.owner
        case [slug, _] if slug in owners:
            axis, owner = Axis.PROJECT, owners[slug]
        case [slug, _]:
            reader.faults.append(Fault(reader.path, 0, f"the space has no project {slug!r}"))
            return []
        case _:
            place = "memory/<project>/<category>.md"
            if space.kind is SpaceKind.PERSONAL:
                place = f"memory/<category>.md or {place}"
            reader.faults.append(Fault(reader.path, 0, f"a category note is {place}"))
            return []
    return [
        CategoryNote(
            axis=axis,
            owner_id=owner,
            category=stem(folders[-1]),
            summary=summary,
            muted=reader.take("muted", fields.as_flag, default=False),
            muted_until=reader.take("muted_until", fields.as_time, None),
            note_id=note_id,
        )
    ]


def identity(note_id: str, body: str, reader: Reader) -> list[IdentityBlock]:
    """The identity block of a note in ``identity/``, or none."""
    if posixpath.dirname(reader.path) != "identity":
        return []
    group = reader.take("group", fields.as_choice(IdentityGroup), None)
    if not group:
        if "group" not in reader.fields:
            reader.faults.append(Fault(reader.path, 0, "an identity block needs a group"))
        return []
    return [
        IdentityBlock(
            id=note_id,
            group=group,
            kind=reader.take("kind", fields.as_text, "") or stem(reader.path),
            text=body.strip(),
            active=reader.take("active", fields.as_flag, default=True),
            order=reader.take("order", fields.as_integer, 0),
            note_id=note_id,
        )
    ]


def stem(path: str) -> str:
    """A note's file name without its ending."""
    return posixpath.basename(path).removesuffix(".md")
