"""What the files of a vault mean: spaces, projects, notes, categories and identity blocks.

A vault's sub-folders with a `SPACE_MARKER` are spaces, a space's folders with a `PROJECT_MARKER`
are projects, and their ``.md`` files outside of hidden folders are notes. An adapter lists the
files and reads the bytes; everything else is decided here, so that every adapter agrees.
"""

import hashlib
import posixpath
import re
import unicodedata
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count

from hilvan_curation.core import frontmatter
from hilvan_curation.core.fields import Field, Reader, as_choice, as_id, as_tags, as_text
from hilvan_curation.core.passage import first_heading
from hilvan_curation.core.role import category, identity, stem
from hilvan_curation.errors import FrontmatterBroken, InvalidPath
from hilvan_curation.model.note import Fault, Note
from hilvan_curation.model.space import Project, Space, SpaceKind
from hilvan_curation.model.vault import SpaceSnapshot

SPACE_MARKER = ".hilvan-space.yaml"
PROJECT_MARKER = ".hilvan-project.yaml"
MAX_NOTE_BYTES = 1_048_576

_IDS = uuid.UUID("0b9c6f4e-5d1a-5c57-9d6c-6c2f7f6e1a90")
_NOTE = ".md"


@dataclass(frozen=True, slots=True)
class NoteFile:
    """What the bytes of one note say, whatever the other files are; ``id`` may be empty."""

    path: str
    modified_time: datetime
    content_hash: str
    id: str
    title: str
    tags: tuple[str, ...]
    summary: str
    body: str
    fields: Mapping[str, Field]
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class SpaceFiles:
    """The files of one space.

    ``folder`` is its name in the vault, ``projects`` are markers by their folder, ``faults`` is
    what could not be read.
    """

    folder: str
    marker: bytes
    projects: Mapping[str, bytes]
    notes: Sequence[NoteFile]
    faults: tuple[Fault, ...] = ()


def check_path(path: str) -> tuple[str, ...]:
    """Take a note's path inside its space apart; raises `InvalidPath` when it can't be one."""
    parts = tuple(path.split("/"))
    if "\0" in path or any("\ud800" <= sign <= "\udfff" for sign in path):
        raise InvalidPath(path, "has characters that no path may have")
    if any(part in {"", ".", ".."} for part in parts):
        raise InvalidPath(path, "is not a plain path inside the space")
    if any(part.startswith(".") for part in parts):
        raise InvalidPath(path, "is hidden")
    if not path.endswith(_NOTE):
        raise InvalidPath(path, f"does not end with {_NOTE}")
    return parts


def read_note(path: str, raw: bytes, modified_time: datetime) -> NoteFile:
    """Read one file, whatever its bytes are."""
    document = frontmatter.parse(raw, path)
    reader = Reader(path, document.fields, list(document.faults))
    title = " ".join(reader.take("title", as_text, "").split())
    return NoteFile(
        path=path,
        modified_time=modified_time,
        content_hash=hashlib.sha256(raw).hexdigest(),
        id=reader.take("id", as_id, ""),
        title=title or first_heading(document.body) or stem(path),
        tags=reader.take("tags", as_tags, ()),
        summary=reader.take("summary", as_text, ""),
        body=document.body,
        fields=document.fields,
        faults=tuple(reader.faults),
    )


def build_space(files: SpaceFiles) -> SpaceSnapshot:
    """Read a space from its files; an unreadable marker gives a closed space with its faults."""
    space, faults = _space(files.folder, files.marker)
    if faults:
        return _closed(files.folder, faults, set())
    projects, project_faults = _projects(space, files.projects)
    notes, categories, blocks = [], [], []
    taken: set[str] = set()
    for file in sorted(files.notes, key=lambda file: file.path):
        reader = Reader(file.path, file.fields, list(file.faults))
        note_id = _own_id(file.id, reader.faults, file.path, taken, "note", space.id)
        categories += category(space, projects, note_id, file.summary, reader)
        blocks += identity(note_id, file.body, reader)
        notes.append(_note(file, space, _project_of(projects, file.path), note_id, reader.faults))
    return SpaceSnapshot(
        space=space,
        projects=tuple(projects.values()),
        notes=tuple(notes),
        categories=tuple(categories),
        identity=tuple(blocks),
        faults=_sorted(files.faults, project_faults, *(note.faults for note in notes)),
    )


def distinct(snapshots: Iterable[SpaceSnapshot]) -> list[SpaceSnapshot]:
    """Close every space whose id an earlier one has, so that no id stands for two."""
    taken: set[str] = set()
    found = []
    for snapshot in snapshots:
        space = snapshot.space
        if space.id in taken:
            fault = Fault(SPACE_MARKER, 0, f"id {space.id!r} belongs to another space")
            found.append(_closed(space.path, [fault, *snapshot.faults], taken))
        else:
            found.append(snapshot)
        taken.add(found[-1].space.id)
    return found


