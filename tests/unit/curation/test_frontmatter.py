"""Frontmatter: everything is readable, and an edit touches one value."""

from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hilvan_curation.core.fields import as_flag, as_integer, as_tags, as_text, as_time
from hilvan_curation.core.frontmatter import (
    MAX_FRONTMATTER_BYTES,
    Document,
    parse,
    set_field,
    set_tag,
)
from hilvan_curation.core.yaml_text import Scalar, Value
from hilvan_curation.errors import FrontmatterBroken
from hilvan_curation.model.note import Fault

TAG = "always-load"


def note(block: str, body: str = "Body\n") -> bytes:
    """A note with this frontmatter."""
    return f"---\n{block}---\n{body}".encode()


def values(document: Document) -> dict[str, Value]:
    """The fields without their lines."""
    return {key: field.value for key, field in document.fields.items()}


def tags(raw: bytes) -> tuple[str, ...]:
    """The tags that a note's bytes say."""
    field = parse(raw).fields.get("tags")
    return as_tags(field.value) if field else ()


# --- reading -----------------------------------------------------------------------------------


def test_scalars_are_texts() -> None:
    """What YAML calls booleans, numbers and dates stays as it is written."""
    block = "title: no\norder: 012\nday: 2025-03-07\nname: 'quoted: text'\n"
    assert values(parse(note(block))) == {
        "title": "no",
        "order": "012",
        "day": "2025-03-07",
        "name": "quoted: text",
    }


def test_a_value_left_out_is_no_field() -> None:
    """Nothing, a plain ~ and a plain null are no value; quoted they are texts."""
    block = "a:\nb: ~\nc: null\nd: '~'\ne: ''\n"
    assert values(parse(note(block))) == {"d": "~", "e": ""}


def test_deeper_values_are_marked_as_such() -> None:
    """A list of texts is a tuple; a mapping or a list of lists has no value that we read."""
    block = "a: [x, ~, 'y z']\nb: {c: d}\ne: [[f]]\n? [g]\n: h\n"
    assert values(parse(note(block))) == {"a": ("x", "", "y z"), "b": None, "e": None}


def test_fields_know_their_line() -> None:
    """A field's line counts from the first line of the file."""
    fields = parse(note("title: a\n\ntags:\n  - b\n")).fields
    assert (fields["title"].line, fields["tags"].line) == (2, 5)


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (b"", ""),
        (b"\xef\xbb\xbfplain", "plain"),
        (b"plain\n---\ntitle: x\n---\n", "plain\n---\ntitle: x\n---\n"),
        (b" ---\ntitle: x\n---\n", " ---\ntitle: x\n---\n"),
        (b"--- x\n", "--- x\n"),
        (b"----\n", "----\n"),
    ],
)
def test_a_file_without_frontmatter_is_all_body(raw: bytes, body: str) -> None:
    """Only three dashes alone on the very first line open a frontmatter."""
    assert parse(raw) == Document({}, body)


@pytest.mark.parametrize(
    "raw",
    [
        b"---\ntitle: x\n---\na\n---\nb\n",
        b"\xef\xbb\xbf---\ntitle: x\n---\na\n---\nb\n",
        b"---\r\ntitle: x\r\n---\r\na\r\n---\r\nb\r\n",
        b"---\rtitle: x\r---\ra\r---\rb\r",
        b"--- \t\ntitle: x\n...  \na\n---\nb\n",
    ],
)
def test_marks_line_ends_and_fences_of_every_kind(raw: bytes) -> None:
    """A byte order mark, CRLF, CR, blanks after a fence and dots as its end are all the same."""
    document = parse(raw)
    assert values(document) == {"title": "x"}
    assert document.body == "a\n---\nb\n"
    assert document.faults == ()


@pytest.mark.parametrize(
    "raw", [b"---\n---\nx", b"---\n# only a comment\n---\nx", b"---\n\n---\nx"]
)
def test_empty_frontmatter_is_no_fault(raw: bytes) -> None:
    """A frontmatter without fields is allowed."""
    assert parse(raw) == Document({}, "x")


def test_frontmatter_may_end_the_file() -> None:
    """The closing fence needs no line end."""
    assert values(parse(b"---\ntitle: x\n---")) == {"title": "x"}


