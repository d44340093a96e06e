"""The words of one assertion, each by what it does in it: they fill a `Draft`."""

from hilvan_assembler.core.evidence.classes import NAME_CLASS
from hilvan_assembler.core.evidence.drafts import Draft
from hilvan_assembler.core.evidence.lexicon import SPANISH, Lexicon, concept_of
from hilvan_assembler.core.evidence.model import SPEAKER, Mood, Token
from hilvan_assembler.core.evidence.splitting import change_of, is_past, verb_of
from hilvan_assembler.core.evidence.values import SPELLED, read_value
from hilvan_assembler.core.evidence.words import Word

_UNCONTRACTED = frozenset({"dont", "doesnt", "didnt", "isnt", "arent", "wont", "cant", "hasnt"})
_PERFECT = frozenset({"have", "has", "had", "did"})
"""What hasn't happened yet, or didn't, is no state that holds."""

_OBJECTS = frozenset({"project", "proyecto"})
"""Ignored in a subject ("the project uses"), but not as what somebody works on."""

_NO_CONTRAST = frozenset({"longer", "only", "solo", "more", "mas"})
"""Behind "no" or "not" these make no contrast: "not only", "no longer"."""


def take(draft: Draft, words: list[Word], at: int, lexicon: Lexicon) -> int:
    """Read on at a word; the number of words taken, at least 1."""
    folded = words[at].fold
    taken = 0
    if folded in lexicon.phrases:
        taken = _phrase(draft, words, at, lexicon)
    if not taken and (folded in SPELLED or not folded.isalpha()):
        taken = _value(draft, words, at, lexicon)
    if not taken and (folded in lexicon.special or not folded.isalpha()):
        taken = _function_word(draft, words, at, lexicon) or _verb(draft, words, at, lexicon)
    return taken or _content(draft, words[at], lexicon)


def _phrase(draft: Draft, words: list[Word], at: int, lexicon: Lexicon) -> int:
    """Several words with one meaning: a concept, "-" its denial, "=" a verb, "!" a mark."""
    for phrase, meaning in lexicon.phrases.get(words[at].fold, ()):
        size = len(phrase)
        if tuple(word.fold for word in words[at : at + size]) == phrase:
            draft.speaker |= any(word in lexicon.first_forms for word in phrase)
            ends = meaning == "!ceased" and at > 0 and words[at - 1].raw == ","
            if ends and draft.tokens:  # "with Renovate, no longer by hand"
                _mark(draft, "instead")
            else:
                _mean(draft, meaning, words[at], words[at + size - 1])
            return size
    return 0


def _mean(draft: Draft, meaning: str, first: Word, last: Word) -> None:
    if meaning.startswith("!"):
        _mark(draft, meaning[1:])
        return
    draft.flipped ^= meaning.startswith("-")
    key = meaning.lstrip("-")
    if key.startswith("="):
        draft.linked |= key == "=be"
        draft.settle(key[1:])
    elif key:
        _add(draft, key, first, last, named=key in NAME_CLASS)


def _mark(draft: Draft, mark: str) -> None:
    """What a phrase says of the assertion as a whole."""
    if mark == "ceased":
        draft.negated = draft.ceased = True
    elif mark == "fresh":
        draft.fresh = True
    elif mark == "open":
        draft.mood = Mood.OPEN
    elif mark == "past":
        _past(draft)
    elif mark in {"instead", "contrast"}:
        draft.contrasting, draft.slot = True, ""
        draft.instead = mark == "instead"
    elif mark in {"reason", "cause"}:  # "por un" is a cause of what ended, else a means
        draft.slot = "reason" if mark == "reason" or draft.ceased else "by"
    elif mark == "rather":
        _rather(draft)
    elif draft.predicate in {"", "be"}:
        _changed(draft, mark)


def _past(draft: Draft) -> None:
    """An event of the past, unless it is a change: what that brought still holds."""
    if draft.mood is Mood.PRESENT and not draft.change:
        draft.mood = Mood.PAST


