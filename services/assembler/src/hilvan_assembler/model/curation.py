"""What people chose for a scope: pins, identity, mutes."""

from dataclasses import dataclass

from hilvan_assembler.model.kind import ElementKind, ElementVerdict, Reason


@dataclass(frozen=True, slots=True)
class PinnedNote:
    """A pinned note in its order. ``loaded`` is curation's own verdict on it."""

    id: str
    title: str
    text: str
    loaded: bool = True
    reason: Reason = Reason.RENDERED


@dataclass(frozen=True, slots=True)
class IdentityBlock:
    """A piece of who the assistant is."""

    id: str
    group: str
    kind: str
    text: str
    active: bool = True
    order: int = 0


@dataclass(frozen=True, slots=True)
class Curated:
    """What curation answered: pins and identity in order, and what is muted.

    ``vouched_for`` are the owners of whom it is known what is muted; None: everybody.
    """

    pins: tuple[PinnedNote, ...] = ()
    identity: tuple[IdentityBlock, ...] = ()
    muted: frozenset[tuple[str, str]] = frozenset()
    vouched_for: frozenset[str] | None = None

    @property
    def loaded_pins(self) -> tuple[PinnedNote, ...]:
        """The pins that curation loads, in their order."""
        return tuple(pin for pin in self.pins if pin.loaded)

    @property
    def active_identity(self) -> tuple[IdentityBlock, ...]:
        """The blocks that are in use, in their order."""
        return tuple(block for block in self.identity if block.active)


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a scope at its place, as curation resolved it.

    ``order`` counts from 1; ``owner`` is a key such as ``user:ana``; only loaded elements have
    a text.
    """

    note_id: str
    kind: ElementKind
    verdict: ElementVerdict = ElementVerdict.LOADED
    title: str = ""
    token_count: int = 0
    order: int = 0
    text: str = ""
    space_id: str = ""
    path: str = ""
    owner: str = ""

    @property
    def is_memory(self) -> bool:
        """Whether it is a category of memory, and no note that people chose."""
        return self.kind is ElementKind.MEMORY_CATEGORY


@dataclass(frozen=True, slots=True)
class CurationAnswer:
    """What curation answered of a scope."""

    curated: Curated
    elements: tuple[Element, ...] = ()