BROKEN = [
    (b"---\ntitle: x\n", 1, "no closing"),
    (note("title: a: b\n"), 2, "mapping values are not allowed"),
    (note("a: b\ntitle: 'x\n"), 4, "unexpected end"),
    (note("a: b\n\ttitle: x\n"), 3, "tab character"),
    (note("- a\n"), 2, "not a mapping"),
    (note("just words\n"), 2, "not a mapping"),
    (note("a: 1\nb: 2\na: 3\n"), 4, "'a' is there twice"),
    (note("a: &x [1]\nb: *x\n"), 2, "aliases"),
    (note("a: &x\n  b: *x\n"), 2, "aliases"),
    (note("a: *x\n"), 2, "undefined alias"),
    (note("a: b\nc: \x07\n"), 3, "control characters"),
    (note("a: b\n--- c\n"), 3, "another document"),
    (note("a: " + "x" * MAX_FRONTMATTER_BYTES + "\n"), 2, "longer than"),
    (note("a: " + "[" * 5000 + "]" * 5000 + "\n"), 2, "maximum nesting depth"),
]


@pytest.mark.parametrize(("raw", "line", "message"), BROKEN)
def test_broken_frontmatter_is_a_fault(raw: bytes, line: int, message: str) -> None:
    """The note loads with its body and without fields, and the fault says where and what."""
    document = parse(raw, "a/b.md")
    assert document.fields == {}
    assert document.body.endswith("Body\n") or raw.startswith(b"---\ntitle: x\n")
    (fault,) = document.faults
    assert (fault.path, fault.line) == ("a/b.md", line)
    assert message in fault.message


@pytest.mark.parametrize(("raw", "_line", "_message"), BROKEN)
def test_broken_frontmatter_is_never_edited(raw: bytes, _line: int, _message: str) -> None:
    """An edit refuses what it can't read."""
    with pytest.raises(FrontmatterBroken):
        set_tag(raw, TAG, present=True)
    with pytest.raises(FrontmatterBroken):
        set_field(raw, "muted", value=True)


def test_an_alias_bomb_is_refused_at_once() -> None:
    """Nested aliases are not expanded."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    assert "aliases" in parse(note("\n".join(lines) + "\n")).faults[0].message


def test_the_first_fence_closes() -> None:
    """What looks like frontmatter after the first closing fence is body."""
    document = parse(b"---\na: b\n---\nc: d\n---\n")
    assert (values(document), document.body) == ({"a": "b"}, "c: d\n---\n")


def test_invalid_utf8_loads_with_replacements() -> None:
    """Bytes that are no UTF-8 are replaced, the other marks count, the fault names the line."""
    document = parse(b"---\ntitle: caf\xe9\ntags: [a]\n---\n\xff\n", "n.md")
    assert values(document) == {"title": "caf\ufffd", "tags": ("a",)}
    assert document.body == "\ufffd\n"
    assert document.faults == (Fault("n.md", 2, "is not valid UTF-8"),)


def test_nul_bytes_load_with_replacements() -> None:
    """A NUL, which not every store can keep, is replaced and named."""
    document = parse(b"a\nb\0c\n", "n.md")
    assert document == Document({}, "a\nb\ufffdc\n", (Fault("n.md", 2, "has a NUL byte"),))


@given(st.binary() | st.binary().map(lambda data: b"---\n" + data + b"\n---\n"))
def test_reading_is_total(raw: bytes) -> None:
    """Any bytes are a note."""
    parse(raw)


@given(st.text("-:,[]{}#&*!|>'\"%@`?~ \t\r\nab\x85\u2028\ufeff", max_size=40))
def test_reading_odd_yaml_is_total(block: str) -> None:
    """Any arrangement of YAML's signs is a note, read or with a fault."""
    parse(note(block + "\n"))


# --- what fields mean --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a, b,c", ("a", "b", "c")),
        ("a b\n#c", ("a", "b", "c")),
        ("#a, #b/c", ("a", "b/c")),
        (("#a", " b c ", "", "a"), ("a", "b c")),
        ("", ()),
        (" , ", ()),
    ],
)
def test_tags_of_any_style(value: Value, expected: tuple[str, ...]) -> None:
    """Tags come from lists and from texts, without signs, without repeats."""
    assert as_tags(value) == expected


