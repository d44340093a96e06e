"""What the files of a space mean."""

import unicodedata
from datetime import UTC, datetime

import pytest

from hilvan_curation.core.vault import SpaceFiles, build_space, read_note, slugify
from hilvan_curation.model.category import Axis, CategoryNote
from hilvan_curation.model.identity import IdentityBlock, IdentityGroup
from hilvan_curation.model.note import Fault, Note
from hilvan_curation.model.vault import SpaceSnapshot

NOW = datetime(2025, 3, 7, tzinfo=UTC)
SHARED = "id: team\nkind: shared\n"
PERSONAL = "id: mine\nkind: personal\nowner: ana\n"


def build(
    notes: dict[str, str], projects: dict[str, str] | None = None, marker: str = SHARED
) -> SpaceSnapshot:
    """The snapshot of a space in the folder "Space"."""
    return build_space(
        SpaceFiles(
            folder="Space",
            marker=marker.encode(),
            projects={folder: data.encode() for folder, data in (projects or {}).items()},
            notes=[read_note(path, text.encode(), NOW) for path, text in notes.items()],
        )
    )


def only(snapshot: SpaceSnapshot) -> Note:
    """The one note of a space."""
    (note,) = snapshot.notes
    return note


# --- notes -------------------------------------------------------------------------------------


def test_a_note_is_what_its_file_says() -> None:
    """Every field of a note comes from its file."""
    text = "---\nid: n1\ntitle: ' A  title '\ntags: '#a, b'\nsummary: S\n---\n# Other\r\ntext\n"
    note = only(build({"a/b.md": text}))
    assert note == Note(
        id="n1",
        space_id="team",
        path="a/b.md",
        title="A title",
        body="# Other\ntext\n",
        modified_time=NOW,
        content_hash=note.content_hash,
        tags=("a", "b"),
        summary="S",
    )
    assert len(note.content_hash) == 64


@pytest.mark.parametrize(
    ("text", "title"),
    [("---\ntitle: T\n---\n# H\n", "T"), ("x\n# H\n", "H"), ("## H\n", "file"), ("", "file")],
)
def test_a_title_is_found(text: str, title: str) -> None:
    """From the frontmatter, else the first heading, else the file's name."""
    assert only(build({"a/file.md": text})).title == title


def test_a_note_without_an_id_gets_one_of_its_place() -> None:
    """The same space and path give the same id, on systems that decompose names as well."""
    composed, decomposed = (unicodedata.normalize(form, "año.md") for form in ("NFC", "NFD"))
    first = only(build({composed: "x"}))
    assert first.id == only(build({decomposed: "y"})).id == "7da5025e-d11b-5b6f-aabe-3d5b54ae5fe5"
    assert first.id != only(build({"otro.md": "x"})).id
    assert first.id != only(build({composed: "x"}, marker=SHARED.replace("team", "t2"))).id


def test_names_that_differ_only_in_form_are_two_notes() -> None:
    """Both forms of one name in one folder have ids of their own."""
    notes = build({"a\u0301.md": "x", "\xe1.md": "y"}).notes
    assert len({note.id for note in notes}) == 2


def test_an_id_belongs_to_the_first_note() -> None:
    """The second note by path with an id gets a derived one and says so."""
    text = "---\nid: n1\n---\n"
    snapshot = build({"b.md": text, "a.md": text})
    first, second = snapshot.notes
    assert (first.path, first.id, first.faults) == ("a.md", "n1", ())
    assert second.id not in {"", "n1"}
    assert second.faults == (Fault("b.md", 0, "id 'n1' belongs to another note"),)
    assert snapshot.faults == second.faults


@pytest.mark.parametrize("value", ["a/b", "'a\\nb'", "[a]", "'' # none", "x" * 129])
def test_an_id_that_cant_be_one_is_a_fault(value: str) -> None:
    """The note gets a derived id and the fault names the line."""
    note = only(build({"a.md": f"---\ntitle: t\nid: {value}\n---\n".replace("'a\\nb'", '"a\\nb"')}))
    assert len(note.id) == 36
    assert [(fault.line, fault.message[:3]) for fault in note.faults] == [(3, "id ")]