def _rather(draft: Draft) -> None:
    """Spanish "no X sino Y": what was denied so far makes room for what follows."""
    start = max(len(draft.tokens) - 1, 0) if draft.pivot is None else draft.pivot
    if draft.negated:
        draft.denied, draft.tokens = draft.tokens[start:], draft.tokens[:start]
        draft.instead, draft.negated, draft.ceased = draft.ceased, False, False
    draft.slot = ""


def _changed(draft: Draft, kind: str) -> None:
    draft.change = kind
    draft.mood = Mood.PRESENT if draft.mood is Mood.PAST else draft.mood
    draft.settle("end" if kind == "ended" else "move")


def _value(draft: Draft, words: list[Word], at: int, lexicon: Lexicon) -> int:
    found = read_value(words, at, spanish=lexicon is SPANISH)
    if found is None:
        return 0
    value, size = found
    if draft.slot == "since":
        return size
    key = f"#{value.kind}:{value.unit}:{value.parts}"
    start, end = words[at].start, words[at + size - 1].end
    draft.add(Token(key, key, start, end, draft.slot, aside=draft.aside, value=value))
    return size


def _function_word(draft: Draft, words: list[Word], at: int, lexicon: Lexicon) -> int:
    """Negators, markers, prepositions and articles: they shape the clause and carry no content."""
    word = words[at].fold
    if word in lexicon.negators and at + 1 < len(words) and words[at + 1].raw == ",":
        return 1  # "No, I …" answers somebody
    if word in lexicon.negators and _contrasts(draft, words, at):
        draft.contrasting, draft.slot = True, ""
    elif draft.linked and word in {"on", "off"} and at == len(words) - 1:
        draft.flipped ^= word == "off"
        _add(draft, "enabled", words[at], words[at])
    elif word in lexicon.prepositions and not (word == "como" and _eats(words, at)):
        draft.slot = draft.slot if draft.slot == "when" else lexicon.prepositions[word]
    elif word in lexicon.copulas and not (word == "esta" and at == 0):
        _copula(draft, word, lexicon)
    elif words[at].raw == ":" and draft.pivot is None:
        draft.labelled = True
        draft.settle("be")
    elif words[at].raw == ",":
        draft.aside |= draft.pivot is not None and _detail(words, at + 1, lexicon)
    elif word in lexicon.titles and at + 1 < len(words) and words[at + 1].raw[0].isupper():
        return 1
    else:
        return int(_marker(draft, words[at], lexicon) or _ignored(draft, words[at], lexicon))
    return 1


def _contrasts(draft: Draft, words: list[Word], at: int) -> bool:
    """Whether a negator opens a contrast (", not on paper"): what came before is not denied."""
    following = words[at + 1].fold if at + 1 < len(words) else ""
    told = bool(draft.tokens) and not draft.contrasting and words[at - 1].raw == ","
    return told and following not in _NO_CONTRAST


def _detail(words: list[Word], at: int, lexicon: Lexicon) -> bool:
    """Whether a comma opens a detail: a preposition or a number of things follows."""
    return at < len(words) and (
        words[at].fold in lexicon.prepositions or words[at].fold in lexicon.numbers
    )


def _eats(words: list[Word], at: int) -> bool:
    """Whether Spanish "como" is a verb: at the start, or behind "no"."""
    return at == 0 or words[at - 1].fold in {"no", "nunca", "siempre", "tambien"}


def _marker(draft: Draft, word: Word, lexicon: Lexicon) -> bool:
    """Negators, "now", "if": they say how the clause is meant."""
    if word.fold in lexicon.negators or word.fold.endswith("n't") or word.fold in _UNCONTRACTED:
        draft.negated = True
        if word.fold.removesuffix("n't") in _PERFECT:
            _past(draft)
        if word.fold[:-3] in lexicon.copulas or word.fold[:-2] in lexicon.copulas:
            _copula(draft, word.fold, lexicon)
    elif word.fold in lexicon.fresh:
        draft.fresh = True
        draft.slot = "since" if word.fold in {"since", "desde"} else draft.slot
    elif word.fold in lexicon.conditions and draft.pivot is not None:
        draft.slot = "when"
    elif word.lower in lexicon.open_words or word.fold in lexicon.conditions:
        draft.mood = Mood.OPEN
    else:
        return False
    return True