@pytest.mark.parametrize("text", ["true", "True", "YES", "on"])
def test_yes_in_any_word(text: str) -> None:
    """A flag is set by the words that YAML knows."""
    assert as_flag(text) is True


@pytest.mark.parametrize("text", ["false", "No", "OFF"])
def test_no_in_any_word(text: str) -> None:
    """A flag is cleared by the words that YAML knows."""
    assert as_flag(text) is False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-03-07", datetime(2025, 3, 7, tzinfo=UTC)),
        ("2025-03-07T10:30", datetime(2025, 3, 7, 10, 30, tzinfo=UTC)),
        ("2025-03-07 10:30:00-05:00", datetime(2025, 3, 7, 15, 30, tzinfo=UTC)),
        ("2025-03-07T10:30:00Z", datetime(2025, 3, 7, 10, 30, tzinfo=UTC)),
    ],
)
def test_times_are_utc_unless_they_say_otherwise(text: str, expected: datetime) -> None:
    """A date is its first moment in UTC; an offset is applied."""
    assert as_time(text) == expected


def test_whole_numbers() -> None:
    """A number may have a sign."""
    assert [as_integer(text) for text in ("7", "-3", "+012")] == [7, -3, 12]


@pytest.mark.parametrize("value", ["maybe", "", ("true",), None])
def test_no_flag(value: Value) -> None:
    """Anything else is no flag."""
    with pytest.raises(ValueError, match=r"neither|not a text"):
        as_flag(value)


@pytest.mark.parametrize("value", ["Friday", "0001-01-01T00:00+05:00", "2025-13-01", None])
def test_no_time(value: Value) -> None:
    """Anything else is no time, and neither is one before the calendar begins."""
    with pytest.raises(ValueError, match="not a date or time"):
        as_time(value)


@pytest.mark.parametrize("value", ["1.0", "1_000", "٣", "9999999999", ("1",)])
def test_no_number(value: Value) -> None:
    """Anything else is no number."""
    with pytest.raises(ValueError, match=r"whole number|not a text"):
        as_integer(value)


def test_deeper_values_are_no_texts_and_no_tags() -> None:
    """A list is no text; a mapping is no list of tags."""
    with pytest.raises(ValueError, match="not a text"):
        as_text(("a",))
    with pytest.raises(ValueError, match="not a list"):
        as_tags(None)


# --- tags --------------------------------------------------------------------------------------

ADDED = [
    ("tags: [a, b]\n", "tags: [a, b, always-load]\n"),
    ("tags: [a, b, ]\n", "tags: [a, b, always-load, ]\n"),
    ("tags: []  # none yet\n", "tags: [always-load]  # none yet\n"),
    (
        "tags: [\n  a, # first\n  b # last\n]\n",
        "tags: [\n  a, # first\n  b, always-load # last\n]\n",
    ),
    ("tags:\n- a\n- b\nk: 1\n", "tags:\n- a\n- b\n- always-load\nk: 1\n"),
    ("tags:\n  - a # x\n  # y\n\nk: 1\n", "tags:\n  - a # x\n  - always-load\n  # y\n\nk: 1\n"),
    ("tags:\n  - |\n    a\n\nk: 1\n", "tags:\n  - |\n    a\n  - always-load\n\nk: 1\n"),
    ("tags:\n  -\n  - a\n", "tags:\n  -\n  - a\n  - always-load\n"),
    ("? tags\n: - a\n", "? tags\n: - a\n  - always-load\n"),
    ("tags: a, b # c\n", "tags: a, b, always-load # c\n"),
    ("tags: a b\n", "tags: a b always-load\n"),
    ("tags: a\n", "tags: a, always-load\n"),
    ("tags: '#a #b'\n", "tags: '#a #b always-load'\n"),
    ('tags: "a, b, "\n', 'tags: "a, b, always-load, "\n'),
    ("tags: >-\n  a\n  b\nk: 1\n", "tags: >-\n  a\n  b always-load\nk: 1\n"),
    ("{tags: [a], k: {}}\n", "{tags: [a, always-load], k: {}}\n"),
    ("é: 😀\ntags: [ñ]\n", "é: 😀\ntags: [ñ, always-load]\n"),
]
STARTED = [
    ("", "tags: [always-load]\n"),
    ("# c\n", "# c\ntags: [always-load]\n"),
    ("title: x\n", "title: x\ntags: [always-load]\n"),
    ("  title: x\n  k: 1\n", "  title: x\n  k: 1\n  tags: [always-load]\n"),
    ("tags:\nk: 1\n", "tags: [always-load]\nk: 1\n"),
    ("tags: # none\n", "tags: [always-load] # none\n"),
    ("tags: ~\n", "tags: [always-load]\n"),
    ("tags: ''\n", "tags: [always-load]\n"),
    ("tags: ','\n", "tags: [always-load]\n"),
    ("{}\n", "{tags: [always-load]}\n"),
    ("{a: 1, b}\n", "{a: 1, b, tags: [always-load]}\n"),
    ("summary: |+\n  x\n\n", "summary: |+\n  x\n\ntags: [always-load]\n"),
]


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("before", "after"), ADDED + STARTED)
def test_a_tag_is_added_in_the_style_of_the_list(before: str, after: str, eol: str) -> None:
    """Each way to write tags is kept, with comments, line ends and all other fields."""
    raw, expected = (note(text).replace(b"\n", eol.encode()) for text in (before, after))
    assert set_tag(raw, TAG, present=True) == expected
    assert TAG in tags(expected)