def stamp(raw: bytes, note_id: str) -> bytes:
    """Write an id into a file that has none; raises `FrontmatterBroken` where it can't."""
    if "id" in frontmatter.parse(raw).fields:
        return raw
    return frontmatter.set_field(raw, "id", note_id)


def slugify(name: str) -> str:
    """Make a folder's name a slug: lower-case letters of any script and digits, with dashes."""
    plain = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", name).casefold())
    slug = re.sub(r"[\W_]+", "-", unicodedata.normalize("NFC", plain)).strip("-")
    return slug or "project"


def _space(folder: str, marker: bytes) -> tuple[Space, list[Fault]]:
    reader = _marker(SPACE_MARKER, marker)
    space_id = reader.take("id", as_id, "")
    kind = reader.take("kind", as_choice(SpaceKind), None)
    owner = reader.take("owner", as_text, "")
    name = reader.take("name", as_text, "") or folder
    missing = {"id": not space_id, "kind": not kind}
    missing["owner"] = kind is SpaceKind.PERSONAL and not owner
    if not reader.faults:
        reader.faults += [
            Fault(SPACE_MARKER, 0, f"has no {key}") for key in missing if missing[key]
        ]
    if kind is not SpaceKind.PERSONAL:
        owner = ""
    nobody: tuple[str, ...] = ()
    readers = reader.take("readers", as_tags, nobody)
    writers = reader.take("writers", as_tags, nobody)
    kind = kind or SpaceKind.PERSONAL
    return Space(space_id, name, kind, owner, folder, readers, writers), reader.faults


def _closed(folder: str, faults: Iterable[Fault], taken: set[str]) -> SpaceSnapshot:
    space_id = _derived_id(taken, "space", folder)
    space = Space(space_id, folder, SpaceKind.PERSONAL, owner="", path=folder)
    return SpaceSnapshot(space, faults=_sorted(faults))


def _projects(space: Space, markers: Mapping[str, bytes]) -> tuple[dict[str, Project], list[Fault]]:
    """Read the projects by their folder. A folder with a broken marker stays a project."""
    found: dict[str, Project] = {}
    faults: list[Fault] = []
    ids: set[str] = set()
    slugs: set[str] = set()
    for folder in sorted(markers):
        path = posixpath.join(folder, PROJECT_MARKER)
        base = posixpath.basename(folder) or space.path
        reader = _marker(path, markers[folder])
        marked = reader.take("id", as_id, "")
        if not marked and not reader.faults:
            reader.faults.append(Fault(path, 0, "has no id"))
        project_id = _own_id(marked, reader.faults, path, ids, "project", space.id)
        name = reader.take("name", as_text, "") or base
        slug = slugify(base)
        if slug in slugs:
            reader.faults.append(Fault(path, 0, f"slug {slug!r} belongs to another project"))
            slug = next(other for n in count(2) if (other := f"{slug}-{n}") not in slugs)
        slugs.add(slug)
        found[folder] = Project(project_id, name, slug, space.id, folder)
        faults += reader.faults
    return found, faults


def _project_of(projects: Mapping[str, Project], path: str) -> str:
    """The id of the nearest project around a path, empty when there is none."""
    while path:
        path = path.rpartition("/")[0]
        if path in projects:
            return projects[path].id
    return ""


def _note(
    file: NoteFile, space: Space, project_id: str, note_id: str, faults: Sequence[Fault]
) -> Note:
    return Note(
        id=note_id,
        space_id=space.id,
        path=file.path,
        title=file.title,
        body=file.body,
        modified_time=file.modified_time,
        content_hash=file.content_hash,
        tags=file.tags,
        summary=file.summary,
        project_id=project_id,
        faults=tuple(faults),
    )


def _marker(path: str, marker: bytes) -> Reader:
    try:
        return Reader(path, frontmatter.read_fields(marker.removeprefix(b"\xef\xbb\xbf")))
    except FrontmatterBroken as broken:
        return Reader(path, {}, [Fault(path, broken.line, broken.message)])


def _own_id(
    stated: str, faults: list[Fault], path: str, taken: set[str], kind: str, space_id: str
) -> str:
    """The stated id when it is still free, else one derived from space and path."""
    own = stated
    if own in taken:
        faults.append(Fault(path, 0, f"id {own!r} belongs to another {kind}"))
    if not own or own in taken:
        own = _derived_id(taken, kind, space_id, path)
    taken.add(own)
    return own


def _derived_id(taken: set[str], *parts: str) -> str:
    """A UUIDv5 of the parts in NFC, so that a copy of the files on another system agrees."""
    name = unicodedata.normalize("NFC", "\0".join(parts))
    names = (name if n == 0 else f"{name}\0{n}" for n in count())
    return next(own for each in names if (own := str(uuid.uuid5(_IDS, each))) not in taken)


def _sorted(*faults: Iterable[Fault]) -> tuple[Fault, ...]:
    return tuple(sorted(chain.from_iterable(faults)))
