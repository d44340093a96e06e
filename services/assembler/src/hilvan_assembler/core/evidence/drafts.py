"""A clause while it is read, and the last steps that make it a `Clause`."""

from dataclasses import dataclass, field, replace
from itertools import zip_longest

from hilvan_assembler.core.evidence.classes import GROUP_OF
from hilvan_assembler.core.evidence.lexicon import SLOT_NOUNS
from hilvan_assembler.core.evidence.model import SPEAKER, Change, Clause, Mood, Token, Tokens

_PLAIN = frozenset({"", "be", "happen"})
"""Predicates that add nothing: "standup at 9:30", "the standup is at 9:30"."""

_COMPARED = frozenset({"to", "above"})

_STANCES = {"prefer": ("like", "want")}
"""Who no longer likes, or no longer wants, doesn't prefer; wanting and liking are two things."""


@dataclass(slots=True)
class Draft:
    """A clause while its words are being read."""

    opening: int
    """Where the sentence starts: a capital there makes no name."""
    heading: int = 0
    """Where the colon of a label stands: no word before it is a verb."""
    tokens: list[Token] = field(default_factory=list)
    denied: list[Token] = field(default_factory=list)
    """What a contrast leaves out: "by email, not on paper"."""
    contrasting: bool = False
    instead: bool = False
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
    aside: bool = False
    change: str = ""
    speaker: bool = False
    pronoun: str = ""
    labelled: bool = False

    def settle(self, predicate: str) -> None:
        """The predicate was found: what follows is the complement."""
        self.pivot = len(self.tokens)
        self.predicate = predicate
        self.slot = ""

    def add(self, token: Token) -> None:
        """Keep a token on the side that is being told; a reason changes nothing that is told."""
        if token.slot == "reason":
            return
        (self.denied if self.contrasting else self.tokens).append(token)


def finish(text: str, draft: Draft, inherited: Tokens) -> list[Clause]:
    """The clause of a draft, and the denial that a contrast in it makes.

    Splits the tokens at the pivot and brings roles, units and changes to one form. ``inherited``
    is the subject where the draft has none of its own.
    """
    tokens = _with_units(draft.tokens)
    pivot = draft.pivot
    if pivot is None:
        pivot = next((at for at, token in enumerate(tokens) if token.value and at), 0)
    own = (SPEAKER,) if draft.speaker else inherited
    subject, complement = tuple(tokens[:pivot]) or own, tuple(tokens[pivot:])
    subject, complement, predicate = _canonical(subject, complement, draft.predicate)
    complement, contrast = _contrast(draft, complement, predicate)
    clause = _clause(text, draft, subject, predicate, complement)
    if not contrast:
        return [clause]
    return [clause, _denial(clause, contrast, ceased=draft.instead)]


def _contrast(draft: Draft, complement: Tokens, predicate: str) -> tuple[Tokens, Tokens]:
    """What holds and what is denied: "prefers tea to coffee" denies the coffee."""
    if draft.denied or predicate != "prefer":
        return complement, tuple(draft.denied)
    first = complement[0] if complement else None
    if first is None or first.slot or first.fold.endswith(("ar", "er", "ir")):
        return complement, ()
    less = tuple(t for t in complement if t.slot in _COMPARED)
    return tuple(t for t in complement if t not in less), less


def _denial(clause: Clause, contrast: Tokens, *, ceased: bool) -> Clause:
    """The denied half: the same clause about what the contrast leaves out."""
    unread = not clause.subject and not clause.predicate
    complement = (*clause.complement[:1], *contrast) if unread else contrast
    keys = frozenset(token.key for token in complement)
    return replace(
        clause,
        complement=complement,
        negative=not clause.negative,
        ceased=ceased,
        fresh=False,
        change=None,
        complement_keys=keys,
        keys=clause.keys - clause.complement_keys | clause.subject_keys | keys,
    )


def _clause(text: str, draft: Draft, subject: Tokens, predicate: str, complement: Tokens) -> Clause:
    subject_keys = frozenset([token.key for token in subject])
    complement_keys = frozenset([token.key for token in complement])
    verb = frozenset(() if predicate in _PLAIN else _STANCES.get(predicate, (predicate,)))
    return Clause(
        text=text,
        subject=subject,
        predicate=predicate,
        complement=complement,
        mood=draft.mood,
        negative=draft.negated ^ draft.flipped,
        ceased=draft.ceased,
        fresh=draft.fresh,
        plural=draft.plural,
        passive=draft.passive,
        labelled=draft.labelled,
        change=_change(draft.change, subject, complement) if draft.change else None,
        subject_keys=subject_keys,
        subject_folds=frozenset([token.fold for token in subject]),
        complement_keys=complement_keys,
        keys=subject_keys | complement_keys | verb,
    )


def _with_units(tokens: list[Token]) -> list[Token]:
    """A bare number right before a common noun counts it: "two cats"."""
    if not any(token.value for token in tokens):
        return tokens
    pairs = zip_longest(tokens, tokens[1:])
    return [
        token._replace(value=replace(token.value, unit=following.key))
        if token.value
        and following
        and (token.value.kind, token.value.unit) == ("number", "")
        and not (following.named or following.value)
        and following.slot == token.slot
        and following.key not in GROUP_OF
        else token
        for token, following in pairs
    ]


def _canonical(subject: Tokens, complement: Tokens, predicate: str) -> tuple[Tokens, Tokens, str]:
    """Roles first: "Irene is the lead" → "the lead is Irene"; "we use X as Y" → "Y is X"."""
    if predicate == "be" and _equative(subject, complement):
        return complement, (subject[0]._replace(named=True),), predicate
    if predicate != "use" or subject:
        return subject, complement, predicate
    role = tuple(t._replace(slot="", definite=True) for t in complement if t.slot == "as")
    used = tuple(t for t in complement if t.slot == "")
    return (role, used, "be") if role and used else (subject, complement, predicate)


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


def _change(kind: str, subject: Tokens, complement: Tokens) -> Change:
    """The two sides of a change verb, by their prepositions."""

    def in_slots(*slots: str) -> frozenset[str]:
        return frozenset(token.key for token in complement if token.slot in slots)

    if kind == "replaced" or (
        kind in {"moved", "changed"} and in_slots("by") and not in_slots("to")
    ):
        before = in_slots("") or frozenset(t.key for t in subject)  # "X was replaced by Y"
        return Change(before=before, after=in_slots("with", "by") or in_slots("for"))
    if kind in {"moved", "changed"}:
        after = in_slots("to") or in_slots("in", "en")
        start = next((t.start for t in complement if t.key in after), 0)
        of = frozenset(t.key for t in complement if t.slot == "of" and t.start < start)
        return Change(in_slots("from") | of, after, exchanged=kind == "changed")
    if kind in {"left", "given"}:
        before = in_slots("") - {"job"} or in_slots("at", "in", "en", "of")
        return Change(before=before, left=kind == "left", given=kind == "given")
    return Change(ended=True)