@pytest.mark.parametrize(("before", "after"), ADDED)
def test_removing_an_added_tag_gives_the_bytes_back(before: str, after: str) -> None:
    """Pin and unpin leave no trace in a list of tags."""
    assert set_tag(note(after), TAG, present=False) == note(before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tags: [always-load, a]\n", "tags: [a]\n"),
        ("tags: [a, '#always-load', b]\n", "tags: [a, b]\n"),
        ("tags: [always-load,]\n", "tags: []\n"),
        ("tags: [a, # why\n  always-load]\n", "tags: [a, # why\n  ]\n"),
        ("tags: [a, # why\n  always-load, b]\n", "tags: [a, # why\n  b]\n"),
        ("tags: [a, # why\n  always-load # c\n  , b]\n", "tags: [a, # why\n  b]\n"),
        ("tags: [always-load, a, always-load]\n", "tags: [a]\n"),
        ('tags: "always\\x2dload"\n', 'tags: ""\n'),
        ("tags:\n- always-load # pinned\n- a\n", "tags:\n- a\n"),
        ("tags:\n  - always-load\nk: 1\n", "tags:\nk: 1\n"),
        ("tags: always-load\n", "tags: \n"),
        ("tags: '#always-load, a'\n", "tags: 'a'\n"),
        ("tags: |\n  a\n  always-load\n", "tags: |\n  a\n"),
    ],
)
def test_a_tag_is_removed_with_its_separator(before: str, after: str) -> None:
    """Wherever and however often a tag stands, it goes, and its neighbours stay."""
    assert set_tag(note(before), TAG, present=False) == note(after)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", b"---\ntags: [always-load]\n---\n"),
        (b"# T\r\nx\n", b"---\r\ntags: [always-load]\r\n---\r\n# T\r\nx\n"),
        (b"\xef\xbb\xbfx", b"\xef\xbb\xbf---\ntags: [always-load]\n---\nx"),
    ],
)
def test_a_file_without_frontmatter_gets_one(raw: bytes, expected: bytes) -> None:
    """It comes first, after a byte order mark, with the line ends of the file."""
    assert set_tag(raw, TAG, present=True) == expected


@pytest.mark.parametrize(
    "raw", [b"", b"x", note("title: x\n"), note("tags: [a]\n"), note("tags:\n")]
)
def test_removing_a_tag_that_is_not_there_changes_nothing(raw: bytes) -> None:
    """No frontmatter is made to remove a tag from it."""
    assert set_tag(raw, TAG, present=False) == raw


@pytest.mark.parametrize(
    "block",
    [
        "tags: {a: b}\n",
        "tags: [[a]]\n",
        "{tags: a}\n",
        "tags: !x\n- a\n",
        "? [k]\n: 1\ntags: [a]\n",
    ],
)
def test_tags_that_cant_be_edited_are_refused(block: str) -> None:
    """Where a splice would be a guess, nothing is written."""
    with pytest.raises(FrontmatterBroken):
        set_tag(note(block), TAG, present=True)


