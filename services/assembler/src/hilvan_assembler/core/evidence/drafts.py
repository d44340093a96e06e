"""A clause while it is read, and the last steps that make it a `Clause`."""

from dataclasses import dataclass, field, replace
from itertools import zip_longest

from hilvan_assembler.core.evidence.classes import GROUP_OF
from hilvan_assembler.core.evidence.lexicon import SLOT_NOUNS
from hilvan_assembler.core.evidence.model import Change, Clause, Mood, Token, Tokens
from hilvan_assembler.core.evidence.words import Word

_PLAIN = frozenset({"", "be", "happen"})
"""Predicates that add nothing: "standup at 9:30", "the standup is at 9:30"."""

_STANCE = {"prefer": "like"}
"""Predicates that are denied by the same words."""


@dataclass(slots=True)
class Draft:
    """A clause while its words are being read."""

    tokens: list[Token] = field(default_factory=list)
    pivot: int | None = None
    predicate: str = ""
    slot: str = ""
    mood: Mood = Mood.PRESENT
    negated: bool = False
    flipped: bool = False
    ceased: bool = False
    fresh: bool = False
    plural: bool = False
    linked: bool = False
    passive: bool = False
    definite: bool = False
    change: str = ""

    def settle(self, predicate: str) -> None:
        """The predicate was found: what follows is the complement."""
        self.pivot = len(self.tokens)
        self.predicate = predicate
        self.slot = ""


def finish(text: str, words: list[Word], draft: Draft) -> Clause:
    """Split the tokens at the pivot and bring roles, units and changes to one form."""
    tokens = _with_units(draft.tokens)
    pivot = draft.pivot
    if pivot is None:
        pivot = next((at for at, token in enumerate(tokens) if token.value and at), 0)
    subject, complement = tuple(tokens[:pivot]), tuple(tokens[pivot:])
    subject, complement, predicate = _canonical(subject, complement, draft.predicate)
    subject_keys = frozenset(token.key for token in subject)
    complement_keys = frozenset(token.key for token in complement)
    stance = _STANCE.get(predicate, predicate)
    verb = frozenset(() if stance in _PLAIN else (stance,))
    return Clause(
        text=text,
        words=tuple(word.fold for word in words if not word.punctuation),
        subject=subject,
        predicate=predicate,
        complement=complement,
        mood=draft.mood,
        negative=draft.negated ^ draft.flipped,
        ceased=draft.ceased,
        fresh=draft.fresh,
        plural=draft.plural,
        passive=draft.passive,
        change=_change(draft.change, complement),
        subject_keys=subject_keys,
        subject_folds=frozenset(token.fold for token in subject),
        complement_keys=complement_keys,
        keys=subject_keys | complement_keys | verb,
    )


def _with_units(tokens: list[Token]) -> list[Token]:
    """A bare number right before a common noun counts it: "two cats"."""
    pairs = zip_longest(tokens, tokens[1:])
    return [
        replace(token, value=replace(token.value, unit=following.key))
        if token.value
        and following
        and token.value == replace(token.value, kind="number", unit="")
        and not (following.named or following.value)
        and following.slot == token.slot
        and following.key not in GROUP_OF
        else token
        for token, following in pairs
    ]


def _canonical(subject: Tokens, complement: Tokens, predicate: str) -> tuple[Tokens, Tokens, str]:
    """Roles first: "Irene is the lead" → "the lead is Irene"; "we use X as Y" → "Y is X"."""
    if predicate == "be" and _equative(subject, complement):
        return complement, (replace(subject[0], named=True),), predicate
    role = tuple(replace(t, slot="", definite=True) for t in complement if t.slot == "as")
    used = tuple(t for t in complement if t.slot == "")
    if predicate == "use" and not subject and role and used:
        return role, used, "be"
    return subject, complement, predicate


def _equative(subject: Tokens, complement: Tokens) -> bool:
    """Whether "Irene is the lead of Falcon" should be read as "the lead of Falcon is Irene"."""
    return (
        len(subject) == 1
        and bool(complement)
        and complement[0].definite
        and complement[0].slot == ""
        and complement[0].key in SLOT_NOUNS
        and subject[0].key not in SLOT_NOUNS
    )


def _change(kind: str, complement: Tokens) -> Change | None:
    """The two sides of a change verb, by their prepositions."""

    def in_slots(*slots: str) -> frozenset[str]:
        return frozenset(token.key for token in complement if token.slot in slots)

    if kind == "moved":
        return Change(before=in_slots("from", "of"), after=in_slots("to"))
    if kind == "replaced":
        return Change(before=in_slots(""), after=in_slots("with", "by"))
    if kind == "left":
        return Change(before=in_slots(""), left=True)
    return Change(ended=True) if kind == "ended" else None
