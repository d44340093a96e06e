"""Passages: all of a note's text is found, and an edit moves only its own section."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilvan_curation.core.passage import MOST, first_heading, split
from hilvan_curation.model.passage import Passage

SENTENCE = "One two three four five six seven eight nine ten. "


def texts(body: str) -> list[str]:
    """The passages' texts."""
    return [passage.text for passage in split("n", body)]


def prose(words: int) -> str:
    """A paragraph of that many words in sentences of ten."""
    return (SENTENCE * (words // 10)).strip()


def test_a_heading_begins_a_passage() -> None:
    """Each section is a passage that knows the headings above it."""
    body = "before\n\n# A\n\none\n\n## B\ntwo\n\n### C ###\nthree\n## D\nfour\n# E\nfive\n"
    assert [(passage.headings, passage.text) for passage in split("n", body)] == [
        ((), "before"),
        (("A",), "# A\n\none"),
        (("A", "B"), "## B\ntwo"),
        (("A", "B", "C"), "### C ###\nthree"),
        (("A", "D"), "## D\nfour"),
        (("E",), "# E\nfive"),
    ]


def test_passages_know_their_place() -> None:
    """Ordinals count from 0 and offsets are positions in the body."""
    body = "\n# A\n\né\n\n# B\n\n😀 c\n\n"
    passages = split("n", body)
    assert [passage.ordinal for passage in passages] == [0, 1]
    assert [body[passage.start : passage.end] for passage in passages] == [
        "# A\n\né",
        "# B\n\n😀 c",
    ]


def test_headings_without_text_join_the_next() -> None:
    """A title above a section is no passage of its own, unless nothing follows."""
    assert texts("# A\n\n## B\none\n\n# C\n") == ["# A\n\n## B\none", "# C"]


def test_a_skeleton_of_headings_is_cut() -> None:
    """Headings without any text don't pile up without end."""
    assert len(texts("".join(f"# {n}\n" for n in range(40)))) == 5


@pytest.mark.parametrize("body", ["", "\n\n", " \t\n"])
def test_nothing_to_find(body: str) -> None:
    """A blank body has no passages."""
    assert split("n", body) == ()


@pytest.mark.parametrize(
    "line", ["#tag", "####### seven", "    # code", "\\# no", "# " + "x" * 200]
)
def test_not_a_heading(line: str) -> None:
    """Tags, seven signs, indented code, an escaped sign and endless lines are text."""
    assert split("n", f"a\n\n{line}\nb\n")[0].headings == ()


@pytest.mark.parametrize(
    ("line", "title"),
    [("# A", "A"), ("  #\tA  ", "A"), ("# A ##  ", "A"), ("# C#", "C#"), ("# # A", "# A")],
)
def test_the_text_of_a_heading(line: str, title: str) -> None:
    """Signs that close a heading are not part of its text."""
    assert split("n", f"{line}\nb")[0].headings == (title,)


@pytest.mark.parametrize("line", ["#", "# ", "# ##"])
def test_an_empty_heading_has_no_text(line: str) -> None:
    """A heading without a title begins a passage and adds nothing to the path."""
    assert [(p.headings, p.text) for p in split("n", f"a\n{line}\nb")][1] == ((), f"{line}\nb")


def test_short_paragraphs_are_packed() -> None:
    """Whole paragraphs are joined up to the most words, into passages of similar size."""
    body = "\n\n".join(prose(60) for _ in range(5))
    assert [len(text.split()) for text in texts(body)] == [180, 120]


def test_a_passage_ends_before_it_is_too_long() -> None:
    """A paragraph that does not fit begins the next passage."""
    assert [len(text.split()) for text in texts(f"{prose(90)}\n\n{prose(150)}")] == [90, 150]


def test_a_long_paragraph_is_cut_at_sentences() -> None:
    """Each part ends with a whole sentence, none is longer than the most words."""
    parts = texts(prose(470))
    assert [len(part.split()) for part in parts] == [160, 160, 150]
    assert all(part.endswith("ten.") for part in parts)


def test_a_long_list_is_cut_between_items() -> None:
    """Items and rows without a full stop are boundaries as well."""
    parts = texts("".join(f"- item {n} of a list that has no stops\n" for n in range(60)))
    assert len(parts) == 3
    assert all(part.startswith("- item") for part in parts)


def test_a_long_sentence_is_cut_between_words() -> None:
    """Text without any stop is still bounded, and no word is parted."""
    parts = texts(" ".join(["word"] * 500))
    assert set(" ".join(parts).split()) == {"word"}
    assert max(len(part.split()) for part in parts) <= MOST


def test_text_without_spaces_is_cut() -> None:
    """A CJK paragraph is cut at its stops, an endless word anywhere between graphemes."""
    parts = texts("会議室は三階です。" * 60)
    assert len(parts) > 1
    assert all(part.endswith("。") and len(part) <= MOST for part in parts)
    assert max(map(len, texts("x" * 10_000))) <= 16 * MOST


@pytest.mark.parametrize(
    "grapheme",
    ["e\u0301\u0302", "👩\u200d👩\u200d👧", "👍🏽", "क्ष", "\u1112\u1161\u11ab", "नि", "❤\ufe0f"],
)
def test_graphemes_are_never_parted(grapheme: str) -> None:
    """An accent, a joined or tinted emoji, a conjunct or a syllable stays whole."""
    for lead in range(len(grapheme)):
        parts = texts("x" * lead + grapheme * 4000)
        assert len(parts) > 1
        assert all(re.fullmatch(f"x*({grapheme})*", part) for part in parts)


def test_flags_are_never_parted() -> None:
    """Pairs of regional letters stay together where something else stands between them."""
    parts = texts("🇪🇸🇲🇽x" * 3000)
    assert all(re.fullmatch("(🇪🇸🇲🇽|x)*", part) for part in parts)


CODE = "```python\n# not a heading\n\n{}\n```"


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("```", "```"),
        ("~~~ py", "~~~~  "),
        ("  ````", "`````"),
        ("> ```", "> ```"),
        ("- ```", "  ```"),
    ],
)
def test_code_is_never_cut(opening: str, closing: str) -> None:
    """A fenced block stays whole, with what looks like headings, blanks and fences inside."""
    code = f"{opening}\n# no\n\n``\n{prose(300)}\n\n# no\n{closing}"
    (before, inside, after) = texts(f"{prose(150)}\n\n{code}\n\n{prose(150)}")
    assert inside == code.strip()
    assert (before, after) == (prose(150), prose(150))