@pytest.mark.parametrize(
    "block",
    [
        "? tags\n: - always-load\n  - a\n",
        'tags: "a\\u0020always-load"\n',
    ],
)
def test_tags_that_cant_be_cut_are_refused(block: str) -> None:
    """A tag that shares its line or is spelt in escapes stays where it is."""
    with pytest.raises(FrontmatterBroken):
        set_tag(note(block), TAG, present=False)


def test_invalid_utf8_is_never_rewritten() -> None:
    """A file that is not all UTF-8 is left alone, wherever the bad byte is."""
    with pytest.raises(FrontmatterBroken, match="line 4: is not valid UTF-8"):
        set_tag(b"---\ntags: []\n---\n\xff", TAG, present=True)


@pytest.mark.parametrize("tag", ["", "a b", "a,b", "#a", "a: b", "[a]", "a\n", "\ud800", "'a'"])
def test_no_tag(tag: str) -> None:
    """What would not be read back as one tag is refused."""
    with pytest.raises(ValueError, match="can't be a tag"):
        set_tag(b"", tag, present=True)


TAGS = st.text(
    st.characters(categories=["L", "M", "N", "So"], include_characters="-_/.=<~"),
    min_size=1,
    max_size=8,
).filter(str.isprintable)
LISTS = st.sampled_from(
    ["tags: [{}]", "tags: [ {} ] # c", "tags:\n- {}\n# c", "tags: {}", "tags: '{}'", "tags:"]
)
FIELDS = st.lists(
    st.sampled_from(
        ["# c", "", "title: no", "summary: |\n  a\n\n  b\n", "k: [1, {x: y}]", "aliases:\n  - z"]
    ),
    max_size=4,
    unique=True,
)


def is_word(tag: str) -> bool:
    """Whether a tag is written without quotes."""
    return tag[0].isalpha() and tag.lower() != "null"


@st.composite
def notes(draw: st.DrawFn) -> bytes:
    """A note whose tags are written in some style among other fields."""
    style = draw(LISTS)
    words = draw(st.lists(TAGS.filter(is_word), min_size=1, max_size=3))
    joint = "\n- " if style.startswith("tags:\n") else ", "
    lines = [*draw(FIELDS), style.format(joint.join(words))]
    eol = draw(st.sampled_from(["\n", "\r\n"]))
    raw = note("\n".join([*lines, *draw(st.just(["last: 1"]) | st.just([]))]) + "\n")
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + raw.replace(b"\n", eol.encode())


def others(raw: bytes) -> dict[str, Value]:
    """The fields other than the tags."""
    return {key: value for key, value in values(parse(raw)).items() if key != "tags"}


@given(notes(), TAGS)
def test_adding_a_tag_is_one_insertion(raw: bytes, tag: str) -> None:
    """The tag is there, all else is as it was, and a second time changes nothing."""
    after = set_tag(raw, tag, present=True)
    assert tag in tags(after)
    assert others(after) == others(raw)
    assert set_tag(after, tag, present=True) == after
    same_start = next((i for i, (x, y) in enumerate(zip(raw, after, strict=False)) if x != y), None)
    start = len(raw) if same_start is None else same_start
    assert after.endswith(raw[start:])


@given(notes(), TAGS)
def test_adding_and_removing_a_tag_is_nothing(raw: bytes, tag: str) -> None:
    """A tag that was added to others comes off without a trace."""
    if tags(raw) and tag not in tags(raw):
        assert set_tag(set_tag(raw, tag, present=True), tag, present=False) == raw


@given(notes())
def test_removing_a_tag_keeps_the_others(raw: bytes) -> None:
    """Each tag can be removed, alone."""
    for tag in tags(raw):
        after = set_tag(raw, tag, present=False)
        assert tags(after) == tuple(other for other in tags(raw) if other != tag)
        assert others(after) == others(raw)
        assert after.endswith((b"Body\n", b"Body\r\n"))


@given(st.text("-:,[]{}#&!|>'\"?~ \t\r\nabtgs\x85\u2028", max_size=30).map(lambda x: "tags: " + x))
def test_odd_yaml_is_edited_rightly_or_refused(block: str) -> None:
    """Whatever the block, the tag is added and the other fields stay, or nothing is written."""
    raw = note(block + "\n")
    try:
        after = set_tag(raw, TAG, present=True)
        assert TAG in tags(after)
        assert others(after) == others(raw)
        assert TAG not in tags(set_tag(after, TAG, present=False))
    except FrontmatterBroken:
        pass