def test_bad_fields_leave_the_good_ones() -> None:
    """Each field that is not as expected is a fault of its own; the others count."""
    note = only(build({"a.md": "---\ntitle: [x]\ntags: {a: b}\nsummary: S\n---\n"}))
    assert (note.title, note.tags, note.summary) == ("a", (), "S")
    assert note.faults == (
        Fault("a.md", 2, "title is not a text"),
        Fault("a.md", 3, "tags is not a list of texts"),
    )


# --- projects ----------------------------------------------------------------------------------


def test_the_nearest_marked_folder_is_the_project() -> None:
    """Projects nest; a folder whose name only begins alike is no part of one."""
    projects = {"a": "id: p1\n", "a/b/c": "id: p2\nname: Deep\n"}
    paths = ["a/b/c/d/x.md", "a/b/x.md", "a/x.md", "ab/x.md", "x.md"]
    snapshot = build(dict.fromkeys(paths, ""), projects)
    assert [note.project_id for note in snapshot.notes] == ["p2", "p1", "p1", "", ""]
    assert [(p.id, p.name, p.folder) for p in snapshot.projects] == [
        ("p1", "a", "a"),
        ("p2", "Deep", "a/b/c"),
    ]


def test_a_whole_space_can_be_a_project() -> None:
    """A marker at the top makes every note a part, under the name of the space's folder."""
    snapshot = build({"x.md": ""}, {"": "\ufeffid: p1\n"})
    assert only(snapshot).project_id == "p1"
    assert snapshot.projects[0].handle == "team/space"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Apollo 11", "apollo-11"),
        ("Año_Nuevo!", "ano-nuevo"),
        ("がくせい", "がくせい"),
        ("Straße", "strasse"),
        ("!!!", "project"),
    ],
)
def test_slugs_are_plain(name: str, slug: str) -> None:
    """Letters of any script in lower case, without Latin accents, and digits."""
    assert slugify(name) == slugify(unicodedata.normalize("NFD", name)) == slug


def test_projects_never_share_a_slug_or_an_id() -> None:
    """Of equal names or ids the first by folder keeps it, and the others say so."""
    projects = {"a/App": "id: p1\n", "b/app": "id: p1\n", "c/APP": "id: p3\n"}
    snapshot = build({}, projects)
    assert [project.slug for project in snapshot.projects] == ["app", "app-2", "app-3"]
    assert len({project.id for project in snapshot.projects}) == 3
    assert [(fault.path, fault.message) for fault in snapshot.faults] == [
        ("b/app/.hilvan-project.yaml", "id 'p1' belongs to another project"),
        ("b/app/.hilvan-project.yaml", "slug 'app' belongs to another project"),
        ("c/APP/.hilvan-project.yaml", "slug 'app' belongs to another project"),
    ]


@pytest.mark.parametrize(
    ("marker", "message"),
    [("", "has no id"), ("- x\n", "not a mapping"), ("id: [x]\n", "not a text")],
)
def test_a_broken_project_marker_stays_a_project(marker: str, message: str) -> None:
    """The folder's notes don't fall to the project around it."""
    snapshot = build({"a/b/x.md": ""}, {"a": "id: p1\n", "a/b": marker})
    assert only(snapshot).project_id == snapshot.projects[1].id != "p1"
    (fault,) = snapshot.faults
    assert message in fault.message


# --- spaces ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marker", "messages"),
    [
        ("", ["has no id", "has no kind"]),
        ("id: x\nkind: personal\n", ["has no owner"]),
        ("id: x\nkind: open\n", ["kind is none of personal, shared"]),
    ],
)
def test_a_space_says_what_its_marker_lacks(marker: str, messages: list[str]) -> None:
    """A closed space lists all that is missing."""
    snapshot = build({"a.md": ""}, marker=marker)
    assert snapshot.space.closed
    assert snapshot.notes == ()
    assert [fault.message for fault in snapshot.faults] == messages


def test_a_shared_space_has_no_owner() -> None:
    """An owner in a shared marker means nothing."""
    space = build({}, marker=SHARED + "owner: ana\nname: N\n").space
    assert (space.owner, space.name, space.closed) == ("", "N", False)


# --- categories --------------------------------------------------------------------------------


