"""When two statements are the same words."""

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hilvan_retrieval.core.words import same_words

WORDS = st.lists(st.text(string.ascii_lowercase + "áéñç", min_size=1, max_size=6), min_size=1)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("I live in Madrid", "i live in madrid!"),
        ("Reunión  el miércoles.", "reunion el miercoles"),
        ("«Hola», dijo", "hola dijo"),
        ("PINGÜINO", "pingu\u0308ino"),
        ("niño", "nin\u0303o"),
        ("e-mail", "e mail"),
        ("room 12.", "Room 12"),
        ("(5)", "5"),
        ("a-5", "a 5"),
        ("東京の会議室", "東京の会議室。"),
        ("C++ & C#", "c++, c#"),
        ("x\u0301\u0302", "x"),
    ],
)
def test_typing_does_not_count(left: str, right: str) -> None:
    """Case, accents, punctuation and spacing don't make another statement."""
    assert same_words(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("vuelo a las 9", "vuelo a las 10"),
        ("un año", "un ano"),
        ("1.5 kg", "15 kg"),
        ("1.5", "1 5"),
        ("v1.23", "v12.3"),
        ("10²", "102"),
        ("-5 grados", "5 grados"),
        ("50%", "50"),
        ("€5", "$5"),
        ("C++", "C"),
        ("C#", "C"),
        ("A < B", "A > B"),
        ("we're", "were"),
        ("мой", "мои"),
        ("I like tea", "I like tea not"),
        ("tea I like", "I like tea"),
        ("9:30", "9 30"),
        ("I ❤ you", "I you"),
    ],
)
def test_a_changed_word_digit_or_sign_counts(left: str, right: str) -> None:
    """What may change the meaning is never folded."""
    assert not same_words(left, right)


def test_without_a_word_nothing_is_the_same() -> None:
    """Punctuation alone says nothing, so it repeats nothing."""
    assert not same_words("", "")
    assert not same_words("!!!", "!!!")


@given(WORDS, st.sampled_from([" ", ", ", "... ", "\n", " — "]), st.booleans())
def test_every_retyping_is_the_same(words: list[str], joiner: str, upper: bool) -> None:  # noqa: FBT001 - drawn
    """Words joined and cased otherwise are the same words, in either direction."""
    text, retyped = " ".join(words), joiner.join(words) + "!"
    retyped = retyped.upper() if upper else retyped
    assert same_words(text, retyped)
    assert same_words(retyped, text)


@given(WORDS, st.integers(0, 10**6), st.integers(0, 10**6), st.data())
def test_another_number_is_never_the_same(
    words: list[str], left: int, right: int, data: st.DataObject
) -> None:
    """Wherever it stands, a changed number makes another statement."""
    assume(left != right)
    place = data.draw(st.integers(0, len(words)))
    texts = [" ".join([*words[:place], str(each), *words[place:]]) for each in (left, right)]
    assert not same_words(*texts)
