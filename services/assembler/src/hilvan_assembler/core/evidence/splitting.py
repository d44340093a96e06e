"""Sentence → assertions: the parts of it that have a predicate of their own."""

from hilvan_assembler.core.evidence.lexicon import Lexicon
from hilvan_assembler.core.evidence.words import Word

_REACH = 4
"""Words that may stand between a conjunction and the predicate it brings ("and she no longer")."""

_PERFECT = frozenset({"ha", "han", "he", "hemos", "fue", "fueron", "sido"})
"""Spanish auxiliaries before a participle of change."""

_SHORTEST_PAST = 4
_JOINTS = frozenset(":,")


def assertions(words: list[Word], lexicon: Lexicon) -> list[list[Word]]:
    """Split at a colon, a comma or "and" where another predicate follows; marks are left out."""
    if not any(word.raw in _JOINTS or word.fold in lexicon.conjunctions for word in words):
        return [words]
    parts: list[list[Word]] = [[]]
    predicated = told = False  # "Preferred pharmacy: X" tells nothing before its colon
    for at, word in enumerate(words):
        joins = word.raw == "," or word.fold in lexicon.conjunctions
        if (predicated and word.raw == ":") or (told and joins and _opens(words, at + 1, lexicon)):
            parts.append([])
            predicated = told = False
            if word.raw in _JOINTS:
                continue
        parts[-1].append(word)
        predicated = predicated or is_predicate(words, at, lexicon)
        told = told or predicated or is_past(word, lexicon)
    return [part for part in parts if part]


def is_past(word: Word, lexicon: Lexicon) -> bool:
    """Whether a word looks like a past form: "used", not "bed" or "red"."""
    return word.lower.endswith(lexicon.past_endings) and len(word.fold) >= _SHORTEST_PAST


def is_predicate(words: list[Word], at: int, lexicon: Lexicon) -> bool:
    """Whether a listed verb stands here, in a place where it is no noun."""
    word = words[at]
    return word.fold in lexicon.special and (
        word.fold in lexicon.copulas
        or word.fold in lexicon.past_words
        or word.fold in lexicon.auxiliaries
        or change_of(words, at, lexicon) != ""
        or verb_of(words, at, lexicon) is not None
    )


def change_of(words: list[Word], at: int, lexicon: Lexicon) -> str:
    """The kind of change that a verb tells, or "" ("the left lane" tells none)."""
    word, before = words[at], _before(words, at)
    if word.fold in lexicon.change_participles and before in _PERFECT:
        return lexicon.change_participles[word.fold]
    if before in lexicon.articles or before in lexicon.possessives:
        return ""
    return lexicon.changes.get(word.lower, "")


def verb_of(words: list[Word], at: int, lexicon: Lexicon) -> str | None:
    """The concept of a verb, or None for other words and for nouns that look like one."""
    word, before = words[at].fold, _before(words, at)
    if word in lexicon.verbs:
        noun = word in lexicon.nouns and (
            before in lexicon.articles
            or before in lexicon.possessives
            or (before in lexicon.prepositions and before != "to")
        )
        return None if noun else lexicon.verbs[word]
    if not before or before in lexicon.before_verbs or before.endswith("n't"):
        return lexicon.bases.get(word)
    return None


def _before(words: list[Word], at: int) -> str:
    """The word before, or "" at the start and behind a mark."""
    return "" if not at or words[at - 1].punctuation else words[at - 1].fold


def _opens(words: list[Word], at: int, lexicon: Lexicon) -> bool:
    """Whether a predicate follows behind nothing but light words, or a name as its subject."""
    named = False
    for here in range(at, min(at + _REACH, len(words))):
        word = words[here]
        if is_predicate(words, here, lexicon):
            return True
        if word.raw[0].isupper() and word.fold not in lexicon.ignored:
            named = True
        elif named or not _light(word, lexicon):
            return False
    return False


def _light(word: Word, lexicon: Lexicon) -> bool:
    return (
        word.fold in lexicon.fresh
        or word.fold in lexicon.negators
        or word.fold in lexicon.ignored
        or word.fold == "longer"
        or word.fold.endswith("n't")
    )
