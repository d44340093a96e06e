"""Text to index terms: one analysis for every keyword engine, for documents and queries alike.

A text becomes words, and each word `Term`s: the *stems* of a term decide what matches, its *exact*
form decides what ranks first among the matches. Engines index stems and exact forms as two plain
lists of tokens (`document_tokens`) and never analyse anything themselves. There is no query
language: whatever is not part of a word only separates words.

================  ==========================================================================
``reuniones``     stem ``reunion``; exact ``reuniones``
``trabajando``    stems ``trabaj`` (Spanish), ``trabajando`` (English); exact ``trabajando``
``años``          stems ``anos``, ``ano``; exact ``años``
``QX-4471``       the whole, ``qx4471``, and its parts, ``qx`` and ``4471``
``getUserName``   the whole, ``getusername``, and its parts, ``get``, ``user`` and ``name``
``v1.2``, ``C++`` the wholes ``v1.2`` and ``c++``, and their parts
``会議室``        the bigrams ``会議`` and ``議室``; in a document each character as well
================  ==========================================================================
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

import Stemmer

ANALYSIS_VERSION = 1
"""Rises with every change of what a text becomes, be it ours or the stemmer's: an index of another
version must be rebuilt."""

EXACT_WEIGHT = 0.5
"""What a match of the exact form adds to that of the stem, as a share of its own BM25 score.

Measured in docs/decisions/keyword-index.md; any weight above zero ranks the exact form first.
"""

MAX_TOKEN_CHARACTERS = 64
"""A longer word is known by its beginning, so that a pasted blob is one token and still found."""

MAX_QUERY_CHARACTERS = 16_384
"""How far a query is read: with `MAX_QUERY_TERMS` it bounds what any text can cost."""

MAX_QUERY_TERMS = 64
"""How many distinct terms of a query count: the first ones of the text."""

STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being but by can
    cannot could did didnt do does doesnt doing dont down during each few for from further had has
    have having he her here hers herself him himself his how i if im in into is isnt it its itself
    ive just let me more most my myself no nor not of off on only or other our ours ourselves out
    over own please same she should so some such than that thats the their theirs them themselves
    then there these they this those through to too under until up very was we were what whats
    when where which while who whom why will with would you your yours yourself yourselves
    ademas al algo alguna algunas alguno algunos ante antes aquel aquella aquello asi aunque cada
    como con cual cuales cuando de del desde donde durante e el ella ellas ello ellos entre
    es esa esas ese eso esos esta estaba estaban estan estar estas este esto estos estoy fue fueron
    ha habia han hasta hay he la las le les lo los mas me mi mis mucho muchos muy nada ni nos
    nosotros nuestra nuestras nuestro nuestros o otra otras otro otros para pero por porque
    pues que quien quienes se ser si sido sobre su sus suya suyo tal tambien tanto te
    tenia tiene tienen todos tu tus tuya tuyo u un una uno unos vosotros y ya yo
    """.split()  # noqa: SIM905 - a word list is read as text
)
"""English and Spanish words that tell nothing, without accents.

Those that tell something in the other language (son, sin, era, once, fin) are not here: their
frequency in the index speaks for them.
"""

# Scripts that are written without spaces (Thai, Lao, Burmese, Khmer, kana, Han), and Hangul,
# whose particles are joined to the word.
_UNSPACED = (
    r"\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1100-\u11ff\u1780-\u17d3\u3005-\u3007\u3041-\u309a"
    r"\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7fb\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
# Marks that stay with the letter before them (Latin to Arabic, Indic); `\w` leaves them out.
_MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    r"\u0900-\u0963\u0981-\u0983\u09bc-\u0dff\u1dc0-\u1dff"
)
_LETTERS = rf"(?:[^\W_{_UNSPACED}]++[{_MARKS}]*+)++"
_JOINERS = r"[-_./\\:@&']"
_WORD = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]++)"
    rf"|{_LETTERS}(?:{_JOINERS}{{1,3}}{_LETTERS})*+(?:\+\+|\#(?!\w))?+"
)
_BORDER = re.compile(rf"{_JOINERS}++|(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")
# Between digits a joiner tells numbers apart (1.23 and 12.3); elsewhere it is a habit of spelling
# (e-mail and email, get_user and getUser).
_IDLE_JOINER = re.compile(rf"(?<!\d){_JOINERS}++|{_JOINERS}++(?!\d)")
_POSSESSIVE = re.compile(r"'[sS]$")
# Invisible characters go, typographic apostrophes and hyphens become the typed ones.
_UNIFORM: dict[int, str | None] = {
    **dict.fromkeys([0xAD, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFE0E, 0xFE0F, 0xFEFF]),
    **dict.fromkeys([0x2018, 0x2019, 0x02BC], "'"),
    **dict.fromkeys([0x2010, 0x2011], "-"),
}
_ACCENTS = re.compile(r"[\u0300-\u036f]+")
# Letters whose stroke or ligature is left out as often as an accent; Unicode keeps them whole.
_STROKES = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe"})