# --- fields ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("", "muted", True, "muted: true\n"),
        ("muted: false # loud\n", "muted", True, "muted: true # loud\n"),
        ("muted:\nk: 1\n", "muted", True, "muted: true\nk: 1\n"),
        ("muted: yes\n", "muted", None, ""),
        ("a: 1\nmuted: yes # c\nk: 1\n", "muted", None, "a: 1\nk: 1\n"),
        ("a: 1\nmuted:\nk: 1\n", "muted", None, "a: 1\nk: 1\n"),
        ("summary: |\n  a\n  b\n\nk: 1\n", "summary", "c", "summary: c\n\nk: 1\n"),
        ("summary: |\n  a\n  b\n\nk: 1\n", "summary", None, "\nk: 1\n"),
        ("title: a\n  b # c\n", "title", "no", "title: 'no' # c\n"),
        ("title: a\n", "title", "x: y", "title: 'x: y'\n"),
        ("title: a\n", "title", "x\ny\u2028\x07", 'title: "x\\ny\\L\\a"\n'),
        ("title: a\n", "title", "", "title: ''\n"),
        ("title: ~\n", "title", "~", "title: '~'\n"),
        ("order: 1\n", "order", -2, "order: -2\n"),
        (
            "k: 1\n",
            "muted_until",
            datetime(2025, 3, 7, 18, tzinfo=UTC),
            "k: 1\nmuted_until: 2025-03-07T18:00:00Z\n",
        ),
        ("{a: 1}\n", "muted", True, "{a: 1, muted: true}\n"),
    ],
)
def test_a_field_is_set_or_removed(before: str, key: str, value: Scalar | None, after: str) -> None:
    """Texts are quoted where YAML would read something else; flags, numbers, times are not."""
    assert set_field(note(before), key, value) == note(after)


@pytest.mark.parametrize(
    ("block", "key", "value"),
    [
        ('title: "a"\n', "title", "a"),
        ("muted: 'true'\n", "muted", True),
        ("k: 1\n", "muted", None),
        ("summary: >-\n  a\n  b\n", "summary", "a b"),
    ],
)
def test_a_value_that_is_there_is_left_as_written(block: str, key: str, value: Scalar) -> None:
    """The same value in other quotes is no change."""
    assert set_field(note(block), key, value) == note(block)


@pytest.mark.parametrize(
    ("block", "key", "value"),
    [
        ("title: [a]\n", "title", "b"),
        ("title: [a]\n", "title", None),
        ("{title: a, k: 1}\n", "title", None),
        ("{a: 1, title}\n", "title", "x"),
        ("? title\n: a\n", "title", None),
        ("k: 1\n", "title", "\ud800"),
    ],
)
def test_a_field_that_cant_be_edited_is_refused(block: str, key: str, value: Scalar) -> None:
    """Lists, entries that share a line and values that YAML can't hold are refused."""
    with pytest.raises(FrontmatterBroken):
        set_field(note(block), key, value)


@pytest.mark.parametrize("key", ["", "a b", "a:", "- a", "é", "1"])
def test_no_key(key: str) -> None:
    """A field's name is a plain word."""
    with pytest.raises(ValueError, match="can't be a field"):
        set_field(b"", key, "x")


@given(notes(), st.sampled_from(["title", "summary", "id", "last"]), st.text())
def test_any_text_is_read_back(raw: bytes, key: str, text: str) -> None:
    """A field has exactly the text it was set to, the rest is as it was, and it can go again."""
    after = set_field(raw, key, text)
    fields = values(parse(after))
    assert fields.pop(key) == text
    assert fields == {k: v for k, v in values(parse(raw)).items() if k != key}
    assert set_field(after, key, text) == after
    assert key not in parse(set_field(after, key, None)).fields


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_other_programs_read_the_same_text(text: str) -> None:
    """A written text is a string to any YAML reader, not a number, flag or date."""
    block = set_field(b"", "title", text).removeprefix(b"---\n").removesuffix(b"---\n")
    assert yaml.safe_load(block.decode()) == {"title": text}


def test_frontmatter_of_the_limit_is_read() -> None:
    """A block of exactly the limit is read."""
    block = "a: ".ljust(MAX_FRONTMATTER_BYTES - 1, "x") + "\n"
    assert parse(note(block)).faults == ()
