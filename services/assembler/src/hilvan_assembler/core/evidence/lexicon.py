"""The tables of each language, turned around for look-up by folded word."""

from dataclasses import dataclass
from types import ModuleType

import Stemmer

from hilvan_assembler.core.evidence import lexicon_en, lexicon_es


@dataclass(frozen=True, slots=True)
class Lexicon:
    """One language. Sets hold folded words, dicts map folded words to concepts."""

    stemmer: str
    copulas: frozenset[str]
    plural_copulas: frozenset[str]
    articles: frozenset[str]
    ignored: frozenset[str]
    fresh: frozenset[str]
    negators: frozenset[str]
    prepositions: dict[str, str]
    verbs: dict[str, str]
    words: dict[str, str]
    flipped: dict[str, str]
    phrases: dict[str, tuple[tuple[tuple[str, ...], str], ...]]
    open_words: frozenset[str]
    question_starts: frozenset[str]
    past_words: frozenset[str]
    past_endings: tuple[str, ...]
    ambiguous_endings: tuple[str, ...]
    moved: frozenset[str]
    replaced: frozenset[str]
    left: frozenset[str]
    participle_endings: tuple[str, ...]
    participles: frozenset[str]
    known: frozenset[str]
    stems: dict[str, str]
    """Stem of a listed verb or word → its concept, for the inflections that nobody listed."""


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


def _load(module: ModuleType, stemmer: str) -> Lexicon:
    verbs = _invert(module.VERBS)
    flipped_verbs = _invert(module.FLIPPED_VERBS)
    prepositions = _invert(module.PREPOSITIONS)
    ignored = _set(module.IGNORED)
    words = _invert(module.SLOT_NOUNS) | _invert(module.WORDS) | _invert(module.FLIPPED_WORDS)
    stem = Stemmer.Stemmer(stemmer).stemWord
    return Lexicon(
        stemmer=stemmer,
        copulas=_set(module.COPULAS),
        plural_copulas=_set(module.PLURAL_COPULAS),
        articles=_set(module.ARTICLES),
        ignored=ignored,
        fresh=_set(module.FRESH),
        negators=_set(module.NEGATORS),
        prepositions=prepositions,
        verbs=verbs | flipped_verbs,
        words=words,
        flipped=flipped_verbs | _invert(module.FLIPPED_WORDS),
        phrases=_phrases(module.PHRASES),
        open_words=_set(module.OPEN_WORDS),
        question_starts=_set(module.QUESTION_STARTS),
        past_words=_set(module.PAST_WORDS),
        past_endings=module.PAST_ENDINGS,
        ambiguous_endings=module.AMBIGUOUS_ENDINGS,
        moved=_set(module.MOVED),
        replaced=_set(module.REPLACED),
        left=_set(module.LEFT),
        participle_endings=module.PARTICIPLE_ENDINGS,
        participles=_set(module.PARTICIPLES),
        known=ignored | prepositions.keys() | verbs.keys() | _set(module.COPULAS),
        stems={stem(word): concept for word, concept in (words | verbs).items()},
    )


ENGLISH = _load(lexicon_en, "english")
SPANISH = _load(lexicon_es, "spanish")
SLOT_NOUNS = frozenset(lexicon_en.SLOT_NOUNS) | frozenset(lexicon_es.SLOT_NOUNS)
"""Concepts that have one value at a time: "the deadline is", "Ana's manager is"."""


def language_of(words: tuple[str, ...]) -> Lexicon:
    """The language with more words known; English for a tie."""
    spanish = sum(word in SPANISH.known for word in words)
    english = sum(word in ENGLISH.known for word in words)
    return SPANISH if spanish > english else ENGLISH
