"""Text → `Statement`: one pass over the words of each clause, driven by the lexicons."""

from dataclasses import replace
from itertools import pairwise

from hilvan_assembler.core.evidence.drafts import Draft, finish
from hilvan_assembler.core.evidence.lexicon import SPANISH, Lexicon, language_of
from hilvan_assembler.core.evidence.model import Clause, Mood, Statement, Tokens
from hilvan_assembler.core.evidence.parsing import take
from hilvan_assembler.core.evidence.splitting import assertions
from hilvan_assembler.core.evidence.values import is_day
from hilvan_assembler.core.evidence.words import Word, normalize, split_clauses, split_words

MAX_CHARACTERS = 300
"""A longer text is a passage: it is not retired as a whole for one of its sentences."""

MAX_CLAUSES = 3
"""The same for a text of more sentences than this."""


def read(text: str) -> Statement:
    """Analyse any text; what is too long, or holds too many sentences, claims nothing."""
    clean = normalize(text) if len(text) <= MAX_CHARACTERS else ""
    parts = split_clauses(clean)
    if not parts or len(parts) > MAX_CLAUSES:
        return Statement()
    sentences = [(part, words) for part in parts if (words := split_words(part))]
    folded = tuple(w.fold for _, words in sentences for w in words if not w.punctuation)
    lexicon = language_of(folded)
    clauses: list[Clause] = []
    for part, words in sentences:
        clauses += _sentence(part, words, lexicon, clauses[-1].subject if clauses else ())
    if len(parts) > 1:  # "Ana: Cool! I'll come." names a speaker, no label.
        clauses = [replace(each, labelled=False) if each.labelled else each for each in clauses]
    present = tuple(clause for clause in clauses if clause.mood is Mood.PRESENT)
    return Statement(present, folded)


def _sentence(text: str, words: list[Word], lexicon: Lexicon, subject: Tokens) -> list[Clause]:
    """The assertions of a sentence; one without a subject speaks of the one before it."""
    clauses: list[Clause] = []
    asked = text.rstrip().endswith("?") or words[0].raw == "¿"
    for number, part in enumerate(assertions(words, lexicon)):
        draft = _draft(part, words[0].start, lexicon)
        draft.labelled &= not text.endswith("!")
        if asked or (not number and part[0].lower in lexicon.question_starts):
            draft.mood = Mood.OPEN
        keeps = draft.pronoun != "they" if draft.pronoun else number > 0 or lexicon is SPANISH
        clauses += finish(text, draft, subject if keeps else ())
        subject = clauses[-1].subject
    return clauses


def _draft(words: list[Word], opening: int, lexicon: Lexicon) -> Draft:
    heading = next((word.start for word in words if word.raw == ":"), 0)
    draft = Draft(opening, heading)
    at = 0
    while at < len(words):
        at += take(draft, words, at, lexicon)
    if draft.mood is Mood.PRESENT and not draft.change and _dated_event(words, lexicon):
        draft.mood = Mood.PAST
    return draft


def _dated_event(words: list[Word], lexicon: Lexicon) -> bool:
    """Whether "-amos" means the past: "desplegamos el lunes", not "desplegamos los lunes"."""
    return any(word.fold.endswith(lexicon.ambiguous_endings) for word in words) and any(
        a.fold == "el" and is_day(b) for a, b in pairwise(words)
    )
