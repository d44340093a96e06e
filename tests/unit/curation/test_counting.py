"""Counts that are remembered."""

from hilvan_curation.core.counting import remembered


def test_a_text_is_counted_once() -> None:
    """The same text gives the same count without asking again."""
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    counted = remembered(count)
    assert [counted(each) for each in ("one", "three", "one", "".join("one"))] == [3, 5, 3, 3]
    assert asked == ["one", "three"]


def test_what_is_remembered_is_bounded() -> None:
    """When it is full it begins again, and the counts stay right."""
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    counted = remembered(count, most=2)
    assert [counted(each) for each in ("a", "bb", "ccc", "a", "ccc")] == [1, 2, 3, 1, 3]
    assert asked == ["a", "bb", "ccc", "a"]