def _ignored(draft: Draft, word: Word, lexicon: Lexicon) -> bool:
    """Articles, pronouns, auxiliaries and marks; "project" only where it names the subject."""
    if draft.pivot is None:
        if word.fold in lexicon.pronouns and not draft.tokens:
            draft.pronoun = word.fold
        if word.fold in lexicon.first_person and not draft.tokens:
            draft.add(SPEAKER)
    draft.definite |= word.fold in lexicon.articles or word.fold in lexicon.possessives
    kept = lexicon.verbs if draft.pivot is None else _OBJECTS
    return word.punctuation or (word.fold in lexicon.ignored and word.fold not in kept)


def _copula(draft: Draft, word: str, lexicon: Lexicon) -> None:
    draft.plural |= word in lexicon.plural_copulas
    if draft.pivot is None:
        draft.linked = True
        draft.speaker |= word in lexicon.first_forms
        draft.settle("be")


def _verb(draft: Draft, words: list[Word], at: int, lexicon: Lexicon) -> int:
    """The first finite verb is the predicate; changes and events of the past are told apart."""
    word = words[at]
    if word.start < draft.heading:
        return 0
    if change := change_of(words, at, lexicon):
        if not _may_change(draft, change):
            return 0
        draft.speaker |= word.lower.endswith(("é", "í"))
        _changed(draft, change)
        return 1
    passive = _passive(draft, word, lexicon)
    if word.fold in lexicon.past_words and not passive:
        draft.mood = Mood.PAST if draft.mood is Mood.PRESENT else draft.mood
        if draft.pivot is None:
            draft.settle("be" if word.fold in {"was", "were", "fue", "era"} else word.fold)
        return 1
    verb = lexicon.verbs.get(word.fold) if passive else verb_of(words, at, lexicon)
    if verb is not None and (draft.pivot is None or passive):
        draft.passive = draft.linked
        draft.flipped ^= word.fold in lexicon.flipped
        draft.speaker |= word.fold in lexicon.first_forms
        draft.settle(verb)
        return 1
    return 0


def _may_change(draft: Draft, change: str) -> bool:
    """A change is the predicate: no verb but an auxiliary came before it."""
    if change in {"left", "given"}:
        return draft.predicate == ""
    perfect = draft.predicate == "have" and draft.pivot == len(draft.tokens)
    return draft.predicate in {"", "be"} or perfect


def _passive(draft: Draft, word: Word, lexicon: Lexicon) -> bool:
    """Whether a word is the participle (or "-ing" form) right behind a copula."""
    return (
        draft.linked
        and draft.predicate == "be"
        and draft.pivot == len(draft.tokens)
        and (word.fold.endswith(lexicon.participle_endings) or word.fold in lexicon.participles)
    )


def _content(draft: Draft, word: Word, lexicon: Lexicon) -> int:
    concept, listed = concept_of(lexicon, word.fold)
    if not listed:
        if _passive(draft, word, lexicon):
            draft.passive = not word.fold.endswith("ing")
            draft.settle(concept)
            return 1
        if draft.pivot is None and word.start >= draft.heading and is_past(word, lexicon):
            draft.mood = Mood.PAST if draft.mood is Mood.PRESENT else draft.mood
            draft.settle(concept)
            return 1
    draft.flipped ^= word.fold in lexicon.flipped
    _add(draft, concept, word, word, named=_named(word, draft, concept))
    draft.definite = word.lower != word.raw and word.raw.endswith(("'s", "’s"))
    return 1


def _named(word: Word, draft: Draft, key: str) -> bool:
    """A proper name or identifier: a capital inside the sentence, a digit, a joined word."""
    return (
        (word.start > draft.opening and word.raw[0].isupper())
        or key in NAME_CLASS
        or not word.fold.isalpha()
    )


def _add(draft: Draft, key: str, first: Word, last: Word, *, named: bool = False) -> None:
    folded = first.fold if first is last else key
    slot, definite, aside = draft.slot, draft.definite, draft.aside
    draft.add(Token(key, folded, first.start, last.end, slot, named, definite, aside))
    draft.definite = False