def test_a_personal_category() -> None:
    """A note in memory/ of a personal space is a category of its owner."""
    text = "---\nid: c1\nsummary: Tea\nmuted: yes\nmuted_until: 2025-03-08\n---\n"
    snapshot = build({"memory/preference.md": text}, marker=PERSONAL)
    assert snapshot.categories == (
        CategoryNote(
            axis=Axis.USER,
            owner_id="ana",
            category="preference",
            summary="Tea",
            muted=True,
            muted_until=datetime(2025, 3, 8, tzinfo=UTC),
            note_id="c1",
        ),
    )
    assert only(snapshot).id == "c1"


@pytest.mark.parametrize("marker", [SHARED, PERSONAL])
def test_a_project_category(marker: str) -> None:
    """A note in memory/<project>/ is a category of that project, in either kind of space."""
    snapshot = build({"memory/app/stack.md": ""}, {"x/App": "id: p1\n"}, marker)
    (found,) = snapshot.categories
    assert (found.axis, found.owner_id, found.category, found.muted) == (
        Axis.PROJECT,
        "p1",
        "stack",
        False,
    )


@pytest.mark.parametrize(
    ("marker", "path", "message"),
    [
        (SHARED, "memory/x.md", "a category note is memory/<project>/<category>.md"),
        (SHARED, "memory/none/x.md", "the space has no project 'none'"),
        (PERSONAL, "memory/a/b/x.md", "a category note is memory/<category>.md or memory/"),
    ],
)
def test_a_category_of_nobody_is_a_fault(marker: str, path: str, message: str) -> None:
    """The note stays a note, and says that it is no category."""
    snapshot = build({path: ""}, marker=marker)
    assert snapshot.categories == ()
    (fault,) = only(snapshot).faults
    assert fault.path == path
    assert fault.message.startswith(message)


def test_a_mute_that_cant_be_read_is_a_fault() -> None:
    """The category is there, not muted, and the fault names each line."""
    text = "---\nmuted: maybe\nmuted_until: Friday\n---\n"
    snapshot = build({"memory/x.md": text}, marker=PERSONAL)
    assert (snapshot.categories[0].muted, snapshot.categories[0].muted_until) == (False, None)
    assert [fault.line for fault in snapshot.faults] == [2, 3]


def test_only_the_memory_folder_has_categories() -> None:
    """The same fields elsewhere, or a file of that name, mean nothing and are no faults."""
    notes = {"memory.md": "---\nmuted: maybe\n---\n", "a/memory/x.md": "", "memories/x.md": ""}
    snapshot = build(notes, marker=PERSONAL)
    assert (snapshot.categories, snapshot.faults) == ((), ())


# --- identity ----------------------------------------------------------------------------------


def test_an_identity_block() -> None:
    """Its fields come from the frontmatter, its text is the body without the blanks around it."""
    text = "---\nid: i1\ngroup: style\nkind: rules\nactive: no\norder: 3\n---\n\nBe brief.\n"
    assert build({"identity/a.md": text}).identity == (
        IdentityBlock("i1", IdentityGroup.STYLE, "rules", "Be brief.", False, 3, "i1"),  # noqa: FBT003 - a value
    )


def test_an_identity_block_has_defaults() -> None:
    """It is active, of order 0, and its kind is the file's name."""
    (block,) = build({"identity/worldview.md": "---\ngroup: soul\n---\nx"}).identity
    assert (block.kind, block.active, block.order) == ("worldview", True, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [("x", "an identity block needs a group"), ("---\ngroup: x\n---\n", "group is none of soul,")],
)
def test_an_identity_block_needs_a_group(text: str, message: str) -> None:
    """Without one the note is only a note, and says so."""
    snapshot = build({"identity/a.md": text})
    assert snapshot.identity == ()
    assert only(snapshot).faults[0].message.startswith(message)


def test_only_the_identity_folder_has_blocks() -> None:
    """A deeper folder, or the same fields elsewhere, make no block."""
    text = "---\ngroup: soul\n---\n"
    snapshot = build({"identity/old/a.md": text, "a.md": text, "x/identity/a.md": text})
    assert (snapshot.identity, snapshot.faults) == ((), ())
