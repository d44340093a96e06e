"""The tables of each language, turned around for look-up by folded word."""

from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType

import Stemmer

from hilvan_assembler.core.evidence import lexicon_en, lexicon_es, verbs_en, verbs_es
from hilvan_assembler.core.evidence.classes import CANONICAL
from hilvan_assembler.core.evidence.words import fold

_CACHED_WORDS = 8192


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """One language. Sets hold folded words, dicts map folded words to concepts."""

    stemmer: Stemmer.Stemmer
    """Shared: a call holds the interpreter's lock from start to end."""
    copulas: frozenset[str]
    plural_copulas: frozenset[str]
    articles: frozenset[str]
    possessives: frozenset[str]
    ignored: frozenset[str]
    pronouns: frozenset[str]
    first_person: frozenset[str]
    first_forms: frozenset[str]
    """Verbs that say by themselves that the speaker is the subject."""
    titles: frozenset[str]
    conjunctions: frozenset[str]
    fresh: frozenset[str]
    negators: frozenset[str]
    prepositions: dict[str, str]
    verbs: dict[str, str]
    bases: dict[str, str]
    """Forms that are verbs at the start of a clause or behind ``before_verbs`` only."""
    before_verbs: frozenset[str]
    numbers: frozenset[str]
    nouns: frozenset[str]
    """Forms that are nouns behind an article, a possessive or a preposition."""
    words: dict[str, str]
    flipped: dict[str, str]
    phrases: dict[str, tuple[tuple[tuple[str, ...], str], ...]]
    open_words: frozenset[str]
    conditions: frozenset[str]
    question_starts: frozenset[str]
    """As written in lower case: "como" may be a verb, "cómo" is not."""
    auxiliaries: frozenset[str]
    past_words: frozenset[str]
    past_endings: tuple[str, ...]
    ambiguous_endings: tuple[str, ...]
    changes: dict[str, str]
    """Verbs of change as written in lower case → the kind of change ("moved", "left"…)."""
    change_participles: dict[str, str]
    participle_endings: tuple[str, ...]
    participles: frozenset[str]
    known: frozenset[str]
    special: frozenset[str]
    """Every word that does more than carry content."""
    stems: dict[str, str]
    """Stem of a listed verb or word → its concept, for the inflections that nobody listed."""


@lru_cache(_CACHED_WORDS)
def concept_of(lexicon: Lexicon, word: str) -> tuple[str, bool]:
    """The concept of a folded word, and whether the word itself is listed (else by its stem)."""
    listed = lexicon.words.get(word) or CANONICAL.get(word) or lexicon.verbs.get(word)
    if listed:
        return listed, True
    stem = str(lexicon.stemmer.stemWord(word))
    return lexicon.stems.get(stem, stem), False


def _invert(table: dict[str, str]) -> dict[str, str]:
    return {word: concept for concept, words in table.items() for word in words.split()}


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _phrases(table: dict[str, str]) -> dict[str, tuple[tuple[tuple[str, ...], str], ...]]:
    """Phrases by their first word, longest first."""
    by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for phrase, meaning in sorted(table.items(), key=lambda item: -item[0].count(" ")):
        words = tuple(phrase.split())
        by_first.setdefault(words[0], []).append((words, meaning))
    return {first: tuple(entries) for first, entries in by_first.items()}


def _changes(forms: ModuleType) -> dict[str, str]:
    kinds = ("moved", "changed", "replaced", "left", "given")
    return {word: kind for kind in kinds for word in getattr(forms, kind.upper()).split()}


def _load(module: ModuleType, forms: ModuleType, stemmer: str) -> Lexicon:
    flipped_verbs = _invert(forms.FLIPPED_VERBS)
    verbs = _invert(forms.VERBS) | flipped_verbs
    words = _invert(module.SLOT_NOUNS) | _invert(module.WORDS) | _invert(module.FLIPPED_WORDS)
    bases = {word: verbs.get(word + "s", word) for word in forms.BASES.split()}
    prepositions = _invert(module.PREPOSITIONS)
    ignored, copulas = _set(module.IGNORED), _set(module.COPULAS)
    changes, participles = _changes(forms), _invert(forms.CHANGED_PARTICIPLES)
    phrases = _phrases(module.PHRASES)
    open_words, past_words = _set(module.OPEN_WORDS), _set(forms.PAST_WORDS)
    markers = {
        *_set(f"{module.FRESH} {module.NEGATORS} {module.CONDITIONS} {module.TITLES} on off"),
        *map(fold, [*open_words, *changes]),
    }
    stemmer_of = Stemmer.Stemmer(stemmer)
    return Lexicon(
        stemmer=stemmer_of,
        copulas=copulas,
        plural_copulas=_set(module.PLURAL_COPULAS),
        articles=_set(module.ARTICLES),
        possessives=_set(module.POSSESSIVES),
        ignored=ignored,
        pronouns=_set(module.PRONOUNS),
        first_person=_set(module.FIRST_PERSON),
        first_forms=_set(forms.FIRST_FORMS),
        titles=_set(module.TITLES),
        conjunctions=_set(module.CONJUNCTIONS),
        fresh=_set(module.FRESH),
        negators=_set(module.NEGATORS),
        prepositions=prepositions,
        verbs=verbs,
        bases=bases,
        before_verbs=_set(forms.BEFORE_VERBS),
        numbers=_set(module.NUMBERS),
        nouns=_set(forms.NOUNS),
        words=words,
        flipped=flipped_verbs | _invert(module.FLIPPED_WORDS),
        phrases=phrases,
        open_words=open_words,
        conditions=_set(module.CONDITIONS),
        question_starts=_set(module.QUESTION_STARTS),
        auxiliaries=_set(forms.AUXILIARIES),
        past_words=past_words,
        past_endings=forms.PAST_ENDINGS,
        ambiguous_endings=forms.AMBIGUOUS_ENDINGS,
        changes=changes,
        change_participles=participles,
        participle_endings=forms.PARTICIPLE_ENDINGS,
        participles=_set(forms.PARTICIPLES),
        known=frozenset({*ignored, *prepositions, *verbs, *copulas}),
        special=frozenset(
            {*ignored, *copulas, *prepositions, *verbs, *bases, *past_words, *participles}
            | {*phrases, *markers}
        ),
        stems={stemmer_of.stemWord(word): concept for word, concept in (words | verbs).items()},
    )


ENGLISH = _load(lexicon_en, verbs_en, "english")
SPANISH = _load(lexicon_es, verbs_es, "spanish")
SLOT_NOUNS = frozenset(lexicon_en.SLOT_NOUNS) | frozenset(lexicon_es.SLOT_NOUNS)
"""Concepts that have one value at a time: "the deadline is", "Ana's manager is"."""


def language_of(words: tuple[str, ...]) -> Lexicon:
    """The language with more words known; English for a tie."""
    spanish, english = SPANISH.known.intersection(words), ENGLISH.known.intersection(words)
    return SPANISH if len(spanish) > len(english) else ENGLISH