@dataclass(frozen=True, slots=True)
class Term:
    """One word: a document matches with any of ``stems`` (one or two), ``exact`` ranks it up."""

    stems: tuple[str, ...]
    exact: str
    is_stop_word: bool


@dataclass(frozen=True, slots=True)
class Tokens:
    """A document as two bags of tokens; no token is empty or holds white space."""

    stems: list[str]
    exact: list[str]


def document_tokens(text: str) -> Tokens:
    """Analyse a stored text: its tokens in their order, repetitions included."""
    terms = [_term(piece) for word in _words(text) for piece in word]
    return Tokens([stem for term in terms for stem in term.stems], [term.exact for term in terms])


def query_terms(text: str) -> list[Term]:
    """Analyse a question: its distinct terms, at most `MAX_QUERY_TERMS`; none without a word.

    Stop words of both languages are left out unless there is nothing else, and so are the single
    characters of a word that has longer pieces: they would match nearly everything.
    """
    telling: dict[str, Term] = {}
    stop_words: dict[str, Term] = {}
    for word in _words(text[:MAX_QUERY_CHARACTERS]):
        whole, *_ = terms = [_term(piece) for piece in word]
        for term in [term for term in terms if len(term.exact) > 1] or terms:
            is_stop_word = whole.is_stop_word or term.is_stop_word
            (stop_words if is_stop_word else telling)[term.exact] = term
        if len(telling) >= MAX_QUERY_TERMS:
            break
    return list((telling or stop_words).values())[:MAX_QUERY_TERMS]


def _words(text: str) -> Iterator[list[str]]:
    """Yield each word as the pieces that it is known by, still in the case of the text."""
    uniform = text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_UNIFORM)
    for match in _WORD.finditer(uniform):
        yield _characters(match[0]) if match.lastgroup else _identifier(match[0])


def _characters(run: str) -> list[str]:
    return [*run, *(run[start : start + 2] for start in range(len(run) - 1))]


def _identifier(word: str) -> list[str]:
    if word.isalpha() and (word.islower() or word[1:].islower()):
        return [word]
    word = _POSSESSIVE.sub("", word)
    bare = word.rstrip("+#")
    parts = _BORDER.split(bare)
    whole = _IDLE_JOINER.sub("", word)
    return [whole, *parts] if len(parts) > 1 or bare != word else [whole]


@lru_cache(maxsize=2**16)
def _term(piece: str) -> Term:
    """Analyse one piece; cached, because the words of a language repeat.

    The Spanish stem is taken of the word as written (its rules read accents), the English one of
    the word without accents: so a word and its unaccented spelling always share the latter.
    """
    exact = unicodedata.normalize("NFKC", piece.casefold())[:MAX_TOKEN_CHARACTERS]
    plain = _without_accents(exact)
    if not plain.isalpha():
        return Term((plain,), exact, is_stop_word=False)
    spanish = _without_accents(_stemmer("spanish").stemWord(exact))
    english = _stemmer("english").stemWord(plain)
    return Term(tuple(dict.fromkeys((spanish, english))), exact, plain in STOP_WORDS)


@cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    # Without its own cache a stemmer keeps no state that two threads could spoil.
    return Stemmer.Stemmer(language, 0)


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", bare).translate(_STROKES)
