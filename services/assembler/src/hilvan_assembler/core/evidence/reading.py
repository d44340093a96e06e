"""Text → `Statement`: one pass over the words of each clause, driven by the lexicons."""

from itertools import pairwise

import Stemmer

from hilvan_assembler.core.evidence.classes import CANONICAL, NAME_CLASS
from hilvan_assembler.core.evidence.drafts import Draft, finish
from hilvan_assembler.core.evidence.lexicon import SPANISH, Lexicon, language_of
from hilvan_assembler.core.evidence.model import Clause, Mood, Statement, Token
from hilvan_assembler.core.evidence.values import is_day, read_value
from hilvan_assembler.core.evidence.words import Word, normalize, split_clauses, split_words

MAX_CHARACTERS = 300
"""A longer text is a passage: it is not retired as a whole for one of its sentences."""

MAX_CLAUSES = 3
"""The same for a text with more assertions than this."""

_UNCONTRACTED = frozenset({"dont", "doesnt", "didnt", "isnt", "arent", "wont", "cant", "hasnt"})
_OBJECTS = frozenset({"project", "proyecto"})
"""Ignored in a subject ("the project uses"), but not as what somebody works on."""


def read(text: str) -> Statement:
    """Analyse any text; what is too long, or holds too many assertions, claims nothing."""
    clean = normalize(text) if len(text) <= MAX_CHARACTERS else ""
    parts = split_clauses(clean)
    if not parts or len(parts) > MAX_CLAUSES:
        return Statement(())
    words = [split_words(part) for part in parts]
    lexicon = language_of(tuple(word.fold for clause in words for word in clause))
    stemmer = Stemmer.Stemmer(lexicon.stemmer)
    return Statement(
        tuple(
            _clause(part, clause, lexicon, stemmer)
            for part, clause in zip(parts, words, strict=True)
            if clause
        )
    )


def _clause(text: str, words: list[Word], lexicon: Lexicon, stemmer: Stemmer.Stemmer) -> Clause:
    draft = Draft()
    at = 0
    while at < len(words):
        at += (
            _phrase(draft, words, at, lexicon)
            or _value(draft, words, at, lexicon)
            or _function_word(draft, words, at, lexicon)
            or _verb(draft, words, at, lexicon)
            or _content(draft, words[at], at, lexicon, stemmer)
        )
    first = next((word.fold for word in words if not word.punctuation), "")
    if text.rstrip().endswith("?") or first in lexicon.question_starts or words[0].raw == "¿":
        draft.mood = Mood.OPEN
    elif draft.mood is Mood.PRESENT and not draft.change and _dated_event(words, lexicon):
        draft.mood = Mood.PAST
    return finish(text, words, draft)


def _phrase(draft: Draft, words: list[Word], at: int, lexicon: Lexicon) -> int:
    """Several words with one meaning: a concept, "-" its denial, "=" a verb, "!" a mark."""
    size, meaning = next(
        (
            (len(phrase), meaning)
            for phrase, meaning in lexicon.phrases.get(words[at].fold, ())
            if tuple(word.fold for word in words[at : at + len(phrase)]) == phrase
        ),
        (0, ""),
    )
    if meaning == "!ceased":
        draft.negated = draft.ceased = True
    elif meaning == "!ended":
        draft.change, draft.mood = "ended", Mood.PRESENT
        draft.settle("end")
    elif meaning in {"!open", "!past"}:
        draft.mood = Mood.OPEN if meaning == "!open" else draft.mood
        draft.mood = Mood.PAST if meaning == "!past" and draft.mood is Mood.PRESENT else draft.mood
    elif meaning == "!fresh":
        draft.fresh = True
    elif meaning.startswith("="):
        draft.settle(meaning[1:])
    elif meaning:
        draft.flipped ^= meaning.startswith("-")
        key = meaning.lstrip("-")
        _add(draft, key, words[at], words[at + size - 1], named=key in NAME_CLASS)
    return size


def _value(draft: Draft, words: list[Word], at: int, lexicon: Lexicon) -> int:
    found = read_value(words, at, spanish=lexicon is SPANISH)
    if found is None:
        return 0
    value, size = found
    if draft.slot == "since":
        return size
    key = f"#{value.kind}:{value.unit}:{value.parts}"
    start, end = words[at].start, words[at + size - 1].end
    draft.tokens.append(Token(key, key, start, end, draft.slot, value=value))
    return size


def _function_word(draft: Draft, words: list[Word], at: int, lexicon: Lexicon) -> int:
    """Negators, markers, prepositions and articles: they shape the clause and carry no content."""
    word = words[at].fold
    if draft.linked and word in {"on", "off"} and at == len(words) - 1:
        draft.flipped ^= word == "off"
        _add(draft, "enabled", words[at], words[at])
    elif word in lexicon.prepositions:
        draft.slot = lexicon.prepositions[word]
    elif word in lexicon.copulas and not (word == "esta" and at == 0):
        _copula(draft, word, lexicon)
    elif words[at].raw == ":" and draft.pivot is None:
        draft.settle("be")
    else:
        return int(_marker(draft, words[at], lexicon) or _ignored(draft, words[at], lexicon))
    return 1


