"""What a text becomes in a keyword index."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hilvan_retrieval.core.analysis import (
    MAX_QUERY_CHARACTERS,
    MAX_QUERY_TERMS,
    MAX_TOKEN_CHARACTERS,
    document_tokens,
    query_terms,
)

# Every plane and surrogates too, with the scripts that the analysis treats apart more often.
TEXTS = (
    st.text(st.characters() | st.sampled_from("aA1'-_./+#éñÑ\N{COMBINING ACUTE ACCENT}東カｶﾞ가ष"))
    | st.text()
)
# Letters whose cases Unicode maps there and back, without those such as `ª` that have one only.
CASED = st.text(
    st.characters(categories=["L", "N", "P", "Zs"]).filter(
        lambda letter: (
            letter.upper().casefold() == letter.casefold()
            and unicodedata.is_normalized("NFKC", letter)
        )
    )
)
ACCENTED = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyzáéíóúüñçøß"), min_size=1)


def without_accents(text: str) -> str:
    """Strip what a keyboard without accents leaves out."""
    return re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFD", text)).replace("ø", "o")


def asked(text: str) -> list[str]:
    """Give the exact forms of the terms that a query asks for."""
    return [term.exact for term in query_terms(text)]


@pytest.mark.parametrize(
    ("text", "stems", "exact"),
    [
        ("reuniones", "reunion", "reuniones"),
        ("trabajando", "trabaj trabajando", "trabajando"),
        ("Años", "anos ano", "años"),
        ("meetings", "meetings meet", "meetings"),
        ("Ana's", "ana", "ana"),
        ("QX-4471", "qx4471 qx 4471", "qx4471 qx 4471"),
        ("v1.2", "v1.2 v1 2", "v1.2 v1 2"),
        ("1.23", "1.23 1 23", "1.23 1 23"),
        ("XMLHttp", "xmlhttp xml http", "xmlhttp xml http"),
        ("__init__", "init", "init"),
        ("md5Sum", "md5sum md5 sum", "md5sum md5 sum"),
        ("/var/log", "varlog var log", "varlog var log"),
        ("C++17", "c++ c 17", "c++ c 17"),
        ("C#", "c# c", "c# c"),
        ("issue#42", "issu 42", "issue 42"),
        ("3階", "3 階", "3 階"),
        ("会議室", "会 議 室 会議 議室", "会 議 室 会議 議室"),
        ("हिन्दी", "हिन्दी", "हिन्दी"),
        ("ŁÓDŹ", "lodz", "łódź"),
    ],
)
def test_document_tokens(text: str, stems: str, exact: str) -> None:
    """A word gives its stems and its exact form, an identifier its whole and its parts as well.

    These lines hold `ANALYSIS_VERSION`: whoever changes one makes every stored index stale.
    """
    tokens = document_tokens(text)
    assert (" ".join(tokens.stems), " ".join(tokens.exact)) == (stems, exact)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Which room is Ana's office in?", ["room", "ana", "office"]),
        ("¿Dónde está la reunión de Ana?", ["reunión", "ana"]),
        ("to be or not to be", ["to", "be", "or", "not"]),
        ("don't stop", ["stop"]),
        ("my son and his sin", ["son", "sin"]),
        ("vitamin C", ["vitamin", "c"]),
        ("e-mail", ["email", "mail"]),
        ("C++", ["c++"]),
        ("会議室", ["会議", "議室"]),
        ("室", ["室"]),
        ("tea tea TEA", ["tea"]),
        ("😀 * -", []),
    ],
)
def test_query_terms(text: str, terms: list[str]) -> None:
    """A query asks for its distinct telling words, and for its stop words when it has no other."""
    assert asked(text) == terms


def test_stems_of_both_languages() -> None:
    """Spanish words get their Spanish stem, whatever the English rules make of them."""
    stems = [set(query_terms(word)[0].stems) for word in ("trabajaba", "trabajar", "trabajos")]
    assert set.intersection(*stems) == {"trabaj"}


@given(TEXTS)
@example("\x00")
@example("\ud800a\udfff")
def test_every_text_has_tokens_of_a_kind(text: str) -> None:
    """No text is refused; tokens are short, not empty, and hold neither spaces nor surrogates."""
    tokens = document_tokens(text)
    for token in (*tokens.stems, *tokens.exact):
        assert token
        assert not re.search(r"\s", token)
        assert len(token.encode()) <= 4 * MAX_TOKEN_CHARACTERS


@given(TEXTS)
def test_unicode_form_changes_nothing(text: str) -> None:
    """Composed, decomposed and compatibility forms of a text are one text."""
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        changed = unicodedata.normalize(form, text)
        assert document_tokens(changed) == document_tokens(text)


@given(CASED)
def test_case_changes_no_term_of_a_query_in_one_case(text: str) -> None:
    """Upper and lower case ask for the same terms; only mixed case marks parts."""
    assert query_terms(text.upper()) == query_terms(text.lower())


@given(TEXTS)
def test_every_word_of_a_text_finds_it(text: str) -> None:
    """Whatever stands between spaces in a text matches that text when it is asked for alone."""
    stems = set(document_tokens(text).stems)
    for word in text.split():
        for term in query_terms(word):
            assert stems.issuperset(term.stems)


@given(ACCENTED)
def test_accents_keep_no_word_from_matching(word: str) -> None:
    """A word and its spelling without accents share a stem."""
    stems = document_tokens(word).stems
    for term in query_terms(without_accents(word)):
        assert not set(term.stems).isdisjoint(stems)


def test_long_words_are_known_by_their_beginning() -> None:
    """Of a word without end the first characters are indexed and asked for."""
    blob = "x" * 100_000
    assert document_tokens(blob).exact == asked(blob) == ["x" * MAX_TOKEN_CHARACTERS]


def test_queries_are_bounded() -> None:
    """A query has a bounded number of terms, the first ones, and is read to a bounded length."""
    many = " ".join(f"w{n}" for n in range(20_000))
    assert asked(many) == [f"w{n}" for n in range(MAX_QUERY_TERMS)]
    assert asked("tea " * MAX_QUERY_CHARACTERS + "milk") == ["tea"]