def test_short_code_stays_with_its_text() -> None:
    """Code is packed like a paragraph."""
    body = f"Run:\n{CODE.format('x = 1')}\n\nThen wait."
    assert texts(body) == [body]


def test_a_fence_that_is_not_closed_takes_the_rest() -> None:
    """Nothing after it is lost."""
    assert texts("a\n```\n# b\n\n~~~\n``\nc") == ["a\n```\n# b\n\n~~~\n``\nc"]


def test_signs_within_a_line_open_no_code() -> None:
    """Three ticks with another tick in the line are inline code."""
    assert [p.headings for p in split("n", "```a``` b\n# A\nc")] == [(), ("A",)]


def test_an_edit_keeps_the_other_sections() -> None:
    """Only the edited section's passages get new ids, wherever it moves the others."""
    sections = [f"# {name}\n\n{prose(250)} {name}\n" for name in "ABC"]
    before = split("n", "\n".join(sections))
    sections[1] = sections[1].replace("seven", "7", 1) + "\nAnd more.\n"
    after = split("n", "\n".join(sections))
    lost = {p.id for p in before} - {p.id for p in after}
    assert {p.headings for p in before if p.id in lost} == {("B",)}
    assert {p.headings for p in after if p.id not in {b.id for b in before}} == {("B",)}


def test_ids_depend_on_note_headings_and_text() -> None:
    """The same text has another id in another note, beneath another heading, or repeated."""
    passages = [
        *split("n", "# A\nx\n# A\nx\n"),
        *split("m", "# A\nx\n"),
        *split("n", "# A\n## B\nx\n"),
    ]
    assert len({passage.id for passage in passages}) == 4
    assert split("n", "# A\nx\n")[0].id == passages[0].id
    assert passages[0].content_hash == passages[1].content_hash == passages[2].content_hash


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("# A\n# B", "A"),
        ("## A\n\ntext\n# B", "B"),
        ("```\n# A\n```\n", ""),
        ("#\n# B", "B"),
        ("## A", ""),
        ("", ""),
    ],
)
def test_the_first_heading(body: str, title: str) -> None:
    """The first level-1 heading with a text, outside of code."""
    assert first_heading(body) == title


PARTS = st.sampled_from(
    [
        *("# A\n", "## B\n", "\n", "\n\n", "```\n", "~~~\n", "- x\n", "> ", " ", "\t"),
        *(
            prose(130),
            prose(250),
            "word " * 300,
            "x" * 5000,
            "語。" * 150,
            "e\u0301",
            "🇪🇸",
            "\u200d",
        ),
    ]
)
BODIES = st.lists(PARTS | st.text(max_size=5), max_size=12).map("".join)


@given(BODIES)
def test_nothing_is_lost(body: str) -> None:
    """Passages follow each other, are what the body says, and leave only white space out."""
    passages = split("n", body)
    at = 0
    for passage in passages:
        assert not body[at : passage.start].strip()
        assert passage.text == body[passage.start : passage.end] == passage.text.strip() != ""
        at = passage.end
    assert not body[at:].strip()
    assert len({passage.id for passage in passages}) == len(passages)
    assert [passage.ordinal for passage in passages] == list(range(len(passages)))


@given(BODIES)
def test_no_passage_begins_with_a_mark(body: str) -> None:
    """A combining character is never the first of a passage that follows another directly."""
    passages = split("n", body)
    for left, right in pairwise(passages):
        if left.end == right.start:
            assert unicodedata.category(right.text[0]) not in {"Mn", "Mc", "Me"}


@given(st.lists(st.sampled_from([prose(130), prose(250), "word " * 300, "語。" * 150]), max_size=6))
def test_passages_are_bounded(paragraphs: list[str]) -> None:
    """Text without code gives passages of at most the most words."""
    for passage in split("n", "\n\n".join(paragraphs)):
        assert size(passage) <= MOST


def size(passage: Passage) -> int:
    """Words, or characters where there are no spaces."""
    return max(len(passage.text.split()), sum(char in "語。" for char in passage.text))