def _marker(draft: Draft, word: Word, lexicon: Lexicon) -> bool:
    """Negators, "now", "if": they say how the clause is meant."""
    if word.fold in lexicon.negators or word.fold.endswith("n't") or word.fold in _UNCONTRACTED:
        draft.negated = True
        if word.fold[:-3] in lexicon.copulas or word.fold[:-2] in lexicon.copulas:
            _copula(draft, word.fold, lexicon)
    elif word.fold in lexicon.fresh:
        draft.fresh = True
        draft.slot = "since" if word.fold in {"since", "desde"} else draft.slot
    elif word.lower in lexicon.open_words:
        draft.mood = Mood.OPEN
    else:
        return False
    return True


def _ignored(draft: Draft, word: Word, lexicon: Lexicon) -> bool:
    """Articles, pronouns, auxiliaries and marks; "project" only where it names the subject."""
    draft.definite |= word.fold in lexicon.articles
    kept = lexicon.verbs if draft.pivot is None else _OBJECTS
    return word.punctuation or (word.fold in lexicon.ignored and word.fold not in kept)


def _copula(draft: Draft, word: str, lexicon: Lexicon) -> None:
    draft.plural |= word in lexicon.plural_copulas
    if draft.pivot is None:
        draft.linked = True
        draft.settle("be")


def _verb(draft: Draft, words: list[Word], at: int, lexicon: Lexicon) -> int:
    """The first finite verb is the predicate; changes and events of the past are told apart."""
    word = words[at]
    if change := _change_verb(word, lexicon):
        if draft.predicate in {"", "be"}:
            draft.change = change
            draft.mood = Mood.PRESENT if draft.mood is Mood.PAST else draft.mood
            draft.settle("move")
            return 1
        return 0
    if word.fold in lexicon.past_words and not _passive(draft, word, lexicon):
        draft.mood = Mood.PAST if draft.mood is Mood.PRESENT else draft.mood
        if draft.pivot is None:
            draft.settle("be" if word.fold in {"was", "were", "fue", "era"} else word.fold)
        return 1
    if word.fold in lexicon.verbs and (draft.pivot is None or _passive(draft, word, lexicon)):
        draft.passive = draft.linked
        draft.flipped ^= word.fold in lexicon.flipped
        draft.settle(lexicon.verbs[word.fold])
        return 1
    return 0


def _change_verb(word: Word, lexicon: Lexicon) -> str:
    if word.lower in lexicon.moved:
        return "moved"
    if word.lower in lexicon.replaced:
        return "replaced"
    return "left" if word.lower in lexicon.left else ""


def _passive(draft: Draft, word: Word, lexicon: Lexicon) -> bool:
    """Whether a word is the participle (or "-ing" form) right behind a copula."""
    return (
        draft.linked
        and draft.predicate == "be"
        and draft.pivot == len(draft.tokens)
        and (word.fold.endswith(lexicon.participle_endings) or word.fold in lexicon.participles)
    )


def _content(draft: Draft, word: Word, at: int, lexicon: Lexicon, stemmer: Stemmer.Stemmer) -> int:
    concept = lexicon.words.get(word.fold) or CANONICAL.get(word.fold)
    concept = concept or lexicon.verbs.get(word.fold)
    if concept is None:
        stem = str(stemmer.stemWord(word.fold))
        concept = lexicon.stems.get(stem, stem)
        if _passive(draft, word, lexicon):
            draft.passive = not word.fold.endswith("ing")
            draft.settle(concept)
            return 1
        if draft.pivot is None and word.lower.endswith(lexicon.past_endings) and len(word.fold) > 3:  # noqa: PLR2004 - "bed", "red"
            draft.mood = Mood.PAST if draft.mood is Mood.PRESENT else draft.mood
            draft.settle(concept)
            return 1
    draft.flipped ^= word.fold in lexicon.flipped
    _add(draft, concept, word, word, named=_named(word, at, concept))
    return 1


def _named(word: Word, at: int, key: str) -> bool:
    """A proper name or identifier: a capital inside the clause, a digit, a joined word."""
    return (
        (at > 0 and word.raw[0].isupper())
        or key in NAME_CLASS
        or any(not letter.isalpha() for letter in word.raw.removesuffix("'s").strip("'’"))
    )


def _add(draft: Draft, key: str, first: Word, last: Word, *, named: bool = False) -> None:
    folded = first.fold if first is last else key
    draft.tokens.append(
        Token(key, folded, first.start, last.end, draft.slot, named, draft.definite)
    )
    draft.definite = False


def _dated_event(words: list[Word], lexicon: Lexicon) -> bool:
    """Whether "-amos" means the past: "desplegamos el lunes", not "usamos" or "los lunes"."""
    return any(
        word.fold.endswith(lexicon.ambiguous_endings)
        and word.fold not in lexicon.verbs
        and any(a.fold == "el" and is_day(b) for a, b in pairwise(words))
        for word in words
    )
